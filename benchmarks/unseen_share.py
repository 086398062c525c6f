"""How often the bound on the share of random starts that would end at an unlisted fixed point holds.

    python benchmarks/unseen_share.py [NETWORKS]

The fixed points of each network are known from elsewhere. A search from few starts lists some of them; the share that
its bound is about is then measured from further starts, and a start counts where it ends at a known point. 200, the
default, take some minutes.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq
from torch import Tensor, nn

from dynlab import from_module
from dynlab.diagnostics.fixed_points.layers import search
from dynlab.diagnostics.fixed_points.starting_states import bounded, orbits, random_starts, reach_of
from dynlab.systems import Map, from_function
from dynlab.systems.autonomous import Held

STARTS = (4, 8, 16)  # of each round of the search: few, so that lists stay incomplete
DRAWS = 500  # further starts, from which the share is measured
SAME = 1e-6  # within which an end is at a point
GRID = 400_000  # an even number of points, so that 0 is none of them

Real = NDArray[np.float64]


class Known(NamedTuple):
    """A map without input, and the distance of states (k, n) to the nearest of its fixed points."""

    system: Map
    distance: Callable[[Real], Real]


def uncoupled(generator: np.random.Generator) -> Known:
    """tanh units that do not see each other: every combination of their own fixed points is one."""
    n = int(generator.integers(2, 5))
    weights, biases = generator.uniform(1.2, 4, n), generator.uniform(-0.3, 0.3, n)
    layer = nn.RNN(1, n).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.zero_()
        layer.weight_hh_l0.copy_(torch.diag(torch.from_numpy(weights)))
        layer.bias_hh_l0.copy_(torch.from_numpy(biases))
    roots = [_roots_of_unit(w, b) for w, b in zip(weights, biases, strict=True)]

    def distance(states: Real) -> Real:
        away = [np.abs(states[:, i, None] - own).min(axis=1) for i, own in enumerate(roots)]
        return np.max(away, axis=0)

    return Known(from_module(layer), distance)


def _roots_of_unit(w: float, b: float) -> Real:
    """Of tanh(w h + b) = h, between the two turning points of the difference and beyond them."""
    turn = np.arctanh(np.sqrt(1 - 1 / w))
    return _roots(lambda h: np.tanh(w * h + b) - h, np.array([-1.0, (-turn - b) / w, (turn - b) / w, 1.0]))


def _roots(function: Callable[[Real], Real], grid: Real) -> Real:
    """Of a function of a number, one between every two neighbours on a grid where its sign differs."""
    value = function(grid)
    changes = np.flatnonzero(np.sign(value[:-1]) != np.sign(value[1:]))
    return np.array(
        [brentq(lambda h: function(np.array([h])).item(), grid[i], grid[i + 1], xtol=1e-14) for i in changes]
    )


def lattice(generator: np.random.Generator) -> Known:
    """h + a sin(ω h): the fixed points are at the multiples of π/ω, without end."""
    omega = generator.uniform(5, 60)
    size = generator.uniform(0.3, 1.5) / omega

    def distance(states: Real) -> Real:
        turns = states[:, 0] * omega / np.pi
        return np.asarray(np.abs(turns - np.rint(turns)) * np.pi / omega)

    return Known(from_function(lambda h, x: h + size * torch.sin(omega * h), state_size=1), distance)


def narrow(generator: np.random.Generator) -> Known:
    """h − 0.1 tanh h + Σ 0.3 m exp(−((h − m)/s)²): 0 and two points at each peak, reached from few starts."""
    peaks = generator.uniform(0.3, 1.3, (int(generator.integers(1, 7)), 1)) * generator.choice([-1, 1])
    widths = 10 ** generator.uniform(-2.5, -1, peaks.shape)

    def change(h: Real) -> Real:
        return np.asarray(-0.1 * np.tanh(h) + (0.3 * peaks * np.exp(-(((h - peaks) / widths) ** 2))).sum(axis=0))

    def step(h: Tensor, x: Tensor) -> Tensor:
        m, s = torch.from_numpy(peaks[:, 0]), torch.from_numpy(widths[:, 0])
        return h - 0.1 * torch.tanh(h) + (0.3 * m * torch.exp(-(((h - m) / s) ** 2))).sum(dim=-1, keepdim=True)

    roots = _roots(change, np.linspace(-4, 4, GRID))
    return Known(from_function(step, state_size=1), lambda states: np.abs(states - roots).min(axis=1))


def trial(known: Known, starts: int, seed: int) -> tuple[float, float, int]:
    """The bound, the share that it is about, and how many points are listed."""
    held = Held(known.system, torch.zeros(known.system.input_size, dtype=torch.float64), -1)
    found = search(held, count=starts, seed=seed)
    listed = np.array([place.state for place in found.points if place.status == "fixed point"])
    if found.confidence is None or (known.distance(listed) >= SAME).any():
        raise ArithmeticError(f"what is listed are no fixed points: {listed}")
    generator = np.random.default_rng(seed)  # as the search began, so that the box is the same
    reach = reach_of(held, bounded(orbits(held, generator)))
    drawn = random_starts(held, DRAWS, reach, np.random.default_rng(seed + 10**6))
    further = search(held, given=drawn)
    ends = further.ends[further.assignment >= 0]
    ends = ends[known.distance(ends) < SAME]
    away = np.abs(ends[:, None] - listed).max(axis=-1).min(axis=1)
    return found.confidence.bound, float((away > SAME).sum() / DRAWS), len(listed)


def main(count: int) -> None:
    """Print a row for each kind of network and number of starts."""
    print(f"{'networks':10} {'starts':>6} {'number':>6}  {'points listed':>13}  {'share outside':>13}  bound   holds")
    covered = []
    kinds = [(kind, starts) for kind in (uncoupled, lattice, narrow) for starts in STARTS]
    for place, (kind, starts) in enumerate(kinds):
        generator = np.random.default_rng(place)
        rows = [trial(kind(generator), starts, seed) for seed in range(place, count, len(kinds))]
        bounds, shares, listed = map(np.array, zip(*rows, strict=True))
        holds = shares <= bounds
        covered.extend(holds)
        print(
            f"{kind.__name__:10} {starts:6} {len(rows):6}  {np.median(listed):13g}  {np.mean(shares):13.2%}  "
            f"{np.median(bounds):6.1%}  {holds.mean():.1%}",
            flush=True,
        )
    print(f"The bound holds in {np.mean(covered):.1%} of {len(covered)} networks.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
