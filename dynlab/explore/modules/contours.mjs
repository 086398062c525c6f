// Where a function on a grid of the plane has a given value: marching squares.

/** Values [row][column] of `functions` on a grid over the frame: one array of rows for each component of `value(h)`. */
export function sampled(value, x, y, count) {
  const rows = [[], []];
  for (let j = 0; j <= count; j++) {
    const [first, second] = [new Float64Array(count + 1), new Float64Array(count + 1)];
    for (let i = 0; i <= count; i++) {
      [first[i], second[i]] = value([x[0] + ((x[1] - x[0]) * i) / count, y[0] + ((y[1] - y[0]) * j) / count]);
    }
    rows[0].push(first);
    rows[1].push(second);
  }
  return rows;
}

/** Segments [[x, y], [x, y]] of the contour of `rows` at `level`. */
export function contour(rows, x, y, level) {
  const count = rows.length - 1;
  const segments = [];
  for (let j = 0; j < count; j++) {
    for (let i = 0; i < count; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const values = corners.map(([column, row]) => rows[row][column] - level);
      const crossed = [];
      for (let k = 0; k < 4; k++) {
        const [from, to] = [values[k], values[(k + 1) % 4]];
        if (from > 0 === to > 0) continue;
        const share = from / (from - to);
        const [start, end] = [corners[k], corners[(k + 1) % 4]];
        crossed.push([0, 1].map((axis) => start[axis] + share * (end[axis] - start[axis])));
      }
      for (let k = 0; k + 1 < crossed.length; k += 2) segments.push([crossed[k], crossed[k + 1]]);
    }
  }
  const place = ([column, row]) => [x[0] + ((x[1] - x[0]) * column) / count, y[0] + ((y[1] - y[0]) * row) / count];
  return segments.map((segment) => segment.map(place));
}
