"""Keep what training_step.py printed, in ``results/training_step_*.txt``, for `dynlab table speed`."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.figures.scripts import keep
from dynlab.figures.speed import PUBLISHED

HEAD = re.compile(r"torch (?P<torch>\S+), (?P<machine>.+); T = 784, batch 128, 128 units")
LINE = re.compile(r"(?P<cell>.+?) {2,}(?P<least>[\d.]+) +(?P<median>[\d.]+) ")


def record(files: Sequence[Path]) -> xr.Dataset:
    """Return the median and the least time of each cell, as ``benchmarks/training_step.py`` printed them."""
    cells = [cell for _, cell in PUBLISHED.values() if cell]
    machines, rows = [], []
    for file in files:
        head, _, *lines = file.read_text(encoding="utf-8").splitlines()
        found = HEAD.match(head)
        if found is None:
            raise ValueError(f"{file} does not begin with what training_step.py prints first")
        machines.append(found["machine"].replace("1 thread(s)", "one core of a CPU"))
        times = {one["cell"].strip(): one for line in lines for one in LINE.finditer(line + " ")}
        rows.append([[float(times[cell][name]) / 1e3 for cell in cells] for name in ("median", "least")])
    medians, least = np.moveaxis(rows, 1, 0)
    dims = ("machine", schema.NETWORK)
    return schema.dataset(
        {
            "step": schema.variable(dims, medians, "training step, median of the rounds", schema.SECOND),
            "least_step": schema.variable(dims, least, "training step, least of the rounds", schema.SECOND),
        },
        system="several",
        settings={"T": 784, "batch": 128, "units": 128},
        method="python benchmarks/training_step.py: forward and backward pass, float32, no optimizer",
        coords={"machine": machines, schema.NETWORK: cells},
    )


if __name__ == "__main__":
    keep("speed", {"steps": record(sorted((Path(__file__).parent / "results").glob("training_step_*.txt")))})
