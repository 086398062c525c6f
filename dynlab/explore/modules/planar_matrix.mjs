// Real 2 × 2 matrices [a, b, c, d], row by row: eigenvalues with a bound on their error, eigenvectors, norms.

const UNIT = 2 ** -53; // of rounding
const SPLITTER = 2 ** 27 + 1; // Veltkamp's, which halves a double's digits
const ROUNDINGS = 8; // of a sum, a square root and a quotient, in units of ‖A‖

/** The sum of two numbers and its rounding error, exactly. */
function exactSum(x, y) {
  const sum = x + y;
  const part = sum - x;
  return [sum, x - (sum - part) + (y - part)];
}

/** The product of two numbers and its rounding error, exactly. */
function exactProduct(x, y) {
  const product = x * y;
  const upperX = SPLITTER * x - (SPLITTER * x - x);
  const upperY = SPLITTER * y - (SPLITTER * y - y);
  const [lowerX, lowerY] = [x - upperX, y - upperY];
  return [product, lowerX * lowerY - (product - upperX * upperY - lowerX * upperY - upperX * lowerY)];
}

/** (a − d)² + 4 b c, with about twice the digits of a double on the way: near a defective matrix it cancels. */
export function discriminant([a, b, c, d]) {
  const [difference, lost] = exactSum(a, -d);
  const [square, squareLost] = exactProduct(difference, difference);
  const [product, productLost] = exactProduct(4 * b, c);
  const [sum, sumLost] = exactSum(square, product);
  return sum + (sumLost + squareLost + productLost + 2 * difference * lost);
}

/**
 * Both eigenvalues as [real, imaginary], of decreasing modulus, then decreasing real part, + of a pair first.
 * `wrong` bounds what the matrix is wrong by in the 2-norm; `errors` bound what each eigenvalue is wrong by.
 */
export function eigenvalues(matrix, wrong = 0) {
  const [a, b, c, d] = matrix;
  const size = norm(matrix);
  if (!Number.isFinite(size)) return { values: [[NaN, 0], [NaN, 0]], errors: [Infinity, Infinity] };
  const scale = size > 0 ? 2 ** Math.floor(Math.log2(size)) : 1; // a power of 2: no digit changes
  const inside = matrix.map((entry) => entry / scale);
  const half = (inside[0] + inside[3]) / 2;
  const spread = discriminant(inside) / 4;
  const root = Math.sqrt(Math.abs(spread));
  let values;
  if (spread < 0) values = [[half, root], [half, -root]];
  else {
    const larger = half + (half < 0 ? -root : root);
    const other = half - (half < 0 ? -root : root);
    // the smaller one of a product is lost in a difference: the determinant over the larger
    const [first, firstLost] = exactProduct(inside[0], inside[3]);
    const [second, secondLost] = exactProduct(inside[1], inside[2]);
    const determinant = first - second + (firstLost - secondLost);
    values = [[larger, 0], [larger === 0 ? 0 : Math.abs(other) < Math.abs(larger) / 2 ? determinant / larger : other, 0]];
  }
  values = values.map(([real, imaginary]) => [real * scale, imaginary * scale]);
  const moved = 2 * size * wrong + wrong * wrong; // what the discriminant's quarter may change by
  const bent = moved === 0 ? 0 : Math.min(Math.sqrt(moved), moved / (root * scale));
  const error = wrong + bent + ROUNDINGS * UNIT * size;
  return { values: sorted(values), errors: [error, error] };
}

/** Real eigenvalues by decreasing modulus, then by decreasing real part; a pair as it is. */
export function sorted(values) {
  const [[first, imaginary], [second]] = values;
  if (imaginary !== 0) return values;
  const [large, small] = [Math.abs(first), Math.abs(second)];
  const tied = Math.abs(large - small) <= 1e-10 * Math.max(large, small); // rounding decides no order
  const kept = tied ? first >= second : large > small;
  return kept ? values : [values[1], values[0]];
}

/** A vector of length 1 that (A − λ I) maps to 0, of a real eigenvalue λ. */
export function eigenvector([a, b, c, d], value) {
  const rows = [[a - value, b], [c, d - value]];
  const row = Math.hypot(...rows[0]) >= Math.hypot(...rows[1]) ? rows[0] : rows[1];
  const length = Math.hypot(...row);
  return length === 0 ? [1, 0] : [-row[1] / length, row[0] / length];
}

/** The 2-norm of a matrix. */
export function norm([a, b, c, d]) {
  return (length([a + d, c - b]) + length([a - d, b + c])) / 2;
}

/** The length of a vector in the plane: Math.hypot is many times slower, and needed only for the extremes. */
export function length([x, y]) {
  const sum = x * x + y * y;
  return sum > 1e-280 && sum < 1e280 ? Math.sqrt(sum) : Math.hypot(x, y);
}

export function product([a, b, c, d], [e, f, g, h]) {
  return [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h];
}

/** I + ε A. */
export function eulerMatrix([a, b, c, d], step) {
  return [1 + step * a, step * b, step * c, 1 + step * d];
}

/** The inverse of A, or null where A is singular. */
export function inverse([a, b, c, d]) {
  const determinant = a * d - b * c;
  return determinant === 0 ? null : [d / determinant, -b / determinant, -c / determinant, a / determinant];
}

/** The solution of A x = y, or null where A is singular. */
export function solve2([a, b, c, d], [x, y]) {
  const determinant = a * d - b * c;
  return determinant === 0 ? null : [(d * x - b * y) / determinant, (a * y - c * x) / determinant];
}
