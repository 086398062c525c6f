// A trained network: its fixed points among the principal components of its states, and the true network running there.

import { bounds, clipped, disc, drawCross, frame, line, path, written } from "./axes.mjs";
import { numberOf, refused } from "./decimals.mjs";
import { LENGTH, MOST_PULSES, MOST_STEPS, SIZE, asLinked, atFirst } from "./network_state.mjs";
import { colourOf } from "./palette.mjs";
import { placeOf, rounded } from "./pointing.mjs";
import { projection, stepOf, unpacked } from "./program.mjs";

const KEPT = 600; // states of the running orbit that are drawn
const MARGIN = 1.15; // the window is this much wider than what lies in it
const ARROW = 0.06; // of the window: how long the lines along growing directions are
const NEAR = 12; // pixels from a fixed point
const SETTLED = 1e-3; // a state so near to a fixed point is there
const LARGEST = 1e6; // of a state: an orbit that has gone so far is not followed
const CROSS = 40; // steps of the keyboard's cross, in a window
const PULSE = [
  { ...SIZE, id: "network-size", label: "the size of a pulse" },
  { ...LENGTH, id: "network-length", label: "the length of a pulse" },
];

const grouped = (count) => count.toLocaleString("en");
const byId = (id) => document.getElementById(id);
const distanceOf = (x, y) => Math.hypot(...x.map((each, i) => each - y[i]));

/**
 * Show the network that the page was written with; `page` has `palette`, `say(problem)` and `keepLink()`, which writes the
 * link anew. The result { redraw, open, linked, held } shows a state of a link, gives one, and says what one may name.
 */
export function showNetwork(network, page) {
  const canvas = byId("network-plane");
  const step = stepOf(network.operations, network.functions);
  const places = projection(unpacked(network.origin), unpacked(network.directions));
  const points = network.points.map((point) => ({ ...point, state: unpacked(point.state) }));
  for (const point of points) point.place = places.onto(point.state);
  const held = Float64Array.from(network.held);
  const first = atFirst(points);
  // `given` lists the pulses since the start as a link has them, `typed` what the fields hold that is a number
  const view = { axes: null, state: null, trail: [], t: 0, pulse: null, running: false, left: false, cross: null, start: null, given: [], typed: { size: 1, length: 1 } };

  /** Go to a start as a link has it: a fixed point by its number, or a place in the plane. */
  const begin = (start) => {
    const fixed = start[0] === "fixed" ? points[start[1]] : null;
    const state = fixed ? fixed.state : places.back(start.slice(1, 1 + places.count));
    Object.assign(view, { start, state, trail: [places.onto(state)], t: 0, pulse: null, left: false, given: [] });
    byId("network-point").textContent = fixed ? describeNetworkPoint(fixed, start[1]) : "";
  };
  const give = (index, size, length) => {
    view.given = [...view.given.filter(([at]) => at < view.t), [view.t, index + 1, size, length]];
    view.pulse = { index, size, left: length };
  };
  const advance = (steps) => {
    for (let i = 0; i < steps; i++) {
      const input = view.pulse ? held.map((each, k) => each + (k === view.pulse.index ? view.pulse.size : 0)) : held;
      const next = step(view.state, input);
      view.left = !next.every((each) => Math.abs(each) <= LARGEST);
      if (view.left) {
        view.running = false;
        byId("network-run").textContent = "Run";
        page.keepLink();
        break;
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
    page.keepLink();
    if (begins) requestAnimationFrame(tick);
  };
  const say = () => {
    const text = inWords(view, points);
    const said = byId("network-said");
    said.setAttribute("aria-live", view.running ? "off" : "polite"); // a reader of screens hears where it has come to rest
    if (said.textContent !== text) said.textContent = text;
    const reached = asLinked(present()).step;
    byId("network-link").textContent = reached < view.t ? `A link holds at most ${grouped(MOST_STEPS)} steps and ${MOST_PULSES} pulses: the one to this page leads to step ${grouped(reached)}.` : "";
  };
  /** What a link would say of it. One that has left all bounds is let run: it leaves them again. */
  const present = () => ({ start: view.start, pulses: view.given, step: view.t, ...view.typed, speed: Number(byId("network-speed").value), running: view.running || view.left ? 1 : 0 });
  const open = (state) => {
    view.typed = { size: state.size, length: state.length };
    for (const { id, key } of PULSE) {
      byId(id).value = String(state[key]);
      byId(id).setAttribute("aria-invalid", "false");
    }
    byId("network-speed").value = state.speed;
    begin(state.start);
    for (const [at, input, size, length] of state.pulses) {
      advance(at - view.t);
      if (view.left) break;
      give(input - 1, size, length);
    }
    if (!view.left) advance(state.step - view.t);
    run(state.running === 1 && !view.left);
  };
  const startAt = (left, top) => {
    const near = points.find((point) => Math.hypot(view.axes.toX(point.place[0]) - left, view.axes.toY(point.place[1] ?? 0) - top) <= NEAR);
    begin(near ? ["fixed", points.indexOf(near)] : ["plane", ...view.axes.from(left, top).map(rounded)]);
    run(true);
  };

  buildNetwork(network, held.length, {
    pulse: (index, sign) => {
      const problems = PULSE.map((row) => refused(row, byId(row.id).value));
      PULSE.forEach(({ id }, i) => byId(id).setAttribute("aria-invalid", String(Boolean(problems[i]))));
      const problem = problems.find(Boolean);
      page.say(problem ? `No pulse is given: ${problem}.` : "");
      if (problem) return;
      const [size, length] = PULSE.map(({ id }) => numberOf(byId(id).value));
      give(index, sign * size, length);
      run(true);
    },
    run: () => run(!view.running),
    step: () => {
      run(false);
      advance(1);
      redraw();
      say();
    },
    reset: () => {
      begin(first.start);
      run(true);
    },
  });
  for (const row of PULSE) {
    byId(row.id).addEventListener("change", ({ target }) => {
      if (!refused(row, target.value)) view.typed = { ...view.typed, [row.key]: numberOf(target.value) };
      page.keepLink();
    });
  }
  byId("network-speed").addEventListener("input", page.keepLink);
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
  begin(first.start);
  return { redraw, open, linked: () => asLinked(present()), held: { points: points.length, inputs: held.length, atFirst: first } };
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
