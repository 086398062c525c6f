"""Sweeps: a function that gives a Dataset, over a grid of its arguments, computed by many processes into one store."""

from dynlab.sweep.cells import Axis, Outcome, cell, size
from dynlab.sweep.engine import Trial, check_address, cores, first_trial, opened, run
from dynlab.sweep.store import Store

__all__ = [
    "Axis",
    "Outcome",
    "Store",
    "Trial",
    "cell",
    "check_address",
    "cores",
    "first_trial",
    "opened",
    "run",
    "size",
]
