// A picture's frame: from numbers to places and back, ticks, and labels.

const FONT = "12px system-ui, sans-serif";
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
    pen.fillText(written(tick), axes.toX(tick), box.top + box.height + 5);
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const tick of ticks(y, box.height / 50)) {
    line(pen, box.left, axes.toY(tick), box.left + box.width, axes.toY(tick));
    pen.fillText(written(tick), box.left - 5, axes.toY(tick));
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

/** A path through states [[x, y], …]; far outside the frame it is cut off, so that no picture overflows. */
export function path(pen, axes, states) {
  const far = 1e5;
  states.forEach(([x, y], i) => {
    const [left, top] = [axes.toX(x), axes.toY(y)].map((place) => Math.max(-far, Math.min(far, place)));
    if (i === 0) pen.moveTo(left, top);
    else pen.lineTo(left, top);
  });
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
