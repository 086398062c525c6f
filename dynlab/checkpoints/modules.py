"""A recurrent layer of a torch module as a system, where a hook records its real inputs.

The module is the user's, or what ``--system package.module:factory`` makes, with a file's weights.
"""

import inspect
import os
import pkgutil
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from dynlab.checkpoints.contents import Contents
from dynlab.checkpoints.document import load_weights
from dynlab.checkpoints.layers import check_finite
from dynlab.checkpoints.naming import Choice, choose
from dynlab.checkpoints.recording import record, record_at_rest
from dynlab.errors import UserError
from dynlab.systems import System, from_function, frozen
from dynlab.systems.function import OF_CODE, Function
from dynlab.systems.module_copy import copied
from dynlab.systems.torch_layers import RecurrentModule, torch_layer

OF_WEIGHTS = WeightNorm | SpectralNorm | BasePruningMethod  # hooks that make a weight of its parts before a call
ROWS = 3  # steps and sequences on which a layer's own forward is compared with torch's


def from_module(module: nn.Module, layer: str | None = None, batch: Any = None, **step: Any) -> System:
    """A recurrent network inside a torch module, or a module that is one step, as a system ready for analysis.

    Parameters
    ----------
    module : torch.nn.Module
        An RNN, GRU, LSTM or Cell of torch, a system of dynlab's, or a larger model that holds one. It is copied, and
        never changed: its hooks, training flag, gradients and device stay as they are, and no random number is drawn
        from the global generators.
    layer : str, optional
        One of several: the submodule's name, then ``:1`` or ``:1r`` for a layer or its reverse direction.
    batch : Tensor or tuple, optional
        The argument that the model is called with (a tuple: its arguments). The model's copy is run on it in eval
        mode. What the layer really receives is kept as ``system.recorded_inputs``, shape (sample, time, input), in
        float64. Every diagnostic takes these where it is given no other inputs.
    **step
        For a module that is itself one step: what `dynlab.from_function` takes, `state_size`, `input_size`, `order` and
        `complex_state`. Its `batch` is the inputs, shape (sample, time, input).

    Returns
    -------
    System
        In float64, in eval mode, on the CPU.

    Raises
    ------
    UserError
        If the model has no recurrent layer, or one that overrides what torch's computes, or several and no `layer`.
        If the layer is not called with `batch`, or with sequences of different lengths. Where weights are NaN or
        infinite.

    Examples
    --------
    >>> import torch
    >>> model = nn.ModuleDict({"rnn": nn.LSTM(3, 8, num_layers=2), "head": nn.Linear(8, 2)})
    >>> from_module(model, layer="rnn").state_size
    32
    >>> from_module(nn.Bilinear(2, 3, 2), state_size=2, input_size=3, order="hx").state_size
    2
    """
    if not isinstance(module, nn.Module):
        raise UserError(
            f"from_module takes a torch.nn.Module, got {type(module).__name__}; of a function, from_function."
        )
    module = from_function(unwrapped(module), **step) if step else unwrapped(module)
    found = recurrent_parts(module)
    if not found:
        kinds = sorted({type(part).__name__ for part in module.modules()})
        raise UserError(
            f"{type(module).__name__} holds no RNN, GRU, LSTM or system of dynlab's (it holds {', '.join(kinds)}). "
            f"If it is one step, say its sizes: from_module(module, state_size=8, input_size=3), with order='xh' where "
            f"it takes the input first; --system mine:network names a function that returns that, in mine.py "
            f"`import dynlab`, `def network():`, "
            f"`    return dynlab.from_module({type(module).__name__}(…), state_size=8, input_size=3)`."
        )
    chosen = choose(found, layer)
    model = _copied(module)
    part = cast(System | RecurrentModule, model.get_submodule(chosen.prefix))
    check_finite(part.state_dict(), type(module).__name__)
    recorded = None if batch is None else record(model, part, batch)
    system = part_system(part, chosen)
    system.recorded_inputs = recorded
    system.part_of = "" if part is model else type(module).__name__
    system.rest_input = None if batch is None else record_at_rest(model, part, batch)
    return system


def unwrapped(module: nn.Module) -> nn.Module:
    """The model inside what torch.compile and DataParallel put around it, so that names are those of its own."""
    if isinstance(module, nn.DataParallel | nn.parallel.DistributedDataParallel):
        return unwrapped(module.module)
    if "_orig_mod" in module._modules:  # the wrapper's class is private to torch.compile
        return unwrapped(module.get_submodule("_orig_mod"))
    return module


def recurrent_parts(module: nn.Module, prefix: str = "") -> dict[str, System | RecurrentModule]:
    """Every recurrent submodule by its name; what a system is made of is not asked for."""
    if isinstance(module, System | nn.RNN | nn.GRU | nn.LSTM | nn.RNNCellBase):
        return {prefix: module}
    found: dict[str, System | RecurrentModule] = {}
    for name, part in module.named_children():
        found |= recurrent_parts(part, f"{prefix}.{name}" if prefix else name)
    return found


def _copied(module: nn.Module) -> nn.Module:
    """A copy in eval mode, whose weights that older hooks make before a call are those of the next call."""
    try:
        found = copied(module).eval()
        for part in found.modules():
            for hook in part._forward_pre_hooks.values():
                if isinstance(hook, OF_WEIGHTS):
                    hook(part, None)
        return found
    except (RuntimeError, TypeError) as error:
        raise UserError(
            f"{type(module).__name__} cannot be copied ({str(error).splitlines()[0]}); load its state_dict into a "
            f"fresh one and give that."
        ) from error


def part_system(part: System | RecurrentModule, chosen: Choice) -> System:
    """The system of a submodule; a parametrised weight (weight norm, orthogonal) is read as an attribute, at its value.

    Its parametrisation is left on: to remove it from a copy changes the class, which the copy shares with the original.
    """
    if isinstance(part, System):
        return frozen(part)
    _check_forward(part, chosen)
    return frozen(torch_layer(part, chosen.number, chosen.reverse))


def _check_forward(part: RecurrentModule, chosen: Choice) -> None:
    """Raise where a layer computes something else than torch's own with its weights, in a `forward` or by a hook."""
    own: Any = next(kind for kind in type(part).__mro__ if kind.__module__.startswith("torch."))
    hooks = (*part._forward_hooks.values(), *part._forward_pre_hooks.values())
    hooked = any(not isinstance(hook, OF_WEIGHTS) for hook in hooks)
    if type(part).forward is own.forward and "forward" not in vars(part) and not hooked:
        return
    is_cell = isinstance(part, nn.RNNCellBase)
    shape = (ROWS, part.input_size) if is_cell else (ROWS, ROWS, part.input_size)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(next(part.parameters()))
    try:
        with torch.no_grad():
            found = own.forward(part, x)
            state = found if is_cell else found[1]
            torch.testing.assert_close(part(x, state), own.forward(part, x, state))
    except (*OF_CODE, AssertionError) as error:
        raise UserError(
            f"{chosen.prefix or 'The model'} is a {type(part).__name__}, which computes something else than torch's "
            f"{own.__name__} with the same weights, in a forward of its own or by a hook. Take its step: of a cell "
            f"from_module(cell, state_size=, input_size=, order='xh'), else from_function. If the states are torch's "
            f"own, load its state_dict into a plain nn.{own.__name__}."
        ) from error


def from_factory(
    path: Path, contents: Contents, name: str, layer: str | None, batch: NDArray[np.float64] | None
) -> System:
    """The system in the model that the user's factory makes, with the weights of `contents`.

    It may be a part of a larger model, whose name `layer` then is.

    A model that is larger than the system is run on `batch` (sample, time, input), with time first where its layer has
    it so. The factory is called with those of the file's hyper-parameters that it takes by name. Only here does
    reading a checkpoint run code, and it is the code that the user names.

    Raises
    ------
    UserError
        If the factory cannot be imported, fails, or makes a model that the weights do not fit.
    """
    check_finite(contents.tensors, str(path))
    module = _built(name, contents.facts.get("hyper_parameters"))
    own = module.f if isinstance(module, Function) and isinstance(module.f, nn.Module) else module
    fits = module if module.state_dict().keys() == contents.tensors.keys() else own  # a file of ours, or of the user's
    weights, head = contents.tensors, f"{layer}."
    inside = {key.removeprefix(head): value for key, value in weights.items() if key.startswith(head)}
    if inside.keys() == fits.state_dict().keys():
        weights, layer = inside, None
    load_weights(
        fits,
        weights,
        f"{path}: the weights do not fit what {name} makes (--layer names the part of a larger model that holds them)",
    )
    system = from_module(module, layer)
    if batch is not None and system.part_of:
        inner = unwrapped(module).get_submodule(choose(recurrent_parts(unwrapped(module)), layer).prefix)
        given = torch.as_tensor(batch).to(next(module.parameters()))
        system = from_module(module, layer, given if getattr(inner, "batch_first", True) else given.transpose(0, 1))
    return system


def _built(name: str, hyper_parameters: Any) -> nn.Module:
    """The model that the user's factory makes, which is imported as `python -m` does, from the working folder too."""
    if ":" not in name:
        raise UserError(f"--system takes PACKAGE.MODULE:FACTORY, got {name!r}.")
    told = hyper_parameters if isinstance(hyper_parameters, dict) else {}
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        factory = pkgutil.resolve_name(name)
        takes = inspect.signature(factory).parameters
        module = factory(**{key: value for key, value in told.items() if key in takes})
    # the module and its factory are the user's own code, and so is their error
    except (Exception, SystemExit) as error:
        raise UserError(
            f"--system {name!r} failed ({type(error).__name__}: {error}): run in the folder of your module. It is "
            f"called with those of the file's hyper-parameters that it takes by name: {', '.join(told) or 'none here'}."
        ) from error
    finally:
        sys.path.remove(folder)
    if not isinstance(module, nn.Module):
        raise UserError(f"--system {name!r} must make a torch.nn.Module, got {type(module).__name__}.")
    return module
