"""dynlab: what recurrent networks do over time, and whether their gradients survive.

The public names below are imported when they are first used, so that ``import dynlab`` costs nothing.
Their types stand in ``__init__.pyi``.
"""

import warnings
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

__version__ = "0.2.0"

if Path(__file__).with_name("flows.py").exists():  # a file of an unrelated package that is called dynlab, and not ours
    warnings.warn(
        "Files of another package, dynlab, lie among those of dynlab-rnn, and removing it would remove some of these: "
        "pip uninstall dynlab, then pip install --force-reinstall --no-deps dynlab-rnn.",
        stacklevel=2,
    )

_NAMES = {
    "load": "dynlab.zoo",
    "from_module": "dynlab.checkpoints",
    "save_checkpoint": "dynlab.checkpoints",
    "from_function": "dynlab.systems",
    "create": "dynlab.systems",
    "Map": "dynlab.systems",
    "Flow": "dynlab.systems",
    "Euler": "dynlab.systems",
    "EquationFlow": "dynlab.systems.equations",
    "EquationMap": "dynlab.systems.equations",
    "simulate": "dynlab.trajectories.simulation",
    "driving_inputs": "dynlab.tasks",
    "StabilityMonitor": "dynlab.training.stability_monitor",
    "real_time_recurrent_learning": "dynlab.training.forward_mode",
    "over_training": "dynlab.diagnostics.over_training",
    "open": "dynlab.io",
    "save": "dynlab.io",
}

# Subpackages whose table names public functions: `dl.spectrum`, `dl.plot_spectrum`.
_TABLES = {"dynlab.diagnostics": "DIAGNOSTICS", "dynlab.plots": "PLOTS"}


def _places() -> dict[str, str]:
    """Every public name with its ``"module:attribute"``."""
    places = {name: f"{module}:{name}" for name, module in _NAMES.items()}
    for module, table in _TABLES.items():
        places |= getattr(import_module(module), table)
    return places


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_places())
    place = None if name.startswith("_") else _places().get(name)  # Python itself asks for names with underscores
    if place is None:
        raise AttributeError(f"module 'dynlab' has no attribute {name!r}")
    value = globals()[name] = resolve_name(place)
    return value


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *_places()})
