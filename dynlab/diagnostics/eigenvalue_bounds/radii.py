"""Spectral radii of large Jacobians along a trajectory, from powers: a bound on moduli needs no eigenvalues."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.spectrum import NOT_COMPUTED
from dynlab.driven import Driven, chosen_steps
from dynlab.numerics.spectral_radius import spectral_radii
from dynlab.numerics.threads import slices
from dynlab.systems import Map

LARGEST_SOLVED = 256  # units of a diagonal block: up to here all eigenvalues are computed in a few seconds
SAMPLES = 16  # whose Jacobians at one step are held at once
METHOD = "spectral radii between roots of traces and norms of powers, or from eigenvalues where the bound is between"


def by_powers(system: Map) -> bool:
    """Whether the moduli of a system's eigenvalues are bounded by powers of its Jacobians."""
    return max(system.blocks) > LARGEST_SOLVED


def spectral_radius(driven: Driven, times: int, limit: float) -> xr.Dataset:
    """The middle of what encloses the spectral radius of each Jacobian, and how far from it the true one may be.

    Parameters
    ----------
    driven : Driven
    times : int
        How many steps of a sequence are linearised.
    limit : float
        That these are to be told from.

    Returns
    -------
    xarray.Dataset
        ``spectral_radius(sample, time)`` and ``spectral_radius_error``, which tell it from `limit`, and those from
        powers alone, ``power_radius`` and ``power_radius_error``; NaN where a Jacobian is not finite.
    """
    samples = len(driven.states)
    steps = chosen_steps(driven.steps, times)
    bounds = np.empty((4, samples, len(steps)))
    for some in slices(samples, SAMPLES):
        done = 0
        for found in driven.of(some).diagonal_blocks(driven.system, steps):
            blocks, errors = (
                [part.reshape(-1, *part.shape[2:]) for part in parts] for parts in zip(*found, strict=True)
            )
            shape = found[0][0].shape[:2]
            at = slice(done, done := done + shape[1])
            ends = spectral_radii(blocks, errors, limit)
            bounds[:, some, at] = [end.reshape(shape) for end in ends]
    middle = (bounds[0::2] + bounds[1::2]) / 2
    error = (bounds[1::2] - bounds[0::2]) / 2 + 2 * np.finfo(np.float64).eps * middle
    each, words = (schema.SAMPLE, schema.TIME), "spectral radius of ∂h_t/∂h_{t−1}"
    return schema.dataset(
        {
            "spectral_radius": schema.variable(each, middle[0], words),
            "spectral_radius_error": schema.variable(each, error[0], f"bound on the error of the {words}"),
            "power_radius": schema.variable(each, middle[1], f"{words}, from powers"),
            "power_radius_error": schema.variable(each, error[1], f"bound on the error of the {words}, from powers"),
        },
        system=driven.system.name,
        source=driven.system.source,
        settings=driven.settings | {"times": len(steps)},
        method=METHOD,
        coords={schema.TIME: schema.time_coordinate(steps)},
        flags={} if np.isfinite(error).all() else {"spectral_radius": NOT_COMPUTED},
    )
