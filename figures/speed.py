"""A review's seconds for an epoch of MNIST with and without a fused kernel, beside steps of a training timed here.

``kept/speed.steps.nc`` holds the median and the least times that ``benchmarks/training_step.py`` printed on each
machine; ``benchmarks/training_step_kept.py`` reads them from its output.
"""

import xarray as xr

from dynlab import schema

from .scripts import Table, kept, table_script

BATCHES = 469  # of 128 in an epoch of 60,000 images
# What the review reports, in seconds, and which of the timed cells is the same thing.
FUSED, SINGLE, CLOSED_FORM = "torch's LSTM", "lstm, stepped", "antisymmetric"
STEPPED, SCRIPTED = "antisymmetric, stepped", "antisymmetric, TorchScript"
PUBLISHED = {
    "LSTM, fused kernel: PyTorch(+)": (23.10, FUSED),
    "LSTM, one step at a time: PyTorch": (71.86, SINGLE),
    "LSTM, fused kernel: TF(+)": (49.10, ""),
    "LSTM, one step at a time: TF": (260.33, ""),
    "AntisymmetricRNN, one step at a time": (None, STEPPED),
    "AntisymmetricRNN, TorchScript": (None, SCRIPTED),
    "AntisymmetricRNN, as dynlab trains it": (None, CLOSED_FORM),
}


@table_script("speed")
def table() -> Table:
    """Return the seconds of an epoch, as published and as timed here."""
    ds = kept("speed")["steps"]
    machines = ds["machine"].values.tolist()
    epoch = BATCHES * ds["step"]
    rows = []
    for name, (published, cell) in PUBLISHED.items():
        here = [f"{float(epoch.sel(machine=one, network=cell)):.1f}" if cell else "not run" for one in machines]
        rows.append([name, "" if published is None else f"{published:.2f}", *here])
    headings = ["what", "published", *machines]
    return Table("speed", measured(ds), headings, rows, headings[1:], ds)


def ratios(ds: xr.Dataset, slow: str, fast: str) -> xr.DataArray:
    """Return how many times as fast one cell is as another, (machine, statistic): by medians and by least times."""
    both = ds[["step", "least_step"]].to_dataarray("statistic")
    return both.sel({schema.NETWORK: slow}, drop=True) / both.sel({schema.NETWORK: fast}, drop=True)


def said(times: xr.DataArray) -> str:
    """Return quotients of times in words, one for each machine."""
    return "; ".join(
        f"{machine} {float(median):.3g}× by medians, {float(least):.3g}× by the least times"
        for machine, (median, least) in zip(times["machine"].values, times.transpose("machine", ...), strict=True)
    )


def measured(ds: xr.Dataset) -> str:
    """Return the speed-ups in words."""
    return (
        f"A fused LSTM against one stepped in Python: {said(ratios(ds, SINGLE, FUSED))}. AntisymmetricRNN in "
        f"TorchScript against the same loop in Python: {said(ratios(ds, STEPPED, SCRIPTED))}. An epoch is {BATCHES} "
        f"steps of 128 sequences, medians, without loading and optimizer. TensorFlow was not run."
    )
