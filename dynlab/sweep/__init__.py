"""Sweeps: a function that gives a Dataset, over a grid of its arguments, computed by many processes into one store."""

from dynlab.sweep.cells import Outcome
from dynlab.sweep.engine import check_address, cores, run
from dynlab.sweep.grid import Axis, axis, cell, size
from dynlab.sweep.store import Store
from dynlab.sweep.trial import Trial, first_trial, opened

__all__ = [
    "Axis",
    "Outcome",
    "Store",
    "Trial",
    "axis",
    "cell",
    "check_address",
    "cores",
    "first_trial",
    "opened",
    "run",
    "size",
]
