"""What else might carry networks over to subjects that they have not seen: trials on HAR-2, by held-out subjects alone.

    python benchmarks/har2_trials.py FOLDER [SEEDS]

Each trial changes one thing of the zoo's recipe for FastRNN or ERNN (docs/har2.md). Each seed holds out other subjects;
the number is the accuracy on them at the epoch that is best on them, as that is what would choose. The test split is
not looked at. A trial takes some forty seconds a seed of one core.
"""

import dataclasses
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from dynlab.tasks import har
from dynlab.training.presets import PRESETS
from dynlab.training.run import Run
from dynlab.training.settings import Settings
from dynlab.training.train import train

GRAVITY = slice(6, 9)  # the total acceleration, whose mean over a window points up
MASKED = 32  # steps of 128
RADIUS = 0.05  # of SAM, Foret et al., ICLR 2021


def upright(signals: np.ndarray) -> np.ndarray:
    """Each window turned, all its sensors alike, so that gravity lies along the first axis: the shortest way there."""
    up = signals[..., GRAVITY].mean(axis=1)
    up = up / np.linalg.norm(up, axis=1, keepdims=True)
    axis = np.cross(up, [1.0, 0.0, 0.0])
    sine = np.linalg.norm(axis, axis=1, keepdims=True)
    turn = Rotation.from_rotvec(axis / np.maximum(sine, 1e-12) * np.arctan2(sine, up[:, :1]))
    sensors = signals.reshape(*signals.shape[:2], -1, 3)
    return np.einsum("nij,ntsj->ntsi", turn.as_matrix().astype(np.float32), sensors).reshape(signals.shape)


def masked(raw: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """`strength` steps of each window, one after the other, are its mean."""
    first = generator.integers(0, raw.shape[1], len(raw))[:, None]
    steps = np.arange(raw.shape[1])
    hidden = (first <= steps) & (steps < first + strength)
    return np.where(hidden[:, :, None], raw.mean(axis=1, keepdims=True), raw)


class Sharp(torch.optim.Adam):
    """SAM around Adam: the gradient is taken where the loss is largest nearby, at first order."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        if closure is None:
            raise ValueError("SAM takes its gradient twice")
        with torch.enable_grad():
            loss = closure()
        moved = [one for group in self.param_groups for one in group["params"] if one.grad is not None]
        size = torch.stack([one.grad.norm() for one in moved]).norm() + 1e-12
        there = [RADIUS * one.grad / size for one in moved]
        with torch.no_grad():
            for one, way in zip(moved, there, strict=True):
                one.add_(way)
        with torch.enable_grad():
            closure()
        with torch.no_grad():
            for one, way in zip(moved, there, strict=True):
                one.sub_(way)
        super().step()
        return loss


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def loaded_upright(load: Callable[..., Any]) -> Callable[..., Any]:
    def turned(*given: Any, **named: Any) -> Any:
        signals, origin = load(*given, **named)
        return signals | {name: upright(signals[name]) for name in ("x_train", "x_test")}, origin

    return turned


def made_sharp(self: Settings, parameters: Any, constrained: Any = (), decaying: Any = None) -> torch.optim.Optimizer:
    return Sharp(parameters, lr=self.lr)


def with_fast_eta(make: Callable[..., Any], factor: float) -> Callable[..., Any]:
    def made(self: Settings, parameters: Any, constrained: Any = (), decaying: Any = None) -> torch.optim.Optimizer:
        every = list(parameters)
        etas = [one for one in every if one.ndim == 2 and one.shape[1] == 128 and one.shape[0] <= 5]
        rest = [one for one in every if all(one is not eta for eta in etas)]
        return torch.optim.Adam([{"params": rest, "lr": self.lr}, {"params": etas, "lr": factor * self.lr}])

    return made


def trials() -> Iterator[tuple[str, str, dict[str, Any], list[tuple[Any, str, Any]]]]:
    """What it is called, the preset, its settings that change, and what is replaced."""
    optimizer = Settings.make_optimizer
    for preset in ("har2-fastrnn", "har2-ernn-k1"):
        yield "the recipe", preset, {}, []
        yield "gravity along one axis", preset, {}, [(har, "load", loaded_upright(har.load))]
        without = {"augment": ()}
        yield "the same, not turned in training", preset, without, [(har, "load", loaded_upright(har.load))]
        masks = har.INERTIAL | {"mask": (masked, MASKED)}
        yield (
            "a quarter of the steps masked",
            preset,
            {"augment": ("rotation:0.15", "mask")},
            [(har, "INERTIAL", masks)],
        )
        yield "SAM", preset, {}, [(Settings, "make_optimizer", made_sharp)]
        yield "batches of 512", preset, {"batch_size": 512}, []
        yield "batches of 512, twice the rate", preset, {"batch_size": 512, "lr": 2 * PRESETS[preset].settings.lr}, []
        yield "the rate halved every 3 epochs", preset, {"schedule": "halve", "halve_every": 3}, []
        yield "weights averaged", preset, {"ema": 0.99}, []
    yield "η ten times as fast", "har2-ernn-k1", {}, [(Settings, "make_optimizer", with_fast_eta(optimizer, 10.0))]
    yield "η a tenth as fast", "har2-ernn-k1", {}, [(Settings, "make_optimizer", with_fast_eta(optimizer, 0.1))]


def accuracy(folder: Path, preset: str, seed: int, changes: dict[str, Any]) -> float:
    """The best on held-out subjects."""
    one = PRESETS[preset]
    settings = dataclasses.replace(one.settings, seed=seed, **changes)
    run = Run(
        one.system, one.task, settings, dict(one.config), dict(one.task_settings) | {"seed": seed, "retrain": False}
    )
    return float(train(run, folder, overwrite=True).facts["validation_accuracy"])


def main(folder: Path, seeds: int) -> None:
    """Print a row for each trial."""
    print(f"{'preset':14} {'trial':34} accuracy on held-out subjects, seeds 0 to {seeds - 1}", flush=True)
    for name, preset, changes, replacements in trials():
        found = []
        for seed in range(seeds):
            with ExitStack() as stack:
                for replacement in replacements:
                    stack.enter_context(replaced(*replacement))
                found.append(100 * accuracy(folder / "run", preset, seed, changes))
        spread = f"{statistics.mean(found):.2f} ± {statistics.stdev(found):.2f}" if seeds > 1 else f"{found[0]:.2f}"
        print(f"{preset:14} {name:34} {spread}  " + " ".join(f"{one:.2f}" for one in found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
