// The page: one state, the views that show it, and what changes it.

import { written } from "./axes.mjs";
import { buildControls, listPoints } from "./controls.mjs";
import { LARGEST } from "./decimals.mjs";
import { frameOf, movedJacobian, stateWith } from "./eigenvalue_drag.mjs";
import { commandLine, networkCommand, pythonLines } from "./exports.mjs";
import { METHODS } from "./methods.mjs";
import { fixedPointsAlone } from "./fixed_points_alone.mjs";
import { drawGrowth, drawSpectrum, drawStability, spectrumInWords } from "./linked_views.mjs";
import { showNetwork } from "./network_view.mjs";
import { PALETTES } from "./palette.mjs";
import { drawPlane } from "./plane_view.mjs";
import { placeOf, pointAtPlane, rounded } from "./pointing.mjs";
import { fittedHalf, longOrbits, portrait, separatrices } from "./portrait.mjs";
import { presetNamed } from "./presets.mjs";
import { aloneInWords, verdict } from "./sentences.mjs";
import { fromFragment, toFragment } from "./state.mjs";
import { buildTextbook } from "./textbook_view.mjs";
import { SvgPen } from "./svg_pen.mjs";

const QUIET = 60; // ms after the last change until what takes longer is computed
const MOST_STARTS = 40;
const NEAR = 16; // pixels from an eigenvalue that is dragged
const REAL = 8; // pixels from the real axis: a pair that is dragged there meets on it

const FRAMED = location.protocol === "about:"; // in another page, as a notebook shows it: there is no address to change

const byId = (id) => document.getElementById(id);
const opening = JSON.parse(byId("opening").textContent);
const otherwise = { ...presetNamed("h").state };

const page = {
  state: otherwise,
  model: null,
  slow: {},
  chosen: 0, // which equilibrium of the list, and where it lies: the nearest one is followed
  place: null,
  eigenvalue: null, // the one that the keyboard moves, as it was last
  cursor: null,
  axes: {},
  held: {}, // the axes that stay while something is dragged in them
  palette: PALETTES.light,
  change(state) {
    page.state = state;
    page.say("");
    schedule();
  },
  /** A state from elsewhere: a preset or a link, with the equilibrium that it names. */
  open(state) {
    page.place = state.point ?? null;
    page.eigenvalue = null;
    if (state.network) shown.open(state.network);
    page.change(state);
  },
  say(problem) {
    byId("problem").hidden = !problem;
    byId("problem").textContent = problem;
  },
  mayStart() {
    if (page.state.starts.length < MOST_STARTS) return true;
    page.say(`There are ${MOST_STARTS} orbits, which is the most: remove some.`);
    return false;
  },
  /** Write the link anew when what it says of the network has changed; all else waits for `settle`. */
  keepLink() {
    document.documentElement.dataset.busy = "1";
    clearTimeout(linking);
    linking = setTimeout(() => {
      if (settling) return;
      writeLink();
      delete document.documentElement.dataset.busy;
    }, QUIET);
  },
  setCursor(cursor) {
    page.cursor = cursor;
    schedule();
  },
};

const point = () => page.model.points[page.chosen];
const distance = ([x, y], [u, v]) => Math.hypot(x - u, y - v);

/** Which of several places is nearest to one, the first where there is none. */
const nearestTo = (place, places) => (place ? places.map((each) => distance(each, place)) : [0]).reduce((best, each, i, all) => (each < all[best] ? i : best), 0);

/** The eigenvalue that the keyboard moves. */
const marked = () => (point() ? nearestTo(page.eigenvalue, point().eigenvalues) : -1);

/** The state with what a link says besides: the equilibrium that is chosen, and the network where the page holds one. */
const linked = () => ({ ...page.state, network: shown?.linked(), point: page.chosen > 0 ? page.place.map((each) => Number(each.toPrecision(6))) : null });

/** Each view's canvas, and how it is drawn with a pen of any kind. */
const VIEWS = {
  flow: (pen, size) => drawPlane(pen, size, page.palette, page.model, "flow", page.slow, page.cursor),
  map: (pen, size) => drawPlane(pen, size, page.palette, page.model, "map", page.slow, page.cursor),
  spectrum: (pen, size) => drawSpectrum(pen, size, page.palette, page.model, point(), page.held.spectrum, byId("spectrum").matches(":focus-visible") ? marked() : -1),
  growth: (pen, size) => drawGrowth(pen, size, page.palette, page.model),
  stability: (pen, size) => drawStability(pen, size, page.palette, page.model, point(), page.held.stability),
};

let shown = null; // the network
let scheduled = false;
let settling = 0;
let linking = 0;

function schedule() {
  page.slow = {};
  document.documentElement.dataset.busy = "1";
  clearTimeout(settling);
  settling = setTimeout(settle, QUIET);
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    redraw();
  });
}

/** What follows every change at once: the model and all views. The time is kept for whoever measures it. */
function redraw() {
  const begun = performance.now();
  if (page.model?.state !== page.state) page.model = portrait(page.state);
  page.chosen = nearestTo(page.place, page.model.points.map((each) => each.state));
  if (page.place && point()) page.place = point().state;
  draw(["flow", "map"]);
  const planes = performance.now() - begun;
  draw(["spectrum", "growth", ...(page.state.flow ? [] : ["stability"])]);
  showState(page.state);
  textbook.show(page.state);
  byId("energy-sign").hidden = !page.model.cell.conserved;
  const said = verdict(page.model, point());
  if (byId("verdict").textContent !== said) byId("verdict").textContent = said;
  listPoints(page.model.points, page.chosen, (i) => {
    page.place = page.model.points[i].state;
    schedule();
  });
  document.documentElement.dataset.planes = planes.toFixed(2);
  document.documentElement.dataset.all = (performance.now() - begun).toFixed(2);
}

/** What waits for a moment of rest: separatrices, where orbits end, the link, the code. */
function settle() {
  if (scheduled) {
    settling = setTimeout(settle, QUIET);
    return;
  }
  page.slow = { curves: separatrices(page.model), ends: longOrbits(page.model), alone: fixedPointsAlone(page.model) };
  byId("alone-sign").hidden = page.slow.alone.length === 0;
  byId("alone").textContent = aloneInWords(page.slow.alone);
  draw(["flow", "map"]);
  settling = 0;
  writeLink();
  byId("python").textContent = pythonLines(page.state);
  const spoken = `${page.state.starts.length} orbits and ${page.model.points.length} equilibria within ±${written(page.state.half)}. ${byId("verdict").textContent}`;
  byId("flow").setAttribute("aria-label", `Phase plane of the flow: ${spoken}`);
  byId("map").setAttribute("aria-label", `Phase plane of ${METHODS[page.state.integrator].map}: ${spoken}`);
  byId("spectrum").setAttribute("aria-label", spectrumInWords(page.model, point(), marked()));
  const last = page.model.orbits.map((orbit) => written(orbit.logNorms[orbit.logNorms.length - 1] / Math.LN10, 3));
  byId("growth").setAttribute("aria-label", `The logarithm to base 10 of the gradient’s norm ends at ${last.join(", ") || "nothing, as there is no orbit"}.`);
  delete document.documentElement.dataset.busy;
  byId("stability").setAttribute("aria-label", `The plane of γ and ε, now at γ = ${written(page.state.gamma)} and ε = ${written(page.state.step)}.`);
}

function writeLink() {
  clearTimeout(linking);
  const fragment = `#${toFragment(linked())}`;
  if (!FRAMED && location.hash !== fragment) history.replaceState(null, "", fragment);
  byId("command").textContent = opening.network ? networkCommand(linked(), opening.network.command) : commandLine(linked());
}

function draw(names) {
  for (const name of names) {
    const canvas = byId(name);
    const size = { width: canvas.clientWidth, height: canvas.clientHeight };
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(size.width * scale) || canvas.height !== Math.round(size.height * scale)) {
      canvas.width = Math.round(size.width * scale);
      canvas.height = Math.round(size.height * scale);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    page.axes[name] = VIEWS[name](pen, size);
  }
}

const showState = buildControls(page);
const textbook = buildTextbook(page);
for (const name of ["flow", "map"]) pointAtPlane(byId(name), page, () => page.axes[name]);
dragEigenvalues(byId("spectrum"));
clickStability(byId("stability"));

function dragEigenvalues(canvas) {
  let held = null;
  const move = (to) => {
    page.eigenvalue = to;
    const jacobian = movedJacobian(held.frame, held.point.eigenvalues, held.index, to);
    const next = jacobian && stateWith(held.state, held.cell, held.point, jacobian);
    if (next) page.change(next);
    else page.say("No matrix of this page has that eigenvalue there: a unit is switched off, or an entry would be too large.");
  };
  const hold = (index) => (held = { index, point: point(), state: page.state, cell: page.model.cell, frame: frameOf(point()) });
  canvas.addEventListener("pointerdown", (event) => {
    const [left, top] = placeOf(canvas, event);
    const axes = page.axes.spectrum;
    const far = (point()?.eigenvalues ?? []).map(([x, y]) => Math.hypot(axes.toX(x) - left, axes.toY(y) - top));
    const index = far.indexOf(Math.min(...far));
    if (page.state.flow || event.button !== 0 || index < 0 || far[index] > NEAR) return;
    hold(index);
    page.held.spectrum = axes;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [left, top] = placeOf(canvas, event);
    const [real, imaginary] = page.axes.spectrum.from(left, top).map(rounded);
    move([real, Math.abs(top - page.axes.spectrum.toY(0)) < REAL ? 0 : imaginary]);
  });
  letGo(canvas, "spectrum", () => (held = null));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (page.state.flow || !point() || !(by || event.key === "Enter" || event.key === " ")) return;
    event.preventDefault();
    if (!by) {
      page.eigenvalue = point().eigenvalues[1 - marked()];
      schedule();
      return;
    }
    hold(marked());
    const [real, imaginary] = point().eigenvalues[held.index];
    const to = imaginary + 0.05 * by[1];
    move([rounded(real + 0.05 * by[0]), rounded(imaginary < 0 ? Math.min(0, to) : Math.max(0, to))]);
    held = null;
  });
  for (const name of ["focus", "blur"]) canvas.addEventListener(name, schedule);
}

/** When a drag ends: `forget` what was held, and let the axes of the view follow again. */
function letGo(canvas, name, forget) {
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => {
      forget();
      if (page.held[name]) schedule();
      delete page.held[name];
    });
  }
}

function clickStability(canvas) {
  let held = false;
  const take = (event) => {
    const { from, x, y } = page.axes.stability;
    const [gamma, step] = from(...placeOf(canvas, event)).map((each, i) => Math.min(Math.max(each, [x, y][i][0]), [x, y][i][1], LARGEST));
    page.change({ ...page.state, gamma: rounded(gamma), step: rounded(Math.max(1e-3, step)) });
  };
  canvas.addEventListener("pointerdown", (event) => {
    held = event.button === 0 && page.axes.stability.holds(...placeOf(canvas, event));
    if (!held) return;
    page.held.stability = page.axes.stability;
    canvas.setPointerCapture(event.pointerId);
    take(event);
  });
  canvas.addEventListener("pointermove", (event) => held && take(event));
  letGo(canvas, "stability", () => (held = false));
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-0.01, 0], ArrowRight: [0.01, 0], ArrowUp: [0, 0.005], ArrowDown: [0, -0.005] }[event.key];
    if (!by) return;
    event.preventDefault();
    page.change({ ...page.state, gamma: rounded(Math.min(LARGEST, Math.max(0, page.state.gamma + by[0]))), step: rounded(Math.min(LARGEST, Math.max(1e-3, page.state.step + by[1]))) });
  });
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  page.palette = PALETTES[name];
  byId("theme").textContent = name === "dark" ? "Light" : "Dark";
  if (page.model) schedule();
  textbook.redraw();
  shown?.redraw();
}

function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** What stands above the two planes. */
const captionsOf = () => ["The flow", byId("map-name").textContent];

/** Flow and map side by side in one SVG. */
function asSvg() {
  const size = { width: 480, height: 480 };
  const pens = ["flow", "map"].map((name) => {
    const pen = new SvgPen(size.width, size.height);
    VIEWS[name](pen, size);
    return pen.toString().replaceAll("clip", `${name}-clip`).replaceAll(`${name}-clipPath`, "clipPath").replaceAll(`${name}-clip-path`, "clip-path");
  });
  const captions = captionsOf().map((text, i) => `<text x="${(i + 0.5) * size.width}" y="47" font-family="sans-serif" font-size="13" font-weight="600" fill="${page.palette.ink}" text-anchor="middle">${text}</text>`).join("");
  const inner = pens.map((text, i) => text.replace("<svg ", `<svg x="${i * size.width}" y="30" `)).join("") + captions;
  const title = verdict(page.model, point()).replace(/&/g, "&amp;").replace(/</g, "&lt;");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 510" width="960" height="510"><rect width="960" height="510" fill="${page.palette.paper}"/><text x="12" y="20" font-family="sans-serif" font-size="13" fill="${page.palette.ink}" textLength="${Math.min(936, 7 * title.length)}" lengthAdjust="spacingAndGlyphs">${title}</text>${inner}</svg>`;
}

byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
byId("save-svg").addEventListener("click", () => download("phase-plane.svg", new Blob([asSvg()], { type: "image/svg+xml" })));
byId("save-png").addEventListener("click", () => {
  const both = document.createElement("canvas");
  const [flow, map] = [byId("flow"), byId("map")];
  both.width = flow.width + map.width;
  both.height = Math.max(flow.height, map.height);
  const pen = both.getContext("2d");
  const scale = flow.width / flow.clientWidth;
  pen.font = `600 ${13 * scale}px system-ui, sans-serif`;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  pen.fillStyle = page.palette.ink;
  [flow, map].forEach((canvas, i) => {
    pen.drawImage(canvas, i * flow.width, 0);
    pen.fillText(captionsOf()[i], i * flow.width + canvas.width / 2, 5 * scale);
  });
  both.toBlob((blob) => download("phase-plane.png", blob));
});
byId("link").addEventListener("click", async () => {
  const link = `${FRAMED ? "" : location.href.split("#")[0]}#${toFragment(linked())}`;
  try {
    await navigator.clipboard.writeText(link);
    byId("link").textContent = "Copied";
  } catch {
    page.say(`This browser lets no page copy; the link is ${link}`);
  }
  setTimeout(() => (byId("link").textContent = "Copy link"), 1500);
});
byId("show-code").addEventListener("click", () => {
  const code = byId("code");
  code.hidden = !code.hidden;
  byId("show-code").setAttribute("aria-expanded", String(!code.hidden));
  if (!code.hidden) code.scrollIntoView();
});

function follow(fragment) {
  const opened = fromFragment(opening.fragment ?? "", otherwise, shown?.held);
  const asked = fromFragment(fragment, opened.state, shown?.held);
  const said = asked.problem || !fragment ? opening.fragment ?? "" : fragment;
  const window = /(^|[#&])half=/.test(said) || !/(^|[#&])(?!network|textbook)\w/.test(said);
  page.open(window ? asked.state : { ...asked.state, half: fittedHalf(asked.state) });
  page.say(asked.problem || opened.problem);
}

if (opening.network) {
  shown = showNetwork(opening.network, page);
  otherwise.network = shown.held.atFirst;
}
const preferred = window.matchMedia("(prefers-color-scheme: dark)");
preferred.addEventListener("change", () => setTheme(preferred.matches ? "dark" : "light"));
setTheme(preferred.matches ? "dark" : "light");
window.addEventListener("hashchange", () => follow(location.hash));
window.addEventListener("resize", () => {
  schedule();
  textbook.redraw();
  shown?.redraw();
});
follow(location.hash);
