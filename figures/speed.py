"""A review's seconds for an epoch of MNIST with and without a fused kernel, beside steps of a training timed here.

``kept/speed.steps.nc`` holds the median times that ``benchmarks/training_step.py`` printed on each machine;
``benchmarks/training_step_kept.py`` reads them from its output.
"""

import xarray as xr

from .kept import kept
from .scripts import Table

BATCHES = 469  # of 128 in an epoch of 60,000 images
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


def table(recompute: bool = False) -> Table:
    """Seconds for an epoch: the review's, and those of 469 steps timed here."""
    ds = kept("speed")["steps"]
    machines = ds["machine"].values.tolist()
    epoch = BATCHES * ds["step"]
    rows = []
    for name, (published, cell) in PUBLISHED.items():
        here = [f"{float(epoch.sel(machine=one, network=cell)):.1f}" if cell else "not run" for one in machines]
        rows.append([name, "" if published is None else f"{published:.2f}", *here])
    return Table(
        "speed",
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
