"""A model of the user's own class, built by ``--system package.module:factory``, with a file's weights."""

import inspect
import os
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from dynlab.checkpoints.contents import Contents
from dynlab.checkpoints.document import load_weights
from dynlab.checkpoints.layers import check_finite
from dynlab.checkpoints.modules import from_module
from dynlab.errors import UserError
from dynlab.systems import System


def from_factory(path: Path, contents: Contents, name: str, layer: str | None) -> System:
    """The system in the model that the user's factory makes, with the weights of `contents`.

    The factory is called with those of the file's hyper-parameters that it takes by name. Only here does reading a
    checkpoint run code, and it is the code that the user names.

    Raises
    ------
    UserError
        Where the factory cannot be imported, fails, or makes a model that the weights do not fit.
    """
    check_finite(contents.tensors, str(path))
    module = _built(_imported(name), name, contents.facts.get("hyper_parameters"))
    load_weights(module, contents.tensors, f"{path}: the weights do not fit what {name} makes")
    return from_module(module, layer)


def _imported(name: str) -> Callable[..., Any]:
    folder = os.getcwd()
    if ":" not in name:
        raise UserError(f"--system takes PACKAGE.MODULE:FACTORY, got {name!r}.")
    sys.path.insert(0, folder)  # as `python -m` does: a module in the working folder is found
    try:
        factory = pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"--system {name!r} cannot be imported ({error}): run in the folder of your module.") from error
    finally:
        sys.path.remove(folder)
    if not callable(factory):
        raise UserError(
            f"--system {name!r} is a {type(factory).__name__}; name a class or function that makes the model."
        )
    return factory


def _built(factory: Callable[..., Any], name: str, hyper_parameters: Any) -> nn.Module:
    told = hyper_parameters if isinstance(hyper_parameters, dict) else {}
    try:
        takes = inspect.signature(factory).parameters
        module = factory(**{key: value for key, value in told.items() if key in takes})
    # the factory is the user's own code, and so is its error
    except Exception as error:
        raise UserError(
            f"--system {name!r} failed ({type(error).__name__}: {error}); it is called with those of the file's "
            f"hyper-parameters that it takes by name: {', '.join(told) or 'none here'}."
        ) from error
    if not isinstance(module, nn.Module):
        raise UserError(f"--system {name!r} must make a torch.nn.Module, got {type(module).__name__}.")
    return module
