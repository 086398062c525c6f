"""The attractor of an undriven orbit on a plane, or the cobweb of a map of one state."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dynlab import schema
from dynlab.plots import layout, style
from dynlab.words import subscript

COBWEB = 40  # the last steps of an orbit, which are drawn as stairs
FEW = 100  # states, which are drawn larger


@layout.picture("Attractor", (5.4, 4.6), needs=["visited"])
def plot_attractor(ds: xr.Dataset, ax: Axes, **artist: Any) -> None:
    """Draw the states that an orbit visits: of two on their plane, of three by the first and the last.

    Of one state each is drawn over the one before it, with the diagonal and the last steps as stairs between the two.

    Parameters
    ----------
    ds : Dataset
        Result of `dynlab.lyapunov`, of a system with one to three states that nothing drives.
    ax : Axes, optional
    **artist
        For the states.
    """
    visited = ds["visited"].values
    is_flow = ds[schema.TIME].attrs["units"] == schema.SECOND
    dots: dict[str, Any] = {"ls": "none", "marker": ".", "ms": 6 if len(visited) < FEW else 1.5, "mew": 0}
    look = {"color": style.BLUE, "rasterized": len(visited) >= FEW, **({"lw": 0.6} if is_flow else dots)}
    if visited.shape[1] == 1 and not is_flow:
        _draw_cobweb(visited[:, 0], ax, look | artist)
        return
    last = visited.shape[1] - 1
    ax.plot(visited[:, 0] if last else np.arange(len(visited)), visited[:, last], **look | artist)
    ax.set(
        xlabel="state h₁" if last else "place along the orbit",
        ylabel=f"state h{subscript(last + 1)}",
        title="States that the orbit visits",
    )


def _draw_cobweb(states: NDArray[np.float64], ax: Axes, look: dict[str, Any]) -> None:
    """Up or down to the next state, then across to the diagonal, where it is the state before."""
    stairs = np.repeat(states[-COBWEB - 1 :], 2)
    ax.plot(
        stairs[:-1], stairs[1:], color=style.GREY, lw=0.6, zorder=1, label=f"last {min(COBWEB, len(states) - 1)} steps"
    )
    ends = [float(np.nanmin(states)), float(np.nanmax(states))]
    ax.plot(ends, ends, color=style.BLACK, lw=0.9, ls="--", zorder=2, label="the same state again")
    ax.plot(states[:-1], states[1:], zorder=3, label="one step", **look | {"ms": 4})
    ax.set(xlabel="state $h_t$", ylabel="next state $h_{t+1}$", title="Cobweb of the map")
    style.legend_below(ax, 3)
