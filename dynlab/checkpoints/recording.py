"""The inputs that a layer inside a larger model really receives, recorded by a hook on a copy of the model."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from dynlab.errors import UserError
from dynlab.systems import Map

# Takes inputs (sample, time, input), and whether they continue a sequence.
Keep = Callable[[Tensor, bool], None]


def record(model: nn.Module, part: nn.Module, batch: Any) -> np.ndarray:
    """Run `model` on `batch` and return what its submodule `part` was given.

    A layer that is called several times continues where it is given a state (a decoder that runs step by step), and
    begins new sequences where it is not.

    Parameters
    ----------
    model : torch.nn.Module
        A copy, in eval mode: what the run changes in it is lost.
    part : torch.nn.Module
        A recurrent layer or Cell of torch, or a system of dynlab's, in `model`.
    batch : Tensor or tuple
        The model's argument or arguments.

    Returns
    -------
    ndarray of float64, shape (sample, time, input)

    Raises
    ------
    UserError
        If the layer is not called, or the sequences have different lengths.
    """
    sequences: list[list[Tensor]] = []
    keep = functools.partial(collect, sequences)
    arguments = _arguments(batch)
    if model is part and isinstance(part, Map):
        keep(_batched(None, torch.as_tensor(arguments[0])), False)
    else:
        _run(model, part, arguments, keep)
    if not sequences:
        raise UserError(
            f"The layer {type(part).__name__} was not called when the model ran on the batch; choose another."
        )
    joined = [torch.cat(parts, dim=1) for parts in sequences]
    _check_lengths({inputs.shape[1] for inputs in joined})
    return torch.cat(joined).to(torch.float64).numpy()


def collect(sequences: list[list[Tensor]], inputs: Tensor, continues: bool) -> None:
    """Add inputs to the parts of the last sequences where they continue them, else as those of new ones."""
    inputs = inputs.detach().cpu()
    if continues and sequences and sequences[-1][0].shape[0] == inputs.shape[0]:
        sequences[-1].append(inputs)
    else:
        sequences.append([inputs])


def record_at_rest(model: nn.Module, part: nn.Module, batch: Any) -> np.ndarray | None:
    """Return what `part` is given at the last step where the model's argument or arguments are zeros, shape (input,).

    None where the batch holds no real numbers, as of tokens, and where the model makes no numbers of zeros.
    """
    zeros = tuple(map(_zeros, _arguments(batch)))
    if all(zero is argument for zero, argument in zip(zeros, _arguments(batch), strict=True)):
        return None
    try:
        found = record(model, part, zeros)[0, -1]
    except UserError:
        return None
    return found if np.isfinite(found).all() else None


def _arguments(batch: Any) -> tuple[Any, ...]:
    """Return what the model is called with; a PackedSequence is a tuple itself, but one argument."""
    return batch if isinstance(batch, tuple) and not isinstance(batch, PackedSequence) else (batch,)


def _zeros(argument: Any) -> Any:
    """Return zeros in place of real numbers; anything else, such as lengths, as it is."""
    if isinstance(argument, PackedSequence):
        return argument._replace(data=_zeros(argument.data))
    if not isinstance(argument, Tensor | np.ndarray) or not torch.as_tensor(argument).is_floating_point():
        return argument
    return torch.zeros_like(torch.as_tensor(argument))


def _run(model: nn.Module, part: nn.Module, arguments: tuple[Any, ...], keep: Keep) -> None:
    """Call the model while `part` reports its inputs; the global generators are put back where they were."""
    silence = listen(part, keep)
    devices = sorted({p.device.index for p in model.parameters() if p.device.type == "cuda"})
    try:
        with torch.no_grad(), torch.random.fork_rng(devices):
            model(*arguments)
    except UserError:
        raise
    # the model is the user's own code, and so is its error
    except Exception as error:
        raise UserError(
            f"{type(model).__name__} does not run on this batch ({type(error).__name__}: "
            f"{(str(error).splitlines() or [''])[0]}); give what it is called with, several arguments as a tuple."
        ) from error
    finally:
        silence()


def listen(part: nn.Module, keep: Keep) -> Callable[[], Any]:
    """Have `part` report every input it is given; the result ends that."""
    if isinstance(part, Map):
        step = part.step

        def reporting_step(state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
            keep(input.reshape(-1, 1, input.shape[-1]), bool(torch.as_tensor(t).max() > 0))
            return step(state, input, t)

        # a system is called by its step, which no hook sees; the attribute hides the method until it is deleted
        object.__setattr__(part, "step", reporting_step)
        return functools.partial(object.__delattr__, part, "step")

    def hook(module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        inputs = arguments[0] if arguments else named["input"]
        state = arguments[1] if len(arguments) > 1 else named.get("hx")
        if isinstance(module, nn.RNNCellBase):
            keep(inputs.reshape(-1, 1, inputs.shape[-1]), state is not None)
        else:
            keep(_batched(module, inputs), state is not None)

    return part.register_forward_pre_hook(hook, with_kwargs=True).remove


def _batched(module: nn.Module | None, inputs: Tensor | PackedSequence) -> Tensor:
    """The input of an RNN, GRU or LSTM, or without one of a system, as (sample, time, input)."""
    if isinstance(inputs, PackedSequence):
        padded, lengths = pad_packed_sequence(inputs, batch_first=True)
        _check_lengths(set(lengths.tolist()))
        return padded
    if inputs.ndim == 2:
        return inputs.unsqueeze(0)
    return inputs if module is None or module.batch_first else inputs.transpose(0, 1)


def _check_lengths(lengths: set[int]) -> None:
    if len(lengths) > 1:
        raise UserError(
            f"The layer was given sequences of different lengths ({min(lengths)} to {max(lengths)} steps); "
            f"record batches of one length."
        )
