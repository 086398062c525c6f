"""Does a network forget? One sentence from what its gradients keep and where its states can stay."""

import numpy as np
import xarray as xr


def memory(gradient: xr.Dataset, fixed_points: xr.Dataset) -> str:
    """Return the answer, from the Datasets of `dynlab.gradient` and `dynlab.fixed_points`.

    Examples
    --------
    >>> lost = xr.Dataset({"lost_after": ("sample", [10.0, 12.0]), "surviving": ("sample", [0.0, 0.0])})
    >>> memory(lost, xr.Dataset({"stable": ("fixed_point", [1, 1, 0])})).partition(" (")[0]
    'It forgets the size of a change within 11 steps'
    """
    kept, stable = gradient["surviving"].values, int((fixed_points["stable"].values == 1).sum())
    lost = gradient["lost_after"].values
    if np.isfinite(kept).all() and (kept > 0).all():
        return "It does not forget over these sequences: at least one direction of change survives them all."
    if not np.isfinite(lost).any():
        return ""
    median = float(np.nanmedian(lost))
    steps = f"{median:g} step{'s' * (median != 1)} (median)"
    if stable > 1:
        points = f"{stable} stable fixed points"
        return f"It forgets the size of a change within {steps}, but remembers for ever which of {points} it is at."
    return f"It forgets: changes are lost within {steps}, and no second stable fixed point holds a memory."
