"""A review's seconds for an epoch of MNIST with and without a fused kernel, beside steps of a training timed here.

``kept/speed.steps.nc`` holds the median times that ``benchmarks/training_step.py`` printed on each machine; `record`
reads them from its output.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import xarray as xr

from dynlab import schema
from dynlab.gallery.kept import Results, kept
from dynlab.gallery.made import Table

BATCHES = 469  # of 128 in an epoch of 60,000 images
PRINTED = (Path(__file__).parents[2] / "benchmarks" / "results").glob
# What the review reports, in seconds, and which of the timed cells is the same thing.
FUSED, SINGLE, SCRIPTED, CLOSED_FORM = "torch's LSTM", "lstm, stepped", "antisymmetric, TorchScript", "antisymmetric"
PUBLISHED = {
    "LSTM, fused kernel: PyTorch(+)": (23.10, FUSED),
    "LSTM, one step at a time: PyTorch": (71.86, SINGLE),
    "LSTM, fused kernel: TF(+)": (49.10, ""),
    "LSTM, one step at a time: TF": (260.33, ""),
    "AntisymmetricRNN, one step at a time": (None, "antisymmetric, stepped"),
    "AntisymmetricRNN, TorchScript": (None, SCRIPTED),
    "AntisymmetricRNN, as dynlab trains it": (None, CLOSED_FORM),
}
HEAD = re.compile(r"torch (?P<torch>\S+), (?P<machine>.+); T = 784, batch 128, 128 units")
LINE = re.compile(r"(?P<cell>.+?) {2,}[\d.]+ +(?P<median>[\d.]+) ")


def record(files: Sequence[Path]) -> xr.Dataset:
    """The median milliseconds of each cell, from the output of ``benchmarks/training_step.py`` on each machine."""
    cells = [cell for _, cell in PUBLISHED.values() if cell]
    machines, rows = [], []
    for file in files:
        head, _, *lines = file.read_text(encoding="utf-8").splitlines()
        found = HEAD.match(head)
        if found is None:
            raise ValueError(f"{file} does not begin with what training_step.py prints first")
        machines.append(found["machine"].replace("1 thread(s)", "one core of a CPU"))
        medians = {m["cell"].strip(): float(m["median"]) for line in lines if (m := LINE.match(line + " "))}
        rows.append([medians[cell] / 1e3 for cell in cells])
    return schema.dataset(
        {
            "step": schema.variable(
                ("machine", schema.NETWORK), rows, "training step, median of the rounds", schema.SECOND
            )
        },
        system="several",
        settings={"T": 784, "batch": 128, "units": 128},
        method="python benchmarks/training_step.py: forward and backward pass, float32, no optimizer",
        coords={"machine": machines, schema.NETWORK: cells},
    )


def compute() -> Results:
    """Read again what the benchmark printed."""
    return {"steps": record(sorted(PRINTED("training_step_*.txt")))}


def kept_steps(recompute: bool = False) -> xr.Dataset:
    """The times that are kept, or read again."""
    return kept("speed", compute, recompute)["steps"]


def table(recompute: bool = False) -> Table:
    """Seconds for an epoch: the review's, and those of 469 steps timed here."""
    ds = kept_steps(recompute)
    machines = ds["machine"].values.tolist()
    epoch = BATCHES * ds["step"]
    rows = []
    for name, (published, cell) in PUBLISHED.items():
        here = [f"{float(epoch.sel(machine=one, network=cell)):.1f}" if cell else "not run" for one in machines]
        rows.append([name, "" if published is None else f"{published:.2f}", *here])
    return Table(
        "Seconds for an epoch of MNIST (slides on AntisymmetricRNN, “Speed Comparison”)",
        "A fused kernel makes an LSTM's training 3.1 (PyTorch) and 5.3 times (TensorFlow) as fast, and TorchScript "
        "fuses operations of other cells “automatically”. Neither the machine nor the batch is given.",
        measured(ds),
        ["what", "published", *machines],
        rows,
        ["published", *machines],
        ds,
    )


def ratios(ds: xr.Dataset) -> dict[str, tuple[float, float]]:
    """For each machine how many times as fast as single steps the fused LSTM is, and TorchScript's AntisymmetricRNN."""
    found = {}
    for machine in ds["machine"].values.tolist():
        step = ds["step"].sel(machine=machine)
        single, plain = (float(step.sel(network=name)) for name in (SINGLE, "antisymmetric, stepped"))
        found[machine] = (single / float(step.sel(network=FUSED)), plain / float(step.sel(network=SCRIPTED)))
    return found


def measured(ds: xr.Dataset) -> str:
    """The speed-ups in a sentence for each machine."""
    said = [
        f"On {machine} the fused LSTM is {fused:.3g} times as fast as one stepped in Python, and TorchScript makes "
        f"AntisymmetricRNN {scripted:.2g} times as fast"
        for machine, (fused, scripted) in ratios(ds).items()
    ]
    return (
        f"{'. '.join(said)}. An epoch is {BATCHES} steps of 128 sequences, without loading and optimizer. TensorFlow "
        f"was not run{'' if any('CPU' in machine for machine in ds['machine'].values) else ', nor a processor'}."
    )
