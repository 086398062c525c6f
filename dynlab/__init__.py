"""dynlab: what recurrent networks do over time, and whether their gradients survive.

The public names stand in ``__init__.pyi`` and are imported when they are first used, so that ``import dynlab`` costs
nothing.
"""

import warnings
from pathlib import Path

import lazy_loader

__version__ = "0.2.0"

if Path(__file__).with_name("flows.py").exists():  # a file of an unrelated package that is called dynlab, and not ours
    warnings.warn(
        "Files of another package, dynlab, lie among those of dynlab-rnn, and removing it would remove some of these: "
        "pip uninstall dynlab, then pip install --force-reinstall --no-deps dynlab-rnn.",
        stacklevel=2,
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
