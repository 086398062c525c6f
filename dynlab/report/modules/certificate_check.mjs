// What a certificate shows, checked in exact integers as dynlab/certificate_check.py does, which says it step by step.
// It believes nothing that the certificate says, and shares no code with what made it.

import { taken } from "./document.mjs";
import { Arithmetic, diagonal, modulus, size, sum } from "./intervals.mjs";
import { Rejected } from "./rejected.mjs";
import { evaluate } from "./step_over_box.mjs";

const most = (values) => values.reduce((a, b) => (a > b ? a : b));

/** The sentence of what is shown, of a document as `strict_json.parsed` gives it.
 *
 * Throws Rejected where something does not hold; Malformed, where it is no certificate at all. */
export function check(document) {
  const certificate = taken(document);
  const arithmetic = new Arithmetic(certificate.bits);
  const { center, radius } = checkBall(arithmetic, certificate.program, certificate.ball);
  const tight = checkBall(arithmetic, certificate.program, certificate.tight);
  if (most(center.map((each, i) => size(each - tight.center[i]))) + tight.radius > radius) throw new Rejected("the two balls are not one within the other");
  const [outside, inside] = checkEigenvalues(arithmetic, tight.jacobian, certificate);
  const n = certificate.size;
  if (certificate.claims[0] !== outside || certificate.claims[1] !== inside || certificate.claims[2] !== n - outside - inside) {
    throw new Rejected(`${outside} eigenvalues are shown to be outside the unit circle, ${inside} inside and ${n - outside - inside} on neither side, which is not what is claimed`);
  }
  const within = certificate.program.some(({ radius }) => radius.mantissa);
  const more = within ? " So has each step whose numbers are within the radii that are written beside them." : "";
  const kind = outside ? "unstable" : inside === n ? "stable" : "of undecided stability";
  return (
    `Correct: the step that is written in this file, with the digest ${certificate.digest}, has exactly one fixed point in the given ball, ` +
    `whose radius is at most ${roundedUp(radius, arithmetic.one)}. It is ${kind}: ${outside} of ${n} directions grow and ${inside} decay.${more}`
  );
}

/** Krawczyk's test; the Jacobian over the ball, its centre and its radius. */
function checkBall(arithmetic, program, ball) {
  const center = ball.center.map((number) => arithmetic.exactly(number));
  const radius = arithmetic.exactly(ball.radius);
  const inverse = arithmetic.matrix(ball.inverse);
  const { values } = evaluate(arithmetic, program, center.map((m) => [m, 0n]), false);
  const moved = { mids: values.map(([m], i) => [m - center[i]]), rads: values.map(([, r]) => [r]) };
  const correction = most(arithmetic.rowSums(arithmetic.product(inverse, moved)));
  const { jacobian } = evaluate(arithmetic, program, center.map((m) => [m, radius]));
  const identity = diagonal(center.length, arithmetic.one);
  const defect = sum(identity, arithmetic.product(inverse, sum(jacobian, identity, -1)), -1);
  const contraction = most(arithmetic.rowSums(defect));
  if (!((correction << arithmetic.bits) + contraction * radius < radius << arithmetic.bits)) {
    throw new Rejected("Krawczyk's test fails: the ball is not shown to hold exactly one fixed point");
  }
  return { jacobian, center, radius };
}

/** Gershgorin's discs of V⁻¹ J V, each within its claimed one; how many are outside and inside the unit circle. */
function checkEigenvalues(arithmetic, jacobian, certificate) {
  const [vr, vi] = certificate.vectors.map((rows) => arithmetic.matrix(rows));
  const [yr, yi] = certificate.inverse.map((rows) => arithmetic.matrix(rows));
  const product = (a, b) => arithmetic.product(a, b);
  const complexProduct = (ar, ai, br, bi) => [sum(product(ar, br), product(ai, bi), -1), sum(product(ar, bi), product(ai, br))];
  const largestSum = (real, imag) => {
    const sums = arithmetic.rowSums(imag);
    return most(arithmetic.rowSums(real).map((each, i) => each + sums[i]));
  };
  const [real, imag] = complexProduct(yr, yi, vr, vi);
  const rho = largestSum(sum(diagonal(certificate.size, arithmetic.one), real, -1), imag);
  if (rho >= arithmetic.one) throw new Rejected("the inverse of the eigenvectors is not one");
  const [br, bi] = complexProduct(yr, yi, product(jacobian, vr), product(jacobian, vi));
  const rest = (rho * largestSum(br, bi)) / (arithmetic.one - rho) + 1n;
  const discs = certificate.discs.map((claimed, i) => {
    let reach = rest;
    br.mids[i].forEach((middle, j) => {
      reach += modulus(br.rads[i][j], bi.rads[i][j]) + (i === j ? 0n : modulus(middle, bi.mids[i][j]));
    });
    const disc = [br.mids[i][i], bi.mids[i][i], reach];
    const place = claimed.map((number) => arithmetic.read(number));
    const apart = modulus(disc[0] - place[0][0], disc[1] - place[1][0]) + place[0][1] + place[1][1];
    if (apart + disc[2] > place[2][0] - place[2][1]) throw new Rejected(`eigenvalue ${i} is not shown to lie in its disc`);
    return disc;
  });
  return counted(discs, arithmetic.one);
}

/** How many discs are outside and inside the unit circle; connected ones are counted together. */
function counted(discs, one) {
  const number = discs.map((_, i) => i);
  discs.forEach(([xi, yi, ri], i) => {
    discs.slice(0, i).forEach(([xj, yj, rj], j) => {
      if (number[i] === number[j] || (xi - xj) ** 2n + (yi - yj) ** 2n > (ri + rj) ** 2n) return;
      const [kept, gone] = [number[i], number[j]];
      number.forEach((each, k) => (number[k] = each === gone ? kept : each));
    });
  });
  let [outside, inside] = [0, 0];
  for (const name of new Set(number)) {
    const members = discs.filter((_, k) => number[k] === name);
    if (members.every(([x, y, r]) => x * x + y * y > (one + r) ** 2n)) outside += members.length;
    if (members.every(([x, y, r]) => r < one && x * x + y * y < (one - r) ** 2n)) inside += members.length;
  }
  return [outside, inside];
}

/** part/one to two digits, rounded up: "1.9e-15". */
export function roundedUp(part, one) {
  let exponent = 0;
  const scaled = (by) => (by >= 0 ? [part * 10n ** BigInt(by), one] : [part, one * 10n ** BigInt(-by)]);
  const above = (by, limit) => scaled(by)[0] >= limit * scaled(by)[1];
  while (above(-exponent, 10n)) exponent += 1;
  while (!above(-exponent, 1n)) exponent -= 1;
  const [top, bottom] = scaled(1 - exponent);
  let digits = (top + bottom - 1n) / bottom;
  if (digits === 100n) [digits, exponent] = [10n, exponent + 1];
  return `${digits / 10n}.${digits % 10n}e${exponent < 0 ? "-" : "+"}${Math.abs(exponent)}`;
}
