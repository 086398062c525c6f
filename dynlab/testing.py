"""Bounds on a network's eigenvalues, gradients and exponents, asserted in users' own test suites.

Importing this module imports no torch; the functions do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dynlab as dl
from dynlab.errors import UserError
from dynlab.words import digits_against, number, unit_after

if TYPE_CHECKING:
    import xarray as xr
    from torch import nn

    from dynlab.systems import Map

__all__ = ["assert_eigenvalue_bounds", "describe", "hold", "measure_bounds", "table"]

# What is counted where a bound is violated; of the others it is samples.
COUNTED = {"max_modulus": "moduli", "max_real": "real parts"}


def assert_eigenvalue_bounds(
    network: Map | nn.Module | str | Path,
    inputs: Any = None,
    *,
    strict: bool = False,
    layer: str | None = None,
    encoder: str | None = None,
    batch: Any = None,
    samples: int | None = None,
    steps: int = 50,
    seed: int = 0,
    **bounds: Any,
) -> xr.Dataset:
    """Assert that a network keeps bounds along what drives it.

    Parameters
    ----------
    network : System, torch.nn.Module, str or Path
        A system of dynlab's; a module of torch's, or a larger model that holds one; a checkpoint's path, or a name that
        `dynlab list zoo` prints. It is never changed.
    inputs : array_like or str, optional
        An array of shape (time, input) or (sample, time, input); or words such as ``noise:1.0``, ``zero``,
        ``task:har2`` or a file's name, as the commands take them. Without it: what `batch` shows of the layer's
        inputs, else the checkpoint's own task where its data are at hand, else white noise.
    strict : bool
        A value within its own error of its bound fails as well.
    layer : str, optional
        One of several recurrent layers.
    encoder : str, optional
        Linear layer before the recurrent one of a file, ``"encoder:tanh"``.
    batch : Tensor or tuple, optional
        Arguments of a larger model: the real inputs of its recurrent layer are recorded.
    samples : int, optional
        Sequences at most; by default all of a file or of `batch`, 16 of others.
    steps, seed : int
        Length and seed of inputs that are made up.
    **bounds
        Those of `dynlab.eigenvalue_bounds`: ``max_modulus=``, ``max_real=``, ``min_log_gradient=``,
        ``max_log_gradient=``, ``max_exponent=``; and ``times=``, ``initial_state=``, ``dtype=``, ``device=``.

    Returns
    -------
    xarray.Dataset
        The result of `dynlab.eigenvalue_bounds`.

    Raises
    ------
    AssertionError
        If a bound is violated, or its number or that number's error is not known; with a table of all of them.
    UserError
        For bad arguments.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.GRU(3, 8)
    >>> ds = assert_eigenvalue_bounds(model, "noise:1.0", max_modulus=1.0, max_exponent=0)
    >>> ds.outcome.values.tolist()
    ['holds', 'holds']
    """
    measured = measure_bounds(
        network, inputs, layer=layer, encoder=encoder, batch=batch, samples=samples, steps=steps, seed=seed, **bounds
    )
    hold(measured, strict=strict)
    return measured


def measure_bounds(
    network: Map | nn.Module | str | Path,
    inputs: Any = None,
    *,
    layer: str | None = None,
    encoder: str | None = None,
    batch: Any = None,
    samples: int | None = None,
    steps: int = 50,
    seed: int = 0,
    **bounds: Any,
) -> xr.Dataset:
    """Measure what `assert_eigenvalue_bounds` judges."""
    from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds

    if not isinstance(network, str | Path):
        system: Any = dl.from_module(network, layer, batch)
    elif batch is None:
        system = dl.load(network, layer, encoder=encoder)
    else:
        raise UserError("batch= is what a module is called with, and a checkpoint is none: give inputs=.")
    described = ""
    if inputs is None or isinstance(inputs, str):
        driving = dl.driving_inputs(inputs, system, samples=samples, steps=steps, seed=seed)
        inputs, described = driving.inputs, driving.description
    return eigenvalue_bounds(system, inputs, seed=seed, inputs_description=described, **bounds)


def hold(measured: xr.Dataset, *, strict: bool = False) -> None:
    """Raise an AssertionError with a table unless every bound of `measured` holds."""
    from dynlab.diagnostics.eigenvalue_bounds.judgement import HOLDS, overall

    if overall(measured["outcome"].values.tolist(), strict=strict) != HOLDS:
        raise AssertionError(f"{measured.attrs['verdict']}\n\n{table(measured)}")


def table(measured: xr.Dataset) -> str:
    """Return the bounds of a Dataset of `dynlab.eigenvalue_bounds` as text: one row each, and why any is undecided."""
    ones = [measured.isel(bound=index) for index in range(measured.sizes["bound"])]
    rows = [("bound", "measured", "error", "margin", "where", "verdict"), *map(_row, ones)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines.insert(1, "  ".join("─" * widest for widest in widths))
    notes = [f"{_text(one, 'bound')}: {_text(one, 'reason')}" for one in ones if _text(one, "reason")]
    return "\n".join(lines + (["", *notes] if notes else []))


def describe(one: xr.Dataset) -> str:
    """Return one bound in one line.

    Parameters
    ----------
    one : Dataset
        The result of `dynlab.eigenvalue_bounds`, at one index of ``bound``.
    """
    bound, measured, error, margin, where, verdict = _row(one)
    said = f"{bound}: {_text(one, 'quantity')} measured {measured} (error {error}, margin {margin}; {where}): {verdict}"
    return f"{said}, {_text(one, 'reason')}" if _text(one, "reason") else said


def _row(one: xr.Dataset) -> tuple[str, ...]:
    side = "≤" if one["is_upper"] else "≥"
    limit, measured, error = float(one["limit"]), float(one["measured"]), float(one["error"])
    violations, compared = int(one["violations"]), int(one["compared"])
    noun = COUNTED.get(_text(one, "bound"), "samples")
    count = f" ({violations:,} of {compared:,} {noun})" if violations and compared > 1 else ""
    typed = digits_against(limit, limit, 1)
    return (
        f"{_text(one, 'bound')} {side} {number(limit, typed)}{unit_after(_text(one, 'unit'))}",
        number(measured, digits_against(measured, limit, 6)),
        number(error, 2) if abs(error) < float("inf") else "none",
        number(float(one["margin"]), 6),
        _where(one),
        _text(one, "outcome") + count,
    )


def _where(one: xr.Dataset) -> str:
    sample, step, mode = (int(one[f"where_{word}"]) for word in ("sample", "step", "mode"))
    said = [f"sample {sample}" if sample >= 0 else "mean of samples"]
    said += [f"step {step}"] * (step >= 0)
    said += [f"eigenvalue no. {mode + 1}"] * (mode >= 0 and _text(one, "bound") in COUNTED)
    return ", ".join(said)


def _text(one: xr.Dataset, name: str) -> str:
    return str(one[name].values)
