// A trained network: its fixed points among the principal components of its states, and the true network running there.

import { bounds, clipped, disc, drawCross, frame, line, path, written } from "./axes.mjs";
import { colourOf } from "./palette.mjs";
import { placeOf } from "./pointing.mjs";
import { projection, stepOf, unpacked } from "./program.mjs";
import { numberOf, refused } from "./state.mjs";

const KEPT = 600; // states of the running orbit that are drawn
const MARGIN = 1.15; // the window is this much wider than what lies in it
const ARROW = 0.06; // of the window: how long the lines along growing directions are
const NEAR = 12; // pixels from a fixed point
const SETTLED = 1e-3; // a state so near to a fixed point is there
const LARGEST = 1e6; // of a state: an orbit that has gone so far is not followed
const CROSS = 40; // steps of the keyboard's cross, in a window
const PULSE = [
  { id: "network-size", label: "the size of a pulse" },
  { id: "network-length", label: "the length of a pulse", least: 1, most: 10000, whole: true },
];

const byId = (id) => document.getElementById(id);
const distanceOf = (x, y) => Math.hypot(...x.map((each, i) => each - y[i]));

/** Show the network that the page was written with; `page` has `palette` and `say(problem)`. The result redraws it. */
export function showNetwork(network, page) {
  const canvas = byId("network-plane");
  const step = stepOf(network.operations);
  const places = projection(unpacked(network.origin), unpacked(network.directions));
  const points = network.points.map((point) => ({ ...point, state: unpacked(point.state) }));
  for (const point of points) point.place = places.onto(point.state);
  const held = Float64Array.from(network.held);
  const view = { axes: null, state: null, trail: [], t: 0, pulse: null, running: false, left: false, cross: null };

  const start = (state) => {
    Object.assign(view, { state, trail: [places.onto(state)], t: 0, pulse: null, left: false });
    run(true);
  };
  const advance = (steps) => {
    for (let i = 0; i < steps; i++) {
      const input = view.pulse ? held.map((each, k) => each + (k === view.pulse.index ? view.pulse.size : 0)) : held;
      const next = step(view.state, input);
      if (!next.every((each) => Math.abs(each) <= LARGEST)) {
        Object.assign(view, { left: true, running: false });
        byId("network-run").textContent = "Run";
        return;
      }
      view.state = next;
      view.t += 1;
      if (view.pulse && --view.pulse.left <= 0) view.pulse = null;
      view.trail.push(places.onto(view.state));
    }
    view.trail = view.trail.slice(-KEPT);
  };
  const redraw = () => drawNetwork(canvas, page.palette, view, network, points);
  const tick = () => {
    if (!view.running) return;
    advance(Number(byId("network-speed").value));
    redraw();
    say();
    requestAnimationFrame(tick);
  };
  const run = (running) => {
    const begins = running && !view.running;
    view.running = running;
    byId("network-run").textContent = running ? "Pause" : "Run";
    redraw();
    say();
    if (begins) requestAnimationFrame(tick);
  };
  const say = () => {
    const text = inWords(view, points);
    const said = byId("network-said");
    said.setAttribute("aria-live", view.running ? "off" : "polite"); // a reader of screens hears where it has come to rest
    if (said.textContent !== text) said.textContent = text;
  };
  const startAt = (left, top) => {
    const near = points.find((point) => Math.hypot(view.axes.toX(point.place[0]) - left, view.axes.toY(point.place[1] ?? 0) - top) <= NEAR);
    byId("network-point").textContent = near ? describeNetworkPoint(near, points.indexOf(near)) : "";
    start(near ? near.state : places.back(view.axes.from(left, top).slice(0, places.count)));
  };

  buildNetwork(network, held.length, {
    pulse: (index, sign) => {
      const problems = PULSE.map((row) => refused(row, byId(row.id).value));
      PULSE.forEach(({ id }, i) => byId(id).setAttribute("aria-invalid", String(Boolean(problems[i]))));
      const problem = problems.find(Boolean);
      page.say(problem ? `No pulse is given: ${problem}.` : "");
      if (problem) return;
      const [size, length] = PULSE.map(({ id }) => numberOf(byId(id).value));
      view.pulse = { index, size: sign * size, left: length };
      run(true);
    },
    run: () => run(!view.running),
    step: () => {
      run(false);
      advance(1);
      redraw();
      say();
    },
    reset: () => start(points.find((point) => point.stable === 1)?.state ?? unpacked(network.origin)),
  });
  canvas.addEventListener("pointerdown", (event) => {
    const [left, top] = placeOf(canvas, event);
    if (event.button === 0 && view.axes.holds(left, top)) startAt(left, top);
  });
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const { axes, cross } = view;
    if (by) {
      const far = ((axes.y[1] - axes.y[0]) / CROSS) * (event.shiftKey ? 5 : 1);
      view.cross = (cross ?? [0, 0]).map((each, i) => Math.max([axes.x, axes.y][i][0], Math.min([axes.x, axes.y][i][1], each + far * by[i])));
      redraw();
    } else if (event.key === "Enter" && cross) startAt(axes.toX(cross[0]), axes.toY(cross[1]));
    else if (event.key === "Enter" || event.key === " ") run(!view.running);
    else return;
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => {
    view.cross = null;
    redraw();
  });
  view.state = points.find((point) => point.stable === 1)?.state ?? unpacked(network.origin);
  view.trail = [places.onto(view.state)];
  redraw();
  say();
  return redraw;
}

const describeNetworkPoint = (point, i) => `Fixed point ${i} is a ${point.kind}. ${point.proof}`.trim();

/** Where the running state is, in a sentence. */
function inWords({ state, t, pulse, left }, points) {
  if (left) return `After step ${t} the state leaves all bounds, and is not followed.`;
  const distances = points.map((point) => distanceOf(Array.from(state), point.state));
  const nearest = distances.indexOf(Math.min(...distances));
  const driven = pulse ? ` A pulse drives input ${pulse.index + 1}.` : "";
  if (nearest < 0) return `Step ${t}. No fixed point is known.${driven}`;
  const at = distances[nearest] < SETTLED ? "at" : `${written(distances[nearest], 3)} from`;
  return `Step ${t}: the state is ${at} fixed point ${nearest}, a ${points[nearest].kind}.${driven}`;
}

function buildNetwork(network, inputs, act) {
  byId("network").hidden = false;
  byId("network-name").textContent = `The network ${network.name}`;
  byId("network-verdict").textContent = network.verdict;
  const box = byId("network-pulses");
  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    return made;
  };
  for (let i = 0; i < inputs; i++) box.append(button(`x${i + 1} +`, () => act.pulse(i, 1)), button(`x${i + 1} −`, () => act.pulse(i, -1)));
  byId("network-pulse-fields").hidden = inputs === 0;
  byId("network-run").addEventListener("click", act.run);
  byId("network-step").addEventListener("click", act.step);
  byId("network-reset").addEventListener("click", act.reset);
}

function drawNetwork(canvas, palette, view, network, points) {
  const size = { width: canvas.clientWidth, height: canvas.clientHeight };
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const flat = ([x, y = 0]) => [x, y];
  const orbits = network.orbits.map((orbit) => orbit.filter((each) => !each.includes(null)).map(flat));
  const [least, most] = bounds([...orbits.flat(), ...points.map((point) => flat(point.place))], -1e-6, 1e-6);
  const half = MARGIN * Math.max(-least, most);
  const share = (axis) => `principal component ${axis + 1} (${written(100 * (network.shares[axis] ?? 0), 3)} % of the variance)`;
  const axes = frame(pen, { ...size, palette, x: [-half, half], y: [-half, half], labels: [share(0), share(1)], equal: true });
  view.axes = axes;
  clipped(pen, axes, () => {
    pen.strokeStyle = palette.faint;
    pen.lineWidth = 1;
    pen.beginPath();
    for (const orbit of orbits) path(pen, axes, orbit);
    pen.stroke();
    pen.strokeStyle = palette.unstable;
    pen.lineWidth = 1.4;
    pen.beginPath();
    for (const point of points) {
      for (const direction of point.leaves) {
        const [dx, dy] = flat(direction).map((each) => (each * ARROW * half) / (Math.hypot(...flat(direction)) || 1));
        const [x, y] = flat(point.place);
        line(pen, axes.toX(x - dx), axes.toY(y - dy), axes.toX(x + dx), axes.toY(y + dy));
      }
    }
    pen.stroke();
    for (const point of points) {
      const colour = colourOf(palette, point.stable);
      const [x, y] = flat(point.place);
      disc(pen, axes.toX(x), axes.toY(y), 6, point.stable === 1 ? colour : palette.paper, colour, 2.2);
    }
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 2;
    pen.beginPath();
    path(pen, axes, view.trail.map(flat));
    pen.stroke();
    const [x, y] = flat(view.trail[view.trail.length - 1]);
    disc(pen, axes.toX(x), axes.toY(y), 5, palette.ink, palette.paper, 1.5);
    if (view.cross) drawCross(pen, axes, view.cross);
  });
}
