// A picture's frame: from numbers to places and back, ticks, and labels.

const FONT = "12px system-ui, sans-serif";
const FAR = 1e5; // pixels: what a line is cut short to
const BORDER = { left: 46, right: 12, top: 24, bottom: 34 };

/** Steps of 1, 2 or 5 times a power of ten, about `count` of them within a length. */
export function tickStep(extent, count) {
  const rough = extent / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  return (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10) * power;
}

/** A number as a tick or a sentence writes it: four digits, a true minus. */
export function written(number, digits = 4) {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? "undefined" : number > 0 ? "infinite" : "−infinite";
  return String(Number(number.toPrecision(digits))).replace("-", "−");
}

/** A number beside a tick: as it is written, or with a power of ten where that would take too much room. */
function atTick(number) {
  const size = Math.abs(number);
  if (size === 0 || (size >= 1e-4 && size < 1e5)) return written(number);
  return Number(number.toPrecision(4)).toExponential().replace("e+", "e").replaceAll("-", "−");
}

/** The least and the greatest finite number of several lists, `low` and `high` or beyond. */
export function bounds(lists, low, high) {
  for (const list of lists) {
    for (const each of list) {
      if (each < low && each > -Infinity) low = each;
      if (each > high && each < Infinity) high = each;
    }
  }
  return [low, high];
}

/** `equal`: one unit is as long in both directions, and the ranges grow to fill the frame. */
export function frame(pen, { width, height, palette, x, y, labels, equal = false }) {
  const box = { left: BORDER.left, top: BORDER.top, width: width - BORDER.left - BORDER.right, height: height - BORDER.top - BORDER.bottom };
  let [[x0, x1], [y0, y1]] = [x, y];
  if (equal) {
    const unit = Math.min(box.width / (x1 - x0), box.height / (y1 - y0));
    const [halfX, halfY] = [box.width / unit / 2, box.height / unit / 2];
    [x0, x1, y0, y1] = [(x0 + x1) / 2 - halfX, (x0 + x1) / 2 + halfX, (y0 + y1) / 2 - halfY, (y0 + y1) / 2 + halfY];
  }
  const [perX, perY] = [box.width / (x1 - x0), box.height / (y1 - y0)];
  const axes = {
    box, palette, x: [x0, x1], y: [y0, y1], perX, perY,
    toX: (value) => box.left + (value - x0) * perX,
    toY: (value) => box.top + box.height - (value - y0) * perY,
    from: (left, top) => [x0 + (left - box.left) / perX, y0 + (box.top + box.height - top) / perY],
    holds: (left, top) => left >= box.left && left <= box.left + box.width && top >= box.top && top <= box.top + box.height,
  };
  pen.fillStyle = palette.paper;
  pen.fillRect(0, 0, width, height);
  drawTicks(pen, axes, labels);
  return axes;
}

function drawTicks(pen, axes, labels) {
  const { box, palette, x, y } = axes;
  pen.font = FONT;
  pen.fillStyle = palette.ink;
  pen.strokeStyle = palette.faint;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.textAlign = "center";
  pen.textBaseline = "top";
  pen.beginPath();
  for (const tick of ticks(x, box.width / 70)) {
    line(pen, axes.toX(tick), box.top, axes.toX(tick), box.top + box.height);
    pen.fillText(atTick(tick), axes.toX(tick), box.top + box.height + 5);
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const tick of ticks(y, box.height / 50)) {
    line(pen, box.left, axes.toY(tick), box.left + box.width, axes.toY(tick));
    pen.fillText(atTick(tick), box.left - 5, axes.toY(tick));
  }
  pen.stroke();
  pen.textBaseline = "top";
  pen.fillText(labels[0], box.left + box.width, box.top + box.height + 19);
  pen.textAlign = "left";
  pen.fillText(labels[1], 6, 5);
}

function ticks([low, high], count) {
  const step = tickStep(high - low, count);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
  return found;
}

export function line(pen, x0, y0, x1, y1) {
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
}

/** A path through states [[x, y], …]; a line that leaves far beyond the frame is cut short, and keeps its direction. */
export function path(pen, axes, states) {
  let before = null;
  for (const [x, y] of states) {
    const place = cutShort(before, [axes.toX(x), axes.toY(y)]);
    if (before) pen.lineTo(...place);
    else pen.moveTo(...place);
    before = place;
  }
}

/** Where a line from `before` to `place` ends that is at most as long as a canvas can draw. */
function cutShort(before, place) {
  if (place.every((each) => Math.abs(each) <= FAR)) return place;
  const way = place.map((each, i) => each - (before ? before[i] : 0));
  const longest = Math.max(...way.map(Math.abs));
  if (longest === Infinity) return place.map((each) => Math.max(-FAR, Math.min(FAR, each)));
  return way.map((each, i) => (before ? before[i] : 0) + (FAR * each) / longest);
}

export function clipped(pen, { box }, draw) {
  pen.save();
  pen.beginPath();
  pen.rect(box.left, box.top, box.width, box.height);
  pen.clip();
  draw();
  pen.restore();
}

export function disc(pen, left, top, radius, fill, edge, width = 1.6) {
  pen.beginPath();
  pen.arc(left, top, radius, 0, 2 * Math.PI);
  if (fill) {
    pen.fillStyle = fill;
    pen.fill();
  }
  if (edge) {
    pen.strokeStyle = edge;
    pen.lineWidth = width;
    pen.stroke();
  }
}

/** The cross that the keyboard moves. */
export function drawCross(pen, axes, [x, y]) {
  const [left, top] = [axes.toX(x), axes.toY(y)];
  pen.strokeStyle = axes.palette.accent;
  pen.lineWidth = 1.5;
  pen.beginPath();
  line(pen, left - 10, top, left + 10, top);
  line(pen, left, top - 10, left, top + 10);
  pen.stroke();
}
