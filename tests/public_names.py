"""The public names by what they are, as `dynlab/__init__.pyi` lists them."""

import re
from pathlib import Path

import dynlab

STUB = Path(dynlab.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
LINES = re.findall(r"^from \.(\S+) import (\w+) as \2$", STUB, re.MULTILINE)
PLACES = {name: f"dynlab.{module}" for module, name in LINES}
PLOTS = [name for name, module in PLACES.items() if module.startswith("dynlab.plots.")]
DIAGNOSTICS = [
    name for name, module in PLACES.items() if module.startswith("dynlab.diagnostics.") and name != "over_training"
]
