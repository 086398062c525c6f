// The kinds of equilibria and fixed points: from eigenvalues and their errors, and exactly where a matrix is given by
// hand. The words, and what decides them, are those of dynlab.numerics.kinds and exact_kinds.

export const CENTER = "center";
const LINE = "line of equilibria";
const PLANE = "plane of equilibria";
const PERIOD_TWO_LINE = "line of period-2 points";
const PERIOD_TWO_PLANE = "plane of period-2 points";

export const kindOf = (name, stable, unstable = 0, undecided = 0) => ({ name, stable, unstable, undecided });

/** The kind of a flow's equilibrium, from [real, imaginary] of each eigenvalue and a bound on the error of each. */
export function flowKind(values, errors) {
  return kindFrom(values, errors, values.map(([real]) => real), false);
}

/** The kind of a map's fixed point, by its multipliers. */
export function mapKind(values, errors) {
  return kindFrom(values, errors, values.map(([real, imaginary]) => Math.hypot(real, imaginary) - 1), true);
}

/** `excess`: how far each eigenvalue lies beyond the border of stability, negative inside. */
function kindFrom(values, errors, excess, isMap) {
  const grows = excess.map((each, i) => each > errors[i]);
  const open = excess.map((each, i) => !grows[i] && !(each < -errors[i]));
  const unstable = grows.filter(Boolean).length;
  const undecided = open.filter(Boolean).length;
  if (![...excess, ...errors].every(Number.isFinite)) return kindOf("undecided, eigenvalues not finite", -1, unstable, values.length - unstable);
  if (undecided && !unstable) return kindOf("undecided, near " + border(values, errors, open, isMap), -1, unstable, undecided);
  const outside = undecided ? excess.map((each) => each > 0) : grows;
  const sides = [outside, outside.map((each) => !each)].filter((side) => side.some(Boolean));
  const parts = sides.map((side) => rotates(values, errors, excess, side));
  const least = Math.max(...excess.map((each, i) => each - errors[i]));
  const leads = excess.map((each, i) => each + errors[i] >= least);
  const flip = isMap && values.some(([real, imaginary], i) => leads[i] && imaginary === 0 && real < 0) ? "flip " : "";
  let name;
  if (sides.length === 1) {
    const noun = { 1: "focus", 0: "node", "-1": "improper node" }[parts[0]];
    name = `${unstable ? "unstable" : "stable"} ${flip}${noun}`;
  } else name = flip + (parts.includes(1) ? "saddle-focus" : "saddle");
  const near = undecided || (parts.includes(-1) && !parts.includes(1)) ? "undecided, near " : "";
  return kindOf(near + name, unstable ? 0 : 1, unstable, undecided);
}

/** Whether the leading eigenvalue of one side is complex: 1 yes, 0 no, −1 undecided. */
function rotates(values, errors, excess, side) {
  const first = Math.max(...excess.map((each, i) => (side[i] ? each - errors[i] : -Infinity)));
  const found = new Set(values.map((_, i) => i).filter((i) => side[i] && excess[i] + errors[i] >= first).map((i) => isComplex(values, errors, i)));
  return found.size === 1 ? [...found][0] : -1;
}

function isComplex(values, errors, i) {
  const [real, imaginary] = values[i];
  if (Math.abs(imaginary) > errors[i]) return 1;
  const apart = values.every((each, j) => j === i || Math.hypot(each[0] - real, each[1] - imaginary) > errors[i] + errors[j]);
  return imaginary === 0 && apart ? 0 : -1;
}

function border(values, errors, open, isMap) {
  if (values.some(([, imaginary], i) => open[i] && Math.abs(imaginary) > errors[i])) return CENTER;
  return isMap && values.some(([real], i) => open[i] && real < 0) ? PERIOD_TWO_LINE : LINE;
}

/** The decimal or fraction that a person wrote, as [numerator, denominator] of integers, or null. */
export function rational(text) {
  const found = /^\s*([+-]?)(?:(\d+)\/(\d+)|(\d*)\.?(\d*)(?:e([+-]?\d{1,3}))?)\s*$/i.exec(String(text));
  if (!found) return null;
  const sign = found[1] === "-" ? -1n : 1n;
  if (found[2] !== undefined) return found[3] && BigInt(found[3]) !== 0n ? [sign * BigInt(found[2]), BigInt(found[3])] : null;
  if (!found[4] && !found[5]) return null;
  const power = Number(found[6] ?? 0) - found[5].length;
  const digits = sign * BigInt(found[4] + found[5]);
  return power >= 0 ? [digits * 10n ** BigInt(power), 1n] : [digits, 10n ** BigInt(-power)];
}

/** Several rationals over one denominator: the integers, and that denominator. */
export function overOne(numbers) {
  const denominator = numbers.reduce((whole, [, below]) => whole * (below / divisor(whole, below)), 1n);
  return [numbers.map(([above, below]) => above * (denominator / below)), denominator];
}

function divisor(x, y) {
  while (y) [x, y] = [y, x % y];
  return x;
}

const sign = (integer) => (integer > 0n ? 1 : integer < 0n ? -1 : 0);

/** The kind of the origin of h' = A h, A given by integers [a, b, c, d]: a common positive factor changes nothing. */
export function exactFlowKind([a, b, c, d]) {
  const entries = [a, b, c, d];
  const spread = (a - d) ** 2n + 4n * b * c;
  if (spread < 0n) return a + d === 0n ? kindOf(CENTER, 1) : sameSide("focus", a + d > 0n);
  const [above, at] = counted(entries, 0n);
  if (at === 0) return above === 1 ? kindOf("saddle", 0, 1) : sameSide(nounOf(entries), above === 2);
  if (at === 2) return isScalar(entries) ? kindOf(PLANE, 1) : kindOf(LINE, 0);
  return kindOf(LINE, above ? 0 : 1, above);
}

/** The kind of the origin of h → J h, J given by integers over the positive integer `one`. */
export function exactMapKind([a, b, c, d], one) {
  const entries = [a, b, c, d];
  const [trace, determinant, spread] = [a + d, a * d - b * c, (a - d) ** 2n + 4n * b * c];
  if (spread < 0n) return determinant === one * one ? kindOf(CENTER, 1) : sameSide("focus", determinant > one * one);
  const flip = trace < 0n || (trace === 0n && determinant < 0n) ? "flip " : "";
  const [above, atOne] = counted(entries, one);
  const [overMinusOne, atMinusOne] = counted(entries, -one);
  const outside = above + 2 - overMinusOne - atMinusOne;
  if (atOne || atMinusOne) {
    if (atOne === 2 || atMinusOne === 2) {
      const [line, plane] = atOne ? [LINE, PLANE] : [PERIOD_TWO_LINE, PERIOD_TWO_PLANE];
      return isScalar(entries) ? kindOf(plane, 1) : kindOf(line, 0);
    }
    if (atOne && atMinusOne) return kindOf("flip " + LINE, 1);
    return kindOf(atOne ? LINE : PERIOD_TWO_LINE, outside ? 0 : 1, outside);
  }
  return outside === 1 ? kindOf(flip + "saddle", 0, 1) : sameSide(flip + nounOf(entries), outside === 2);
}

const sameSide = (noun, grows) => (grows ? kindOf(`unstable ${noun}`, 0, 2) : kindOf(`stable ${noun}`, 1));
const isScalar = ([a, b, c, d]) => a === d && b === 0n && c === 0n;

function nounOf(entries) {
  const [a, b, c, d] = entries;
  if ((a - d) ** 2n + 4n * b * c > 0n) return "node";
  return isScalar(entries) ? "star" : "improper node";
}

/** How many real eigenvalues are greater than `bound`, and how many equal it. */
function counted([a, b, c, d], bound) {
  const trace = a + d;
  const at = bound * bound - trace * bound + a * d - b * c;
  if (at !== 0n) return at < 0n ? [1, 0] : [trace > 2n * bound ? 2 : 0, 0];
  const side = sign(trace - 2n * bound);
  return [side > 0 ? 1 : 0, side === 0 ? 2 : 1];
}

/** What is known of a nonlinear system whose linear part has this kind, on the border of stability. */
export function onlyLinear(kind) {
  return kindOf(`linear ${kind.name}, undecided`, kind.unstable ? 0 : -1, kind.unstable, 2 - kind.unstable);
}
