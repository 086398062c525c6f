// The sliders, fields and lists: from the state to what they show, and from what is typed to a new state.

import { ACTIVATIONS } from "./cell.mjs";
import { numberOf, refused } from "./decimals.mjs";
import { parametersOf, readEquations } from "./equations.mjs";
import { METHODS } from "./methods.mjs";
import { PRESETS } from "./presets.mjs";
import { capital, lineOf } from "./sentences.mjs";
import { NUMBERS, numberAt, withNumber } from "./state.mjs";

const TYPED = "y, -x + mu*y*(1 - x^2)"; // what the fields of equations begin with
const byId = (id) => document.getElementById(id);

function made(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** Build the controls once. `page` has `state`, `change(state)` and `say(problem)`; what is returned shows a new state. */
export function buildControls(page) {
  const rows = NUMBERS.map((row) => numberRow(row, page));
  byId("numbers").append(...rows.map((row) => row.element));
  for (const name of Object.keys(ACTIVATIONS)) byId("activation").append(made("option", { value: name }, name));
  for (const [name, { title }] of Object.entries(METHODS)) byId("integrator").append(made("option", { value: name }, title));
  for (const name of ["activation", "integrator"]) byId(name).addEventListener("change", (event) => page.change({ ...page.state, [name]: event.target.value }));
  for (const name of ["past", "gated"]) byId(name).addEventListener("change", (event) => page.change({ ...page.state, [name]: event.target.checked }));
  const showEquations = buildEquations(page);
  byId("clear").addEventListener("click", () => page.change({ ...page.state, starts: [] }));
  const presets = byId("preset");
  presets.append(made("option", { value: "" }, "changed by hand"));
  for (const { name, title } of PRESETS) presets.append(made("option", { value: name }, title));
  presets.addEventListener("change", () => {
    const chosen = PRESETS.find((each) => each.name === presets.value);
    if (chosen) page.open({ ...chosen.state, textbook: page.state.textbook });
  });
  return (state) => {
    for (const row of rows) row.show(state);
    showEquations(state);
    for (const name of ["activation", "integrator"]) byId(name).value = state[name];
    for (const place of document.querySelectorAll(".map-formula")) place.textContent = METHODS[state.integrator].formula;
    byId("map-name").textContent = capital(METHODS[state.integrator].map);
    for (const name of ["past", "gated"]) byId(name).checked = state[name];
    presets.value = PRESETS.find((each) => isPreset(each.state, state))?.name ?? "";
  };
}

/** Whether a state is that of a preset, whose textbook system stands apart. */
const isPreset = (preset, state) => Object.keys(preset).every((name) => name === "textbook" || JSON.stringify(preset[name]) === JSON.stringify(state[name]));

/** Build the fields of x′ and y′ and the choice between them and a matrix; what is returned shows a new state. */
function buildEquations(page) {
  const fields = [byId("equation-x"), byId("equation-y")];
  const open = (flow) => page.change({ ...page.state, flow, set: parametersOf(flow, page.state.set) });
  const take = () => {
    try {
      open(readEquations(fields.map((field) => field.value).join(", ")).texts.join(", "));
    } catch (error) {
      page.say(`The equations are not taken: ${error.message}.`);
      for (const field of fields) field.setAttribute("aria-invalid", "true");
    }
  };
  for (const field of fields) field.addEventListener("change", take);
  byId("system").addEventListener("change", (event) => {
    if (event.target.value === "typed") open(TYPED);
    else page.change({ ...page.state, flow: "", set: {} });
  });
  let sliders = [];
  let told = "";
  return ({ flow, set }, state = page.state) => {
    document.documentElement.toggleAttribute("data-typed", Boolean(flow));
    byId("system").value = flow ? "typed" : "matrix";
    if (!flow) return;
    readEquations(flow).texts.forEach((text, i) => {
      fields[i].value = text;
      fields[i].setAttribute("aria-invalid", "false");
    });
    if (told !== Object.keys(set).join()) {
      told = Object.keys(set).join();
      sliders = Object.keys(set).map((name) => numberRow({ name: "set", index: name, label: name, low: -5, high: 5, step: 0.01 }, page));
      byId("equation-numbers").replaceChildren(...sliders.map((row) => row.element));
    }
    for (const row of sliders) row.show(state);
  };
}

/**
 * A field for a number. It is one of text: a browser leaves out, unseen, what it takes for no part of a number, and makes
 * 15 of 1,5. Arrows up and down step it; `take` is given its text.
 */
export function numberField(label, step, take) {
  const field = made("input", { type: "text", inputmode: "decimal", autocomplete: "off", class: "field", "aria-label": label });
  field.addEventListener("change", () => take(field.value));
  field.addEventListener("keydown", (event) => {
    const by = { ArrowUp: step, ArrowDown: -step }[event.key];
    if (!by || !Number.isFinite(Number(field.value))) return;
    event.preventDefault();
    field.value = String(Number((Number(field.value) + by).toPrecision(12)));
    take(field.value);
  });
  return field;
}

function numberRow(row, page) {
  const limits = { min: row.low, max: row.high, step: row.step };
  const slider = made("input", { type: "range", ...limits, "aria-label": `${row.label}, slider` });
  const take = (text) => {
    const problem = refused(row, text);
    if (problem) page.say(`The number is not taken: ${problem}.`);
    else page.change(withNumber(page.state, row, numberOf(text)));
    field.setAttribute("aria-invalid", String(Boolean(problem)));
  };
  const field = numberField(row.label, row.step, take);
  slider.addEventListener("input", () => take(slider.value));
  const element = made("div", { class: row.ofMatrix ? "number of-matrix" : "number" }, made("span", {}, row.label), slider, field);
  const show = (state) => {
    const value = numberAt(state, row);
    field.setAttribute("aria-invalid", "false");
    if (document.activeElement !== slider) slider.value = value;
    field.value = Math.abs(value - Number(value.toPrecision(12))) < 1e-15 ? String(Number(value.toPrecision(12))) : String(value);
  };
  return { element, show };
}

/** The list of equilibria; the chosen one is marked. */
export function listPoints(points, chosen, choose) {
  const list = byId("points");
  while (list.children.length > points.length) list.lastChild.remove();
  // buttons that are there stay, and with them the keyboard's focus
  for (let i = list.children.length; i < points.length; i++) {
    const button = made("button", { type: "button" });
    button.addEventListener("click", () => choose(i));
    list.append(made("li", {}, button));
  }
  [...list.querySelectorAll("button")].forEach((button, i) => {
    const text = lineOf(points[i]);
    if (button.textContent !== text) button.textContent = text;
    button.setAttribute("aria-pressed", String(i === chosen));
  });
}
