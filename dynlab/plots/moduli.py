"""How far the moduli of eigenvalues are from 1, in powers of ten: of a network whose moduli over time are one block."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from dynlab import schema
from dynlab.plots import style

CLOSE = 0.02  # of 1: where the median modulus is so near, bands of moduli over time show nothing
FEWEST = 5  # modes: fewer have a line each over time
FEWEST_BARS = 3.0  # to each side of 0, of which some may be empty
SMALLEST, DECADES = 1e-6, 6  # the least distance from 1 that is told from none, and the powers of ten from it to 1
LOOKS = (
    (style.BLUE, "shrinks in a step"),
    (style.GREY, "keeps its size: |μ| = 1 ± 10⁻⁶"),
    (style.VERMILION, "grows in a step"),
)
PLACES = {2.5: "10⁻⁴", 4.5: "10⁻²", 6.5: "10⁰"}  # of the edges of bars, a bar a power of ten


def hug_the_circle(ds: xr.Dataset) -> bool:
    """Whether the median of the known moduli of a network of many modes is nearly 1."""
    found = _moduli(ds)
    return ds.sizes[schema.MODE] >= FEWEST and found.size > 0 and abs(float(np.median(found)) - 1) < CLOSE


def draw_moduli(ds: xr.Dataset, ax: Axes) -> None:
    """A bar for each power of ten of |μ| − 1 below and above 0, as high as its share of all modes, samples and steps.

    Parameters
    ----------
    ds : Dataset
        Of `dynlab.spectrum`.
    ax : Axes
    """
    distance = _moduli(ds) - 1
    steps = np.ceil(np.log10(np.maximum(np.abs(distance), SMALLEST) / SMALLEST))
    bars = np.where(distance < 0, -np.minimum(steps, DECADES), np.minimum(steps, DECADES + 1))  # no modulus is below 0
    places, counts = np.unique(bars, return_counts=True)
    shares = 100 * counts / distance.size
    for sign, (colour, words) in zip((-1, 0, 1), LOOKS, strict=True):
        own = np.sign(places) == sign
        if own.any():
            ax.bar(places[own], shares[own], width=0.9, color=colour, label=words)
    low, high = min(-FEWEST_BARS, float(places.min())), max(FEWEST_BARS, float(places.max()))
    edges = [-edge for edge in reversed(PLACES)] + [0.0, *PLACES]
    names = [f"−{name}" for name in reversed(PLACES.values())] + ["0", *PLACES.values()]
    seen = [place for place, edge in enumerate(edges) if low - 0.5 <= edge <= high + 0.5]
    ax.set_xticks([edges[place] for place in seen], [names[place] for place in seen])
    ax.set(xlim=(low - 0.6, high + 0.6), xlabel="|μ| − 1, a bar a power of ten", ylabel="share of the modes (%)")
    ax.set_title("How far the moduli |μ| are from 1")
    style.legend_below(ax, 1)


def _moduli(ds: xr.Dataset) -> np.ndarray:
    """All that are known."""
    values = ds["eigenvalue"].transpose(schema.SAMPLE, schema.TIME, schema.MODE).values
    known = schema.known(ds, "spectral_radius").transpose(schema.SAMPLE, schema.TIME).values[..., None]
    return np.asarray(np.abs(values[np.isfinite(values) & known]))
