"""How many matrices with an eigenvalue of modulus about 1 ± 1e-9 are decided, with and without a proof, and wrongly.

    python benchmarks/near_the_circle.py [COUNT]

1,000 take some three minutes. The truth is Arb's rigorous enclosure of the matrix as stored.
"""

import sys
from collections import Counter

import numpy as np
from flint import acb, acb_mat, ctx
from numpy.typing import NDArray

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems.textbook import LinearMap

SEED = 2026
CLASSES = (0.0, 1e2, 1e3, 1e4, 1e6, np.inf)  # of the eigenvalue's condition
WAYS = ("float64", "proof")
BITS = (400, 1200)

Matrix = NDArray[np.float64]


def built(generator: np.random.Generator, large: bool) -> Matrix:
    """S B S⁻¹ with B triangular, one eigenvalue or a pair of it within 2e-9 of the unit circle."""
    n = int(generator.choice([24, 40, 64]) if large else generator.integers(2, 13))
    modulus = 1 + generator.choice([-1e-9, 1e-9]) * generator.uniform(0.5, 2)
    blocks = np.triu(generator.standard_normal((n, n)), 1) * generator.choice([0, 1, 10])
    blocks += np.diag(generator.uniform(-1.5, 1.5, n))
    kind = generator.integers(3)
    if kind < 2:
        blocks[0, 0] = modulus if kind == 0 else -modulus
    else:
        angle = generator.uniform(0.05, 3.1)
        c, s = np.cos(angle), np.sin(angle)
        blocks[:2, :2] = modulus * np.array([[c, -s], [s, c]])
    basis = generator.standard_normal((n, n))
    if generator.random() < 0.5:
        skew = np.diag(10 ** generator.uniform(0, generator.choice([1, 2, 3, 5]), n))
        first, second = (np.linalg.qr(generator.standard_normal((n, n)))[0] for _ in range(2))
        basis = first @ skew @ second
    return np.asarray(basis @ blocks @ np.linalg.inv(basis))


def truth(matrix: Matrix) -> tuple[int, int]:
    """How many eigenvalues lie outside and inside the unit circle."""
    n = len(matrix)
    for bits in BITS:
        with ctx.workprec(bits):
            entries = [acb(float(entry)) for entry in matrix.ravel()]
            moduli = [abs(each) for each in acb_mat(n, n, entries).eig(multiple=True, algorithm="rump")]
            counts = sum(bool(m > 1) for m in moduli), sum(bool(m < 1) for m in moduli)
        if sum(counts) == n:
            return counts
    raise ArithmeticError("Arb does not tell an eigenvalue from the unit circle")


def condition(matrix: Matrix) -> float:
    """Of the eigenvalue whose modulus is nearest to 1."""
    values, right = np.linalg.eig(matrix)
    conditions = np.linalg.norm(np.linalg.inv(right), axis=1) * np.linalg.norm(right, axis=0)
    return float(conditions[np.argmin(np.abs(np.abs(values) - 1))])


def outcomes(matrix: Matrix) -> tuple[str, ...]:
    """Decided, undecided or wrong, in each of `WAYS`."""
    outside, inside = truth(matrix)
    n = len(matrix)
    ds = fixed_points(LinearMap(matrix.tolist()), starts=1, certify=True).isel(fixed_point=0)
    grows = int(ds["unstable_directions"])
    counts = (
        (grows, n - grows - int(ds["undecided_directions"])),
        (int(ds["proved_unstable_directions"]), int(ds["proved_stable_directions"])),
    )
    return tuple(
        "wrong" if grows > outside or decays > inside else "decided" if grows + decays == n else "undecided"
        for grows, decays in counts
    )


def main(count: int) -> None:
    """Print a row for each class of condition."""
    generator = np.random.default_rng(SEED)
    found: list[Counter[str]] = [Counter() for _ in CLASSES[1:]]
    for number in range(count):
        matrix = built(generator, large=number >= 0.95 * count)
        row = found[int(np.searchsorted(CLASSES, condition(matrix), side="right")) - 1]
        row["matrices"] += 1
        row.update(f"{way} {outcome}" for way, outcome in zip(WAYS, outcomes(matrix), strict=True))
    print("condition       matrices  " + "  ".join(f"{way:>12}" for way in WAYS) + "  wrong")
    for low, high, row in zip(CLASSES, CLASSES[1:], found, strict=False):
        decided = "  ".join(f"{row[f'{way} decided']:>12}" for way in WAYS)
        wrong = sum(row[f"{way} wrong"] for way in WAYS)
        print(f"{low:>5.0e}–{high:<7.0e}  {row['matrices']:>8}  {decided}  {wrong:>5}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
