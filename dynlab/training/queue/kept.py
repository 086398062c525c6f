"""What other machines trained: the finished trainings of a kept Dataset become records of this folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from dynlab import io, schema
from dynlab.training.queue.folder import KEPT, note, record, resolved, write_record
from dynlab.training.queue.queued import Queued, described
from dynlab.training.queue.results import COLUMNS

RECORDED = Path(__file__).parents[2] / "gallery" / "trainings.nc"  # what `make queue-results` writes


def take_over(queue: Sequence[Queued], folder: Path, path: Path = RECORDED) -> None:
    """Write the records that the folder lacks of the Dataset's trainings, in the queue's order.

    A training is taken over when its command is the one that the queue would carry out. What was queued otherwise is
    trained anew.
    """
    if not path.is_file():
        return
    found = io.open(path)
    settings = json.loads(found.attrs["settings"])
    note(folder, KEPT, **{key: settings[key] for key in ("versions", "data", "unfinished")})
    names = set(found[schema.TRAINING].values.tolist())
    for queued in queue:
        run = resolved(queued, folder)
        if queued.name not in names or run is None or record(queued, folder):
            continue
        one = found.sel({schema.TRAINING: queued.name})
        if one.command.item() == run.command:
            write_record(folder, _record(queued, described(run), one))


def _record(queued: Queued, run: dict[str, Any], one: xr.Dataset) -> dict[str, Any]:
    epochs = {name: _known(one[name].values) for name in COLUMNS}
    epoch = one.chosen_epoch.item()
    facts = {"command": one.command.item(), "device": one.device.item(), "epoch": epoch}
    facts |= {name: values[epoch - 1] for name, values in epochs.items() if name != "loss" and 0 < epoch <= len(values)}
    facts |= {"diverged": one.diverged.item()} if one.diverged.item() else {}
    return {
        "name": queued.name,
        "tier": queued.tier,
        "group": queued.group,
        "run": run,
        "iterations": one.iterations.item(),
        "core_hours": one.duration.item() / 3600,
        "facts": facts,
        "epochs": epochs,
    }


def _known(values: np.ndarray) -> list[float]:
    """The numbers up to the last that is one."""
    known = np.flatnonzero(~np.isnan(values))
    return values[: known[-1] + 1].tolist() if known.size else []
