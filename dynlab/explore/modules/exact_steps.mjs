// R(ε A) of an integrator in integers: the exact Jacobian of its step at an equilibrium with the exact Jacobian A.

const one = (unit) => [unit, 0n, 0n, unit];
const product = ([a, b, c, d], [e, f, g, h]) => [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h];

/**
 * R of the matrix `z` of integers over `unit`, as a matrix of integers over a positive integer: [matrix, integer], or null
 * where R has a pole there. The method's R is a quotient of polynomials.
 */
export function exactStep({ numerator, denominator }, z, unit) {
  const [above, powerAbove] = homogeneous(numerator, z, unit);
  const [below, powerBelow] = homogeneous(denominator, z, unit);
  const [a, b, c, d] = below;
  const determinant = a * d - b * c;
  if (determinant === 0n) return null;
  // above/powerAbove · (below/powerBelow)⁻¹; the two commute
  const sign = determinant < 0n ? -1n : 1n;
  const found = product([d, -b, -c, a], above).map((entry) => sign * powerBelow * entry);
  return [found, sign * determinant * powerAbove];
}

/** Σ c_k z^k unit^{s − k}, and unit^s. */
function homogeneous(coefficients, z, unit) {
  let found = [0n, 0n, 0n, 0n];
  let power = 1n;
  for (let k = coefficients.length - 1; k >= 0; k--) {
    const lift = one(BigInt(coefficients[k]) * power);
    found = product(found, z).map((entry, i) => entry + lift[i]);
    if (k > 0) power *= unit;
  }
  return [found, power];
}
