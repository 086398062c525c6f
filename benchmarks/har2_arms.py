"""What the papers' recipes leave open on HAR-2, tried arm by arm on held-out subjects alone.

    python benchmarks/har2_arms.py FOLDER [ARM ...]

The 21 training subjects are held out in seven groups of three; the number is the accuracy on a group at the epoch that
is best on it, and the test split is not looked at. Arms that were chosen so, and the published recipe at the table's
size, are trained again on all subjects and tested once. FOLDER/arms.csv has a row for each training, and those that are
there are not trained again. Without ARM all are tried, of `antisymmetric` first each setting on two groups.
"""

import csv
import dataclasses
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from har2_trials import MASKED, masked

from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.antisymmetric import AntisymmetricFlow
from dynlab.tasks import har, recordings
from dynlab.training.presets import PRESETS
from dynlab.training.run import Diverged, Run
from dynlab.training.train import train

GROUPS, OF = 7, 3  # subjects
TUNING = (0, 1)  # groups on which the antisymmetric network's settings are compared
CUT_ANEW = 1000  # added to the subject of a window that is not the data set's own
MASKS = har.INERTIAL | {"mask": (masked, MASKED)}
HALVED = {"schedule": "halve", "halve_every": 3}
ROTATED = "rotation:0.15"
BASE = {"state_size": 111, "step_size": 0.1, "gamma": 0.01, "sigma_w": 1.0}
GRID = [  # one of ε, γ, σ_w changed at a time, on the AntisymmetricRNN paper's grid; 0.3 is dynlab's own
    {},
    {"step_size": 0.01},
    {"step_size": 1.0},
    {"gamma": 0.001},
    {"gamma": 0.1},
    {"sigma_w": 2.0},
    {"sigma_w": 4.0},
    {"sigma_w": 0.3},
]


def streams(signals: dict[str, np.ndarray], every: int) -> dict[str, np.ndarray]:
    """Add to the training windows, which overlap by half, those that begin `every` steps apart in the same streams."""
    x, half = signals["x_train"], signals["x_train"].shape[1] // 2
    overlap = (x[:-1, half:] == x[1:, :half]).all(axis=(1, 2))
    follows = np.flatnonzero(overlap & (signals["y_train"][:-1] == signals["y_train"][1:]))
    anew = [
        np.concatenate([x[follows, offset:], x[follows + 1, half : half + offset]], axis=1)
        for offset in range(every, half, every)
    ]
    copies = len(anew)
    added = {"x": np.concatenate(anew), "y": np.tile(signals["y_train"][follows], copies)}
    added["subject"] = np.tile(CUT_ANEW + signals["subject_train"][follows], copies)
    return signals | {f"{name}_train": np.concatenate([signals[f"{name}_train"], rows]) for name, rows in added.items()}


def group_of(number: int) -> np.ndarray:
    """Return the three subjects of a group."""
    signals, _ = har.load()
    names = np.random.default_rng(0).permutation(np.unique(signals["subject_train"]))
    return names[OF * number : OF * (number + 1)]


def hold_out(held: np.ndarray) -> Any:
    """Return a function that holds out these subjects, and of those only the data set's own windows."""

    def split(whole: Any, share: float, seed: int, retrain: bool) -> tuple[Any, Any]:
        if retrain:
            return whole, None
        mine = np.isin(whole.subjects % CUT_ANEW, held)
        return whole[~mine], whole[mine & (whole.subjects < CUT_ANEW)]

    return split


def score(folder: Path, arm: dict[str, Any], group: int) -> dict[str, float]:
    """Train one arm with a group held out, or on all subjects (group −1, tested); NaN where it diverges."""
    one, retrain = PRESETS[arm["preset"]], group < 0
    seed = arm.get("seed", max(group, 0))
    settings = dataclasses.replace(one.settings, seed=seed, **arm.get("settings", {}))
    task = dict(one.task_settings) | {"seed": 0, "retrain": retrain}
    run = Run(one.system, one.task, settings, dict(one.config) | arm.get("config", {}), task)
    load = har.load
    with ExitStack() as stack:
        stack.enter_context(patch.object(har, "INERTIAL", MASKS))
        if activation := arm.get("activation"):  # the paper's is tanh
            stack.enter_context(patch.object(AntisymmetricFlow, "activation", ACTIVATIONS[activation]))
        if not retrain:
            stack.enter_context(patch.object(recordings, "hold_out", hold_out(group_of(group))))
        if every := arm.get("every"):
            found, origin = load()
            stack.enter_context(patch.object(har, "load", lambda *a, **k: (streams(found, every), origin)))
        try:
            facts = train(run, folder / "run", overwrite=True).facts
        except Diverged:
            return {"accuracy": float("nan")}
    return {"accuracy": 100 * facts["test_accuracy" if retrain else "validation_accuracy"]}


def arms() -> Iterator[tuple[str, dict[str, Any], tuple[int, ...]]]:
    """Yield the name of each arm, what it is, and the groups it is tried on (−1: all subjects, tested)."""
    every = tuple(range(GROUPS))
    for network in ("fastrnn", "ernn-k1"):
        preset = f"har2-{network}"
        both = {"augment": (ROTATED, "mask")}
        yield f"{network}: recipe", {"preset": preset}, every
        yield f"{network}: masked", {"preset": preset, "settings": both}, every
        yield f"{network}: halved", {"preset": preset, "settings": HALVED}, every
        yield f"{network}: masked and halved", {"preset": preset, "settings": both | HALVED}, every
        anew = {"epochs": PRESETS[preset].settings.epochs // 4}
        yield f"{network}: cut every 16 steps", {"preset": preset, "settings": anew, "every": 16}, every
    for activation in ("tanh", "relu"):
        for change in GRID:
            name = f"antisymmetric: {activation} " + " ".join(
                f"{key}={value}" for key, value in (BASE | change).items()
            )
            arm = {"preset": "har2-antisymmetric", "config": BASE | change, "activation": activation}
            yield name, arm, TUNING
    for steps in (3, 5):
        arm = {"preset": f"ernn-har2-ernn-k{steps}", "config": {"deviation": 0.1}, "settings": {"clip": 0.0}}
        yield f"ernn-k{steps}: published, deviation 0.1, no clipping", arm, (0,)
    published = {"preset": "edgeml-har2-antisymmetric", "config": {"state_size": 111}}
    for seed in range(3):
        yield f"antisymmetric: published, 111 units, seed {seed}", published | {"seed": seed}, (-1,)


def main(folder: Path, *asked: str) -> None:
    """Train what is not in arms.csv, and print each arm's row."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "arms.csv"
    rows = list(csv.reader(table.open())) if table.exists() else []
    done = {(name, int(group)): float(accuracy) for name, group, accuracy in rows}
    for name, arm, groups in arms():
        if asked and not any(name.startswith(one) for one in asked):
            continue
        for group in groups:
            if (name, group) not in done:
                done[name, group] = score(folder, arm, group)["accuracy"]
                with table.open("a", newline="") as file:
                    csv.writer(file).writerow([name, group, f"{done[name, group]:.2f}"])
        found = np.array([done[name, group] for group in groups])
        print(f"{name:70} {found.mean():.2f}  " + " ".join(f"{one:.1f}" for one in found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
