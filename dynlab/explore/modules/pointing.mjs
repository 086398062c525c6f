// What a pointer and the keyboard do in the planes: start orbits, move them, remove them, change the window.

import { NUMBERS } from "./state.mjs";

const WINDOW = NUMBERS.find((each) => each.name === "half");
const NEAR = 14; // pixels: a pointer so near to a star takes it
const STEPS = 40; // of the keyboard's cross, in a window

export const rounded = (number) => Number(number.toPrecision(4));

function nearest(axes, starts, left, top) {
  let found = { index: -1, distance: Infinity };
  starts.forEach(([x, y], index) => {
    const distance = Math.hypot(axes.toX(x) - left, axes.toY(y) - top);
    if (distance < found.distance) found = { index, distance };
  });
  return found;
}

export function placeOf(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left - canvas.clientLeft, event.clientY - box.top - canvas.clientTop];
}

/** Let `canvas` change the starts of `page`; `axesOf()` gives the axes of its last picture. */
export function pointAtPlane(canvas, page, axesOf) {
  let held = -1;
  const replaced = (starts) => page.change({ ...page.state, starts });
  canvas.addEventListener("pointerdown", (event) => {
    const [left, top] = placeOf(canvas, event);
    const axes = axesOf();
    if (event.button !== 0 || !axes.holds(left, top)) return;
    const near = nearest(axes, page.state.starts, left, top);
    if (near.distance <= NEAR) held = near.index;
    else if (page.mayStart()) {
      held = page.state.starts.length;
      replaced([...page.state.starts, axes.from(left, top).map(rounded)]);
    }
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held < 0) return;
    const axes = axesOf();
    // a star that is dragged out of the plane stays at its edge, where it can be taken again
    const to = axes.from(...placeOf(canvas, event)).map((each, i) => rounded(Math.max([axes.x, axes.y][i][0], Math.min([axes.x, axes.y][i][1], each))));
    replaced(page.state.starts.map((start, i) => (i === held ? to : start)));
  });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (held = -1));
  canvas.addEventListener("dblclick", (event) => {
    const near = nearest(axesOf(), page.state.starts, ...placeOf(canvas, event));
    if (near.distance <= NEAR) replaced(page.state.starts.filter((_, i) => i !== near.index));
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(page, event.deltaY > 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });
  keyboard(canvas, page, axesOf, replaced);
}

const zoom = (page, factor) => page.change({ ...page.state, half: rounded(Math.min(WINDOW.most, Math.max(WINDOW.least, page.state.half * factor))) });

function keyboard(canvas, page, axesOf, replaced) {
  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  canvas.addEventListener("keydown", (event) => {
    const { state } = page;
    const cursor = page.cursor ?? [0, 0];
    if (moves[event.key]) {
      const far = ((2 * state.half) / STEPS) * (event.shiftKey ? 5 : 1);
      page.setCursor(cursor.map((each, i) => rounded(Math.max(-state.half, Math.min(state.half, each + far * moves[event.key][i])))));
    } else if (event.key === "Enter" || event.key === " ") {
      if (page.mayStart()) replaced([...state.starts, cursor]);
    } else if (event.key === "Delete" || event.key === "Backspace") {
      const axes = axesOf();
      const { index } = nearest(axes, state.starts, axes.toX(cursor[0]), axes.toY(cursor[1]));
      replaced(state.starts.filter((_, i) => i !== index));
    } else if (event.key === "+" || event.key === "-") zoom(page, event.key === "+" ? 1 / 1.25 : 1.25);
    else return;
    event.preventDefault();
  });
  canvas.addEventListener("focus", () => canvas.matches(":focus-visible") && page.setCursor(page.cursor ?? [0, 0]));
  canvas.addEventListener("blur", () => page.setCursor(null));
}
