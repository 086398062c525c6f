"""How often the sign of a Lyapunov exponent is given, and given wrongly, where the exponents are known from elsewhere.

    python benchmarks/exponent_coverage.py [ORBITS]

A hundred orbits of each system, the default, take some five minutes.
"""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab import lyapunov, schema
from dynlab.matrices import planar_matrix
from dynlab.systems import Euler, Map, System, create
from dynlab.systems.planar import planar_system

NATS = 20.0  # a sign is asked for where abs(exponent) times the time averaged over is at least this
GOLDEN = (math.sqrt(5) - 1) / 2

Real = NDArray[np.float64]
Rows = Callable[[Tensor], list[Tensor]]


class Plain(Map):
    """A map of some coordinates, written out as a function of them and of what drives it."""

    def __init__(self, size: int, function: Callable[..., list[Tensor]], inputs: int = 0) -> None:
        super().__init__(size, inputs)
        self.function = function

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return torch.stack(self.function(*state.unbind(dim=-1), *input.unbind(dim=-1)), dim=-1)


class Matrices(Map):
    """h ← M h, or tanh(M h), with the entries of M given as the input, so that every orbit has a matrix of its own."""

    def __init__(self, size: int, saturates: bool = False) -> None:
        super().__init__(size, size * size)
        self.saturates = saturates

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        image = (input.unflatten(-1, (self.state_size, -1)) @ state.unsqueeze(-1)).squeeze(-1)
        return torch.tanh(image) if self.saturates else image


@dataclass(frozen=True)
class Case:
    """A system, its exponents (mode,) or (orbit, mode), NaN where one is not known, and how to measure them."""

    name: str
    system: System
    truth: Any
    tolerance: float = 1e-9  # to which the truth itself is known
    measure: dict[str, Any] = field(default_factory=dict)


def linear(name: str, matrices: Real, steps: int = 1000, starts: Any = None, saturates: bool = False) -> Case:
    """Constant matrices (orbit, n, n), whose exponents are the logarithms of the moduli of their eigenvalues."""
    count, n, _ = matrices.shape
    moduli = np.sort(np.abs(np.linalg.eigvals(matrices)), axis=1)[:, ::-1]
    inputs = np.broadcast_to(matrices.reshape(count, 1, n * n), (count, steps, n * n))
    start = np.zeros((count, n)) if starts is None else starts
    return Case(name, Matrices(n, saturates), np.log(moduli), measure={"inputs": inputs, "initial_state": start})


def conjugated(generator: np.random.Generator, count: int, matrix: Any) -> Real:
    """S M S⁻¹ with a random S for each orbit."""
    n = len(matrix)
    basis = generator.standard_normal((count, n, n))
    return np.asarray(basis @ np.asarray(matrix, dtype=float) @ np.linalg.inv(basis))


def linear_cases(count: int, generator: np.random.Generator) -> Iterator[Case]:
    """Matrices, defective and orthogonal ones among them, and tanh networks that a fixed point attracts."""

    def known(case: Case, truth: Any) -> Case:
        """With the exponents as they were chosen: eigenvalues of a defective matrix are not computed to all digits."""
        return Case(case.name, case.system, truth, measure=case.measure)

    normal = generator.standard_normal
    yield linear("random matrix, 4 × 4", normal((count, 4, 4)) / 2)
    yield linear("slow saddle, 1.01 and 0.99", conjugated(generator, count, np.diag([1.01, 0.99])), steps=4000)
    orthogonal = linear("orthogonal matrix, 5 × 5", np.linalg.qr(normal((count, 5, 5)))[0])
    yield known(orthogonal, np.zeros(5))
    shears = np.array([[1.0, 1.0], [0.0, 1.0]])
    yield known(linear("shear", conjugated(generator, count, shears), steps=2000), np.zeros(2))
    block = np.eye(3) + np.eye(3, k=1)
    yield known(linear("Jordan block at 1, 3 × 3", conjugated(generator, count, block), steps=2000), np.zeros(3))
    defective = np.array([[0.97, 1.0], [0.0, 0.97]])
    case = linear("Jordan block at 0.97", conjugated(generator, count, defective), steps=2000)
    yield known(case, np.full(2, math.log(0.97)))
    weights = normal((count, 5, 5))
    weights *= 0.9 / np.abs(np.linalg.eigvals(weights)).max(axis=1)[:, None, None]
    yield linear("tanh network of gain 0.9", weights, starts=normal((count, 5)), saturates=True)
    turns = np.linalg.qr(normal((count, 3, 3)))[0]
    case = linear("tanh of a rotation, at the edge", turns, steps=4000, starts=normal((count, 3)), saturates=True)
    yield known(case, np.zeros(3))


def map_cases(count: int, generator: np.random.Generator) -> Iterator[Case]:
    """Maps with exact exponents, or published ones."""
    uniform, normal = generator.uniform, generator.standard_normal

    def case(
        name: str, system: System, truth: list[float], starts: Real, steps: int = 2000, tolerance: float = 1e-9
    ) -> Case:
        return Case(name, system, truth, tolerance, {"steps": steps, "initial_state": starts})

    inside, circle = uniform(0.05, 0.95, (count, 1)), uniform(0, 1, (count, 2))
    for r, words, exponent in (
        (4.0, "chaos", math.log(2)),
        (3.2, "period 2", math.log(0.16) / 2),
        (3.0, "doubling", 0.0),
        (1.0, "transcritical", 0.0),
    ):
        yield case(f"logistic, r = {r:g}, {words}", create("logistic", r=r), [exponent], inside)
    cubic = Plain(1, lambda x: [4 * x**3 - 3 * x])
    yield case("Chebyshev's cubic", cubic, [math.log(3)], 2 * inside - 1)
    yield case("tanh(h)", Plain(1, lambda x: [torch.tanh(x)]), [0.0], normal((count, 1)))
    yield case("tripling", Plain(1, lambda x: [(3 * x) % 1]), [math.log(3)], inside)
    henon = [0.41922, math.log(0.3) - 0.41922]
    yield case("Hénon", create("henon"), henon, uniform(0, 0.1, (count, 2)), 4000, tolerance=1e-4)
    cat = math.log((3 + math.sqrt(5)) / 2)
    yield case("cat map", Plain(2, lambda x, y: [(2 * x + y) % 1, (x + y) % 1]), [cat, -cat], circle)
    for mean in (0.05, -0.05, 0.0):
        skew = Plain(
            3,
            lambda x, y, z, a=mean: [
                (2 * x + y) % 1,
                (x + y) % 1,
                z * torch.exp(a + 0.3 * torch.cos(2 * torch.pi * x)),
            ],
        )
        starts = np.column_stack([circle, np.zeros(count)])
        yield case(f"skew product over it, {mean:g}", skew, [cat, mean, -cat], starts)
    turned = Plain(
        2,
        lambda x, z: [(x + GOLDEN) % 1, z * torch.exp(-0.02 + torch.cos(2 * torch.pi * x))],
    )
    yield case("skew product over a rotation", turned, [0.0, -0.02], np.column_stack([circle[:, 0], np.zeros(count)]))
    kicked = Plain(2, lambda x, p: [x + p + 0.3 * torch.sin(x), p + 0.3 * torch.sin(x)])
    yield case("standard map, K = 0.3", kicked, [0.0, 0.0], 2 * np.pi * circle)
    angle = math.cos(1.0), math.sin(1.0)

    def hopf(x: Tensor, y: Tensor) -> list[Tensor]:
        size = 1 - (x * x + y * y)
        return [size * (angle[0] * x - angle[1] * y), size * (angle[1] * x + angle[0] * y)]

    yield case("Neimark–Sacker point", Plain(2, hopf), [0.0, 0.0], 0.4 * normal((count, 2)).clip(-1, 1))
    euler = Euler(planar_system(planar_matrix("diff"), "flow"), 0.05)
    modulus = math.hypot(1 - 0.05 * 0.15, 0.05 * 2)
    yield case("W_diff, Euler, ε = 0.05", euler, [math.log(modulus)] * 2, normal((count, 2)), 10000)
    for mean in (-0.1, 0.0):
        odds = np.where(generator.random((count, 2000, 1)) < 0.5, 0.7, -0.7) + mean
        multiplied = Plain(1, lambda h, x: [h * torch.exp(x)], inputs=1)
        measure = {"inputs": odds, "initial_state": np.zeros(1)}
        yield Case(f"random factors, mean ln {mean:g}", multiplied, [mean], measure=measure)


def flow_cases(count: int, generator: np.random.Generator) -> Iterator[Case]:
    """Flows with exact exponents, or published ones."""
    normal = generator.standard_normal

    def case(name: str, system: System, truth: list[float], starts: Real, seconds: float, tolerance: float = 1e-9):
        return Case(name, system, truth, tolerance, {"seconds": seconds, "initial_state": starts})

    plane = normal((count, 2))
    yield case("center", create("linear", matrix=[[0.0, -4.0], [1.0, 0.0]]), [0.0, 0.0], plane, 200)
    yield case("flow of W₀, tanh", planar_system(planar_matrix("zero"), "flow"), [0.0, 0.0], plane, 200)
    yield case("flow of W_diff, tanh", planar_system(planar_matrix("diff"), "flow"), [-0.15, -0.15], plane, 200)
    from dynlab.systems.vanilla import FeedbackFlow

    turning = FeedbackFlow(0, 3, bias=False).double()
    with torch.no_grad():
        turning.W.copy_(torch.tensor([[0, -1.0, 0.5], [1.0, 0, -0.7], [-0.5, 0.7, 0]]))
    yield case("antisymmetric flow, 3 units", turning, [0.0] * 3, normal((count, 3)), 200)
    lorenz = [0.9056, 0.0, -14.5723]
    yield case("Lorenz", create("lorenz"), lorenz, generator.normal([1, 1, 20], size=(count, 3)), 60, tolerance=1e-3)
    roessler = [0.0714, 0.0, -5.3943]
    yield case("Rössler", create("roessler"), roessler, normal((count, 3)), 250, tolerance=1e-3)


def cases(count: int, seed: int = 0) -> Iterator[Case]:
    """All systems, each for `count` orbits."""
    generator = np.random.default_rng(seed)
    yield from linear_cases(count, generator)
    yield from map_cases(count, generator)
    yield from flow_cases(count, generator)


@dataclass(frozen=True)
class Row:
    """What becomes of a system's orbits: shares of them, NaN where no sign is asked for.

    `wrong` have a sign that an exponent of theirs does not have; `given` of the signs asked for are given; `covered` of
    the exponents lie within their stated errors.
    """

    name: str
    length: float
    wrong: float
    given: float
    covered: float


def row(case: Case) -> Row:
    """Measure a case."""
    ds = lyapunov(case.system, **case.measure)
    name = "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"
    found, error = ds[name].values, ds["exponent_error"].values
    truth = np.broadcast_to(np.asarray(case.truth, dtype=float), found.shape)
    length = float(ds["time"][-1]) - schema.settings(ds)["transient"]
    sign = np.where(np.abs(found) > error, np.sign(found), 0)
    true_sign = np.where(np.abs(truth) > case.tolerance, np.sign(truth), 0)
    asked = np.abs(truth) * length >= NATS
    return Row(
        case.name,
        length,
        float(((sign != 0) & (sign != true_sign)).any(axis=1).mean()),
        float((sign != 0)[asked].mean()) if asked.any() else math.nan,
        float((np.abs(found - truth) <= error + case.tolerance).mean()),
    )


def main(count: int) -> None:
    """Print a row for each system."""
    print(f"{'system':34} {'length':>7}  {'wrong sign':>10}  {'sign given':>10}  {'within error':>12}")
    for case in cases(count):
        found = row(case)
        given = "none asked" if math.isnan(found.given) else f"{found.given:.1%}"
        print(f"{found.name:34} {found.length:7g}  {found.wrong:10.1%}  {given:>10}  {found.covered:12.1%}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
