"""How the main jobs' times grow with the state, the steps, the batch and the starts, as curves with fitted exponents.

    python benchmarks/scaling.py [WORD ...] [--largest N]

The curves whose name has one of the words, or all of them, with sizes up to N where it is given. Each point is run in a
process of its own, once, and a curve ends before a point that would take longer than half a minute. The exponent is the
slope of ln time over ln size from the third largest point on: below, what a call costs by itself hides it. Written to
benchmarks/results/scaling.md and scaling.png.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from table import machine

RESULTS = Path(__file__).with_name("results")
COLUMNS = 2  # of panels
MOST = 30.0  # seconds of one point
FITTED = 3  # points that the exponent is fitted to
SIZES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
LENGTHS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
BATCHES = (1, 4, 16, 64, 256)
STARTS = (16, 64, 256, 1024, 4096)
GRIDS = (32, 100, 316, 1000)


def _tanh(n: int):
    from exponents import tanh_network

    return tanh_network(n)


def _noise(samples: int, steps: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((samples, steps, 1))


def spectrum(n: int) -> None:
    from dynlab import spectrum

    spectrum(_tanh(n), _noise(1, 4), times=4)


def gradient_of_size(n: int) -> None:
    from dynlab import gradient

    gradient(_tanh(n), _noise(1, 100))


def gradient_of_length(steps: int) -> None:
    from dynlab import gradient

    gradient(_tanh(64), _noise(1, steps), times=16)


def gradient_of_batch(samples: int) -> None:
    from dynlab import gradient

    gradient(_tanh(64), _noise(samples, 200))


def lyapunov_of_size(n: int) -> None:
    from dynlab import lyapunov

    lyapunov(_tanh(n), k=10, steps=500)


def lyapunov_of_length(steps: int) -> None:
    from dynlab import lyapunov

    lyapunov(_tanh(64), k=10, steps=steps)


def fixed_points_of_size(n: int) -> None:
    from dynlab import fixed_points

    fixed_points(_tanh(n), starts=16)


def fixed_points_of_starts(starts: int) -> None:
    from dynlab import fixed_points

    fixed_points(_tanh(32), starts=starts)


def basins_of_grid(grid: int) -> None:
    from dynlab import basins, create

    basins(create("henon"), grid=grid, steps=500, extent=3.0)


class Curve(NamedTuple):
    """A job of one size, the sizes, what they are, and the exponent that its work has in theory."""

    run: Callable[[int], None]
    sizes: tuple[int, ...]
    what: str
    theory: float


CURVES = {
    "spectrum of 4 Jacobians": Curve(spectrum, SIZES, "units n", 3),
    "gradient, every t of 100": Curve(gradient_of_size, SIZES, "units n", 3),
    "gradient, 16 times, 64 units": Curve(gradient_of_length, LENGTHS[:-2], "steps T", 1),
    "gradient, every t of 200, 64 units": Curve(gradient_of_batch, BATCHES, "sequences", 1),
    "10 exponents, 500 steps": Curve(lyapunov_of_size, SIZES, "units n", 2),
    "10 exponents, 64 units": Curve(lyapunov_of_length, LENGTHS, "steps T", 1),
    "fixed points, 16 starts": Curve(fixed_points_of_size, SIZES, "units n", 3),
    "fixed points, 32 units": Curve(fixed_points_of_starts, STARTS, "starts", 1),
    "basins of the Hénon map": Curve(basins_of_grid, GRIDS, "starts in each direction", 2),
}
ONE = """
import resource, sys, time
sys.path.insert(0, sys.argv[1])
import scaling
curve = scaling.CURVES[sys.argv[2]]
curve.run(curve.sizes[0])
began = time.perf_counter()
curve.run(int(sys.argv[3]))
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10)
"""


def point(name: str, size: int) -> tuple[float, float] | None:
    """Seconds and MiB of one point, after one of the smallest size that loads what is needed; None beyond `MOST`."""
    words = [sys.executable, "-c", ONE, str(Path(__file__).parent), name, str(size)]
    try:
        ended = subprocess.run(words, capture_output=True, text=True, timeout=2 * MOST, check=False)
    except subprocess.TimeoutExpired:
        return None
    if ended.returncode:
        print(f"{name}, {size}: {(ended.stderr.strip().splitlines() or ['ended without a word'])[-1]}", flush=True)
        return None
    seconds, memory = ended.stdout.split()[-2:]
    return float(seconds), float(memory)


def measured(name: str, curve: Curve, largest: float) -> np.ndarray:
    """Size, seconds and MiB of every point, (point, 3)."""
    found: list[tuple[float, float, float]] = []
    for size in curve.sizes:
        if size > largest:
            break
        if len(found) > 1 and found[-1][1] * (size / found[-1][0]) ** max(1.0, _exponent(np.array(found))) > MOST:
            break
        one = point(name, size)
        if one is None:
            break
        found.append((size, *one))
        print(f"{name}: {size:,} {curve.what}: {one[0]:.3g} s, {one[1]:.0f} MiB", flush=True)
    return np.array(found).reshape(-1, 3)


def _exponent(points: np.ndarray) -> float:
    if len(points) < 2:
        return float("nan")
    return float(np.polyfit(np.log(points[-FITTED:, 0]), np.log(points[-FITTED:, 1]), 1)[0])


def drawn(curves: dict[str, np.ndarray]) -> None:
    """One panel for each kind of size."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    kinds = list(dict.fromkeys(CURVES[name].what for name in curves))
    rows = -(-len(kinds) // COLUMNS)
    figure, panels = plt.subplots(rows, COLUMNS, figsize=(9, 4.2 * rows), squeeze=False, layout="constrained")
    for panel in panels.flat[len(kinds) :]:
        panel.set_axis_off()
    for panel, what in zip(panels.flat, kinds, strict=False):
        for name, points in curves.items():
            if CURVES[name].what == what:
                slope = f"{_exponent(points):.1f}, in theory {CURVES[name].theory:g}"
                panel.loglog(points[:, 0], points[:, 1], "o-", markersize=3, label=f"{name}: {slope}")
        panel.set_xlabel(what)
        panel.set_ylabel("time (s)")
        panel.set_title("Fitted exponents of the time beside those in theory" if what == kinds[0] else "")
        panel.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False)
        panel.grid(alpha=0.3)
    figure.savefig(RESULTS / "scaling.png", dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--largest", type=float, default=float("inf"))
    asked = parser.parse_args()
    names = [name for name in CURVES if not asked.words or any(word in name for word in asked.words)]
    curves = {name: measured(name, CURVES[name], asked.largest) for name in names}
    curves = {name: points for name, points in curves.items() if len(points)}
    lines = [machine(), "", "| job | sizes | seconds | MiB | exponent | in theory |", "|---|---|---|---|---|---|"]
    for name, points in curves.items():
        each = [", ".join(f"{value:.3g}" for value in column) for column in points[:, 1:].T]
        sizes = f"{', '.join(f'{size:,.0f}' for size in points[:, 0])} {CURVES[name].what}"
        lines.append(
            f"| {name} | {sizes} | {each[0]} | {each[1]} | {_exponent(points):.2f} | {CURVES[name].theory:g} |"
        )
    print("\n".join(lines))
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "scaling.md").write_text("\n".join(lines) + "\n")
    drawn(curves)


if __name__ == "__main__":
    main()
