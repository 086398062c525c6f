// The section of textbook systems: its controls, its worker, and its two pictures.

import { clipped, frame, line, path } from "./axes.mjs";
import { numberField } from "./controls.mjs";
import { numberOf, refused } from "./decimals.mjs";
import { TEXTBOOK } from "./textbook.mjs";

const GRAPH = 200; // points of a map's graph
const byId = (id) => document.getElementById(id);

/** Build the section; the result { show(state), redraw() } follows the page's state and its colours. */
export function buildTextbook(page) {
  const worker = new Worker(URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" })));
  const view = { asked: 0, told: "", pictures: null };
  for (const [name, { title }] of Object.entries(TEXTBOOK)) byId("textbook-system").append(new Option(title, name));
  byId("textbook-system").addEventListener("change", (event) => {
    page.change({ ...page.state, textbook: [event.target.value, ...TEXTBOOK[event.target.value].parameters.map((each) => each[3])] });
  });
  const redraw = () => {
    if (view.pictures) view.pictures.forEach((picture, i) => drawTextbook(byId(`textbook-${i}`), page.palette, view.shown, picture, i));
  };
  worker.onmessage = ({ data }) => {
    if (data.number !== view.asked) return;
    Object.assign(view, { pictures: data.pictures, shown: JSON.parse(view.told) });
    redraw();
    byId("textbook").dataset.drawn = view.told;
  };
  const show = ({ textbook }) => {
    const told = JSON.stringify(textbook);
    if (told === view.told) return;
    const sameSystem = view.told && JSON.parse(view.told)[0] === textbook[0];
    view.told = told;
    byId("textbook-system").value = textbook[0];
    if (!sameSystem) byId("textbook-numbers").replaceChildren(...TEXTBOOK[textbook[0]].parameters.map((each, i) => slider(page, each, i + 1)));
    [...byId("textbook-numbers").querySelectorAll("input")].forEach((input, i) => (input.value = textbook[1 + Math.floor(i / 2)]));
    worker.postMessage({ number: ++view.asked, name: textbook[0], values: textbook.slice(1) });
  };
  return { show, redraw };
}

function slider(page, [name, low, high], index) {
  const label = document.createElement("div");
  label.className = "number";
  const take = (text) => {
    const problem = refused({ label: name, least: low, most: high }, text);
    if (problem) page.say(`The number is not taken: ${problem}.`);
    else page.change({ ...page.state, textbook: page.state.textbook.map((each, i) => (i === index ? numberOf(text) : each)) });
  };
  const range = document.createElement("input");
  Object.assign(range, { type: "range", min: low, max: high, step: (high - low) / 1000, ariaLabel: `${name}, slider` });
  range.addEventListener("input", () => take(range.value));
  label.append(name, range, numberField(name, (high - low) / 100, take));
  return label;
}

function drawTextbook(canvas, palette, [name, ...values], { kind, values: found }, which) {
  const system = TEXTBOOK[name];
  const size = { width: canvas.clientWidth, height: canvas.clientHeight };
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const pairs = [];
  for (let i = 0; i < found.length; i += 2) pairs.push([found[i], found[i + 1]]);
  const oneDimensional = system.start.length === 1;
  const cobwebbed = oneDimensional && which === 0;
  const range = (axis) => {
    if (cobwebbed) return system.range;
    const all = pairs.map((pair) => pair[axis]);
    const [low, high] = [all.reduce((x, y) => Math.min(x, y), Infinity), all.reduce((x, y) => Math.max(x, y), -Infinity)];
    return low < high ? [low - 0.04 * (high - low), high + 0.04 * (high - low)] : [(Number.isFinite(low) ? low : 0) - 1, (Number.isFinite(low) ? low : 0) + 1];
  };
  const swept = system.parameters[0][0];
  const labels = system.velocity ? [["x", "z"], ["t (s)", "z"]][which] : which === 1 ? [swept, "x after many steps"] : oneDimensional ? ["x", "next x"] : ["x", "y"];
  const axes = frame(pen, { ...size, palette, x: range(0), y: range(1), labels });
  clipped(pen, axes, () => {
    pen.lineWidth = cobwebbed ? 1.4 : 1;
    pen.strokeStyle = pen.fillStyle = palette.accent;
    if (kind === "points") for (const [x, y] of pairs) pen.fillRect(axes.toX(x), axes.toY(y), 1, 1);
    else {
      pen.beginPath();
      path(pen, axes, pairs);
      pen.stroke();
    }
    if (cobwebbed) drawGraph(pen, axes, system, values);
    if (which === 1 && !system.velocity) {
      pen.strokeStyle = palette.unstable;
      pen.lineWidth = 1.2;
      pen.beginPath();
      line(pen, axes.toX(values[0]), 0, axes.toX(values[0]), size.height);
      pen.stroke();
    }
  });
  const pictured = cobwebbed ? "Cobweb" : which === 1 && !system.velocity ? `Orbit diagram over ${swept}` : which === 1 ? "Solution over time" : "Attractor";
  canvas.setAttribute("aria-label", `${pictured} of: ${system.title}, ${system.parameters.map((each, i) => `${each[0]} = ${values[i]}`).join(", ")}.`);
}

function drawGraph(pen, axes, system, values) {
  const [low, high] = system.range;
  const graph = Array.from({ length: GRAPH + 1 }, (_, i) => low + ((high - low) * i) / GRAPH).map((x) => [x, system.step([x], values)[0]]);
  pen.strokeStyle = axes.palette.ink;
  pen.lineWidth = 1.6;
  pen.beginPath();
  path(pen, axes, graph);
  path(pen, axes, [[low, low], [high, high]]);
  pen.stroke();
}
