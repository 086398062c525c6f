"""The checkpoints of one training run, in the order in which they were written."""

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from dynlab.checkpoints.checkpoint import Checkpoint, read
from dynlab.errors import UserError

SUFFIXES = (".pt", ".pth", ".ckpt", ".safetensors", ".bin", ".npz")  # of checkpoints in a folder
STEP_FACT = "global_step"  # Lightning's, and so that of dynlab's own trainings


@dataclass(frozen=True)
class Snapshot:
    """A network at a step of its training.

    Attributes
    ----------
    step : int
        The number of batches it has learned from; where the files do not say, the number in the file's name.
    checkpoint : Checkpoint
    path : Path
    """

    step: int
    checkpoint: Checkpoint
    path: Path


def read_run(paths: str | Path | Sequence[str | Path], **settings: Any) -> list[Snapshot]:
    """Read the checkpoints of one run.

    Parameters
    ----------
    paths : str, Path or sequence of them
        A folder, files, or a pattern such as ``runs/x/*.ckpt``.
    **settings
        Settings of `dynlab.checkpoints.read`: ``layer=``, ``system_factory=``, ``nonlinearity=``.

    Returns
    -------
    list of Snapshot
        By increasing step. Of several files of one step that hold the same network, such as a last and a best one, the
        first is kept.

    Raises
    ------
    UserError
        For fewer than two steps, files that do not say their step and whose names hold no number, different networks of
        one step, and networks of different kinds or sizes.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = [file for path in given for file in _files(Path(path))]
    found = {file: read(file, **settings) for file in files}
    steps = _steps(found)
    at_step: dict[int, Snapshot] = {}
    for file in sorted(files, key=lambda file: (steps[file], len(file.name), file.name)):
        first = at_step.setdefault(steps[file], Snapshot(steps[file], found[file], file))
        if not _same(first.checkpoint, found[file]):
            raise UserError(
                f"{first.path} and {file} are different networks of the same step {first.step}: name the files of one "
                f"run."
            )
    snapshots = list(at_step.values())
    if len(snapshots) < 2:
        raise UserError(
            f"A run is followed over at least two steps, got {len(snapshots)} in {len(files)} files: check the path, "
            f"or keep more checkpoints, as `dynlab train --keep-every 100` does."
        )
    systems = {each.path: each.checkpoint.system for each in snapshots}
    kinds = {
        f"{system.name} of {system.state_size:,} units and {system.input_size:,} inputs": path
        for path, system in systems.items()
    }
    if len(kinds) > 1:
        held = " and ".join(f"{path} holds {kind}" for kind, path in list(kinds.items())[:2])
        raise UserError(f"{held}: name the checkpoints of one run.")
    return snapshots


def _files(path: Path) -> list[Path]:
    if not path.is_dir():  # a file, or a pattern that no shell has expanded
        return [path] if path.exists() else sorted(map(Path, glob.glob(str(path)))) or [path]
    inside = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    # the network that a run ends with is one of the others again, and tells no step
    return [file for file in inside if file.suffix == ".ckpt"] or inside


def _steps(found: Mapping[Path, Checkpoint]) -> dict[Path, int]:
    """Return all steps as the files say them, or all as their names do: the two need not count the same."""
    told = {file: checkpoint.facts.get(STEP_FACT) for file, checkpoint in found.items()}
    if all(isinstance(step, int) for step in told.values()):
        return {file: int(step or 0) for file, step in told.items()}
    numbers = {file: re.findall(r"\d+", file.stem) for file in found}
    silent = [file for file in found if not numbers[file]]
    if silent:
        raise UserError(
            f"{silent[0]} does not say at which step of its training it was written ({STEP_FACT}), and its name holds "
            f"no number: name it such as step-100{silent[0].suffix}, or leave it out."
        )
    return {file: int(those[-1]) for file, those in numbers.items()}


def _same(one: Checkpoint, other: Checkpoint) -> bool:
    first, second = one.system.state_dict(), other.system.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
