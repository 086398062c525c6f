"""Whether one search finds every fixed point of trained flip-flop networks that many starts and deflation find.

    python benchmarks/flipflops.py FOLDER [STARTS [SEEDS]]

GRUs of 16, 32 and 64 units are trained into FOLDER, each with ten seeds (20 epochs, some half a minute each); those
that lie there already are not trained again. The points that `fixed_points` lists at its defaults are compared with
those that damped Newton steps reach from STARTS random starts, by default 100,000, written here apart from dynlab's,
and from starts at which the points found are deflated (Farrell, Birkisson and Funke, SIAM J. Sci. Comput. 37, 2015).
The 64-unit networks take ten minutes each on one core.
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import dynlab as dl

UNITS = (16, 32, 64)
BATCH = 500
ITERATIONS = 60
HALVINGS = 8  # of a step; where the excess grows all the same the start is given up, as at a minimum of it
DEFLATED = 2000  # starts at which what was found is deflated
RESIDUAL = 1e-11
SAME = 1e-7
REACH = 1.5  # starts lie within ± this in every coordinate: fixed points of a GRU lie within ± 1


class Gru:
    """h' = (1 − z) n + z h of torch.nn.GRU at zero input, and its Jacobian, for states (k, n)."""

    def __init__(self, weights: dict[str, Tensor]) -> None:
        recurrent, own, held = (weights[name].double() for name in ("weight_hh", "bias_hh", "bias_ih"))
        self.n = recurrent.shape[1]
        self.w = recurrent.reshape(3, self.n, self.n)
        self.b, self.x = own.reshape(3, self.n), held.reshape(3, self.n)

    def value(self, h: Tensor) -> Tensor:
        """h' − h of (k, n)."""
        r = torch.sigmoid(h @ self.w[0].T + self.b[0] + self.x[0])
        z = torch.sigmoid(h @ self.w[1].T + self.b[1] + self.x[1])
        return (1 - z) * (torch.tanh(r * (h @ self.w[2].T + self.b[2]) + self.x[2]) - h)

    def excess(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """h' − h of (k, n), and its Jacobian (k, n, n)."""
        r = torch.sigmoid(h @ self.w[0].T + self.b[0] + self.x[0])
        z = torch.sigmoid(h @ self.w[1].T + self.b[1] + self.x[1])
        inner = h @ self.w[2].T + self.b[2]
        new = torch.tanh(r * inner + self.x[2])
        by_new = ((1 - z) * (1 - new**2))[:, :, None]
        by_r = (inner * r * (1 - r))[:, :, None]
        jacobian = by_new * (by_r * self.w[0] + r[:, :, None] * self.w[2])
        jacobian += ((h - new) * z * (1 - z))[:, :, None] * self.w[1]
        jacobian += torch.diag_embed(z - 1)
        return (1 - z) * (new - h), jacobian


def newton(network: Gru, h: Tensor, known: Tensor | None = None) -> Tensor:
    """States (m, n) with an excess below RESIDUAL that damped Newton steps reach from h (k, n), `known` deflated."""
    done = []
    for _ in range(ITERATIONS):
        excess, jacobian = network.excess(h)
        size = excess.norm(dim=1)
        if (small := size < RESIDUAL).any():
            done.append(h[small])
            h, excess, jacobian, size = h[~small], excess[~small], jacobian[~small], size[~small]
        if not len(h):
            break
        step = -torch.linalg.solve_ex(jacobian, excess[:, :, None])[0][:, :, 0]
        if known is not None:
            step = deflated(h, step, known)
        scale = torch.ones(len(h), 1, dtype=h.dtype)
        if known is None:
            scale = torch.clamp(2.0 / step.norm(dim=1, keepdim=True), max=1)
            for _ in range(HALVINGS):
                worse = network.value(h + scale * step).norm(dim=1) > size
                if not worse.any():
                    break
                scale = torch.where(worse[:, None], scale / 2, scale)
            h, scale, step = h[~worse], scale[~worse], step[~worse]
        h = h + scale * step
        h = h[h.abs().amax(dim=1) < 10 * REACH]  # nor where the Jacobian was singular
    return torch.cat(done) if done else h[:0]


def deflated(h: Tensor, step: Tensor, known: Tensor) -> Tensor:
    """The Newton step of m(h) (h' − h), m the product of 1 + 1/‖h − r‖² over known r, from that of h' − h."""
    away = h[:, None] - known
    squared = (away**2).sum(dim=2)
    slope = (-2 * away / (squared * (squared + 1))[:, :, None]).sum(dim=1)  # of ln m
    return step / (1 - (slope * step).sum(dim=1, keepdim=True))


def united(points: Tensor, found: Tensor) -> Tensor:
    """The points found (m, n) and those of (k, n) that lie farther than SAME from all others."""
    while len(points):
        if len(found):
            points = points[torch.cdist(points, found, p=torch.inf).amin(dim=1) > SAME]
        found = torch.cat([found, points[:1]])
    return found


def all_points(network: Gru, starts: int, seed: int) -> Tensor:
    """What random starts in the box, and then deflation, find."""
    generator = torch.Generator().manual_seed(seed)
    found = torch.zeros(0, network.n, dtype=torch.float64)
    for first in range(0, starts, BATCH):
        size = 10 ** (-2 * (first // BATCH % 3) / 2)  # within ± 1.5, 0.15 and 0.015
        box = torch.rand(min(BATCH, starts - first), network.n, generator=generator, dtype=torch.float64)
        found = united(newton(network, REACH * size * (2 * box - 1)), found)
    for _ in range(0, DEFLATED, BATCH):
        box = torch.rand(BATCH, network.n, generator=generator, dtype=torch.float64)
        found = united(newton(network, REACH * (2 * box - 1), found), found)
    return found


def trained(folder: Path, units: int, seed: int) -> Path:
    """The checkpoint of a network that is trained where it does not lie there."""
    run = folder / f"gru{units}-seed{seed}"
    if not (run / "network.pt").exists():
        task = ["--system", "gru", "--task", "flipflop", "--task-set", "pulse_probability=0.1"]
        how = ["--epochs", "20", "--lr", "0.01", "--schedule", "cosine", "--clip", "1", "--seed", str(seed)]
        made = [sys.executable, "-m", "dynlab", "train", *task, "--set", f"hidden_size={units}", *how]
        subprocess.run([*made, "-o", str(run), "--overwrite", "--quiet"], check=True)
    return run / "network.pt"


def main(folder: Path, starts: int, seeds: int) -> None:
    """Print a row for each network."""
    print("units seed  listed stable  by starts  missed  not reached by them  clock   processor", flush=True)
    for seed in range(seeds):
        for units in UNITS:
            system = dl.load(str(trained(folder, units, seed)))
            dl.fixed_points(system, starts=8)  # compiles what is compiled once
            clock, processor = time.perf_counter(), time.process_time()
            listed = dl.fixed_points(system)
            clock, processor = time.perf_counter() - clock, time.process_time() - processor
            points = listed["fixed_point_state"].values
            others = all_points(Gru(system.state_dict()), starts, seed).numpy()
            apart = np.abs(points[:, None] - others[None]).max(axis=2)
            missed, more = int((apart.min(axis=0) > 1e-5).sum()), int((apart.min(axis=1) > 1e-5).sum())
            stable = int(listed["stable"].values.sum())
            print(
                f"{units:5} {seed:4}  {len(points):6} {stable:6}  {len(others):9}  {missed:6}  {more:19}"
                f"  {clock:5.2f} s {processor:6.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else 100_000,
        int(sys.argv[3]) if len(sys.argv) > 3 else 10,
    )
