// The sliders, fields and lists: from the state to what they show, and from what is typed to a new state.

import { ACTIVATIONS } from "./cell.mjs";
import { METHODS } from "./methods.mjs";
import { PRESETS } from "./presets.mjs";
import { capital, lineOf } from "./sentences.mjs";
import { NUMBERS, numberAt, refused, withNumber } from "./state.mjs";

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
  byId("clear").addEventListener("click", () => page.change({ ...page.state, starts: [] }));
  const presets = byId("preset");
  presets.append(made("option", { value: "" }, "changed by hand"));
  for (const { name, title } of PRESETS) presets.append(made("option", { value: name }, title));
  presets.addEventListener("change", () => {
    const chosen = PRESETS.find((each) => each.name === presets.value);
    if (chosen) page.change(chosen.state);
  });
  return (state) => {
    for (const row of rows) row.show(state);
    for (const name of ["activation", "integrator"]) byId(name).value = state[name];
    byId("formula").textContent = METHODS[state.integrator].formula;
    byId("map-name").textContent = capital(METHODS[state.integrator].map);
    for (const name of ["past", "gated"]) byId(name).checked = state[name];
    presets.value = PRESETS.find((each) => JSON.stringify(each.state, Object.keys(each.state).sort()) === JSON.stringify(state, Object.keys(each.state).sort()))?.name ?? "";
  };
}

function numberRow(row, page) {
  const limits = { min: row.low, max: row.high, step: row.step };
  const slider = made("input", { type: "range", ...limits, "aria-label": `${row.label}, slider` });
  const field = made("input", { type: "number", step: "any", "aria-label": row.label });
  const take = (text) => {
    const problem = refused(row, text);
    page.say(problem ? `The number is not taken: ${problem}.` : "");
    field.setAttribute("aria-invalid", String(Boolean(problem)));
    if (!problem) page.change(withNumber(page.state, row, Number(text)));
  };
  slider.addEventListener("input", () => take(slider.value));
  field.addEventListener("change", () => take(field.value));
  const element = made("div", { class: "number" }, made("span", {}, row.label), slider, field);
  const show = (state) => {
    const value = numberAt(state, row);
    if (document.activeElement !== slider) slider.value = value;
    field.value = Math.abs(value - Number(value.toPrecision(12))) < 1e-15 ? String(Number(value.toPrecision(12))) : String(value);
  };
  return { element, show };
}

/** The list of equilibria; the chosen one is marked. */
export function listPoints(points, chosen, choose) {
  byId("points").replaceChildren(
    ...points.map((point, i) => {
      const button = made("button", { type: "button", "aria-pressed": String(i === chosen) }, lineOf(point));
      button.addEventListener("click", () => choose(i));
      return made("li", {}, button);
    }),
  );
}
