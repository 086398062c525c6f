"""dynlab: what recurrent networks do over time, and whether their gradients survive.

The public names below are imported when they are first used, so that ``import dynlab`` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    "load": "dynlab.zoo",
    "from_module": "dynlab.checkpoints",
    "from_function": "dynlab.systems",
    "create": "dynlab.systems",
    "simulate": "dynlab.simulation",
    "driving_inputs": "dynlab.tasks",
    "StabilityMonitor": "dynlab.training.stability_monitor",
    "real_time_recurrent_learning": "dynlab.training.forward_mode",
    "over_training": "dynlab.diagnostics.over_training",
    "open": "dynlab.io",
    "save": "dynlab.io",
}

# Subpackages whose table names public functions: `dl.spectrum`, `dl.plot_spectrum`.
_TABLES = {"dynlab.diagnostics": "DIAGNOSTICS", "dynlab.plots": "PLOTS"}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(_NAMES[name]), name)
        globals()[name] = value
        return value
    if name.startswith("_"):
        raise AttributeError(f"module 'dynlab' has no attribute {name!r}")
    for module, table in _TABLES.items():
        entries = getattr(import_module(module), table)
        if name in entries:
            target, _, attribute = entries[name].partition(":")
            value = getattr(import_module(target), attribute)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'dynlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    listed = [name for module, table in _TABLES.items() for name in getattr(import_module(module), table)]
    return sorted([*globals(), *_NAMES, *listed])
