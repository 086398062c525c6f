"""HAR-2: how much of the published accuracies is reached, and how much of them a choice of the epoch on test explains.

Each seed of a network was trained twice, on 17 of the 21 training subjects and on all of them (`scores`).
"""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dynlab import schema
from dynlab.plots import style
from dynlab.training import PRESETS
from dynlab.words import agree, joined

from .accuracies import number, published_size
from .scores import (
    BEST,
    CHOSEN,
    EXPLAINED,
    LAST,
    SELECTIONS,
    STANDARD_ERRORS,
    WORDS,
    Row,
    measured,
    two_errors,
    with_deviations,
)
from .scripts import Drawn, Panels, Results, Table, script, table_script, told, trainings
from .training_queue import queue

RECIPES = {"published": "the published recipes", "own": "dynlab's own recipe"}
LOOK: dict[str, dict[str, Any]] = {  # of a mean: what it is called, how it is drawn, how far below the name's line
    "at the epoch that held-out subjects chose": {
        "of": CHOSEN,
        "drawn": {"marker": "s", "color": style.ORANGE},
        "below": -0.2,
    },
    "at the last epoch, all subjects": {"of": LAST, "drawn": {"marker": "o", "color": style.BLUE}, "below": 0.0},
    "best on test: at each seed's best test epoch": {
        "of": BEST,
        "drawn": {"marker": "D", "color": style.GREEN},
        "below": 0.2,
    },
}
# The networks, and who measured the published number of each.
NETWORKS: Any = told("sources.toml")["tables"]["har2"]["measured_by"]
LEAST, MOST = 76.0, 98.5  # percent that is drawn


def compared(recorded: xr.Dataset) -> xr.Dataset:
    """Return what `scores.measured` says of every network under both recipes, (recipe, network, selection)."""
    return xr.concat(
        [_under(recorded, recipe) for recipe in RECIPES],
        xr.Variable((schema.RECIPE,), list(RECIPES)),
        combine_attrs="override",
    )


def _under(recorded: xr.Dataset, recipe: str) -> xr.Dataset:
    rows = {}
    for network in NETWORKS:
        start = f"har2-{recipe}-{network}-seed"
        names = [name for name in queue() if name.startswith(start) and name.endswith("-whole")]
        preset = told("queue.toml")[f"har2-published-{network}-seed0-whole"]["preset"]
        published = number(PRESETS[preset].reported)
        rows[network] = Row(published, names, size=published_size(f"ernn-har2-{network}"))
    return measured(recorded, rows, _verdict)


def _verdict(under: xr.Dataset) -> str:
    words = under["meaning"].values.tolist()
    counts = {word: sum(one.startswith(word) for one in words) for word in WORDS}
    said = "; ".join(f"{word} ({count})" for word, count in counts.items() if count)
    near = under[schema.NETWORK].values[near_another(under).values].tolist()
    rule = (
        " Choosing on test explains a number that lies above the means at the chosen and at the last epoch, and within "
        f"{STANDARD_ERRORS} standard errors of the mean at the best epoch on test. Of these numbers {len(near)} "
        f"{agree(len(near), 'lies', 'lie')} within {STANDARD_ERRORS} standard errors of one of the two other means as "
        f"well ({joined(near)}): they may be reached without it."
    )
    return f"Of {len(words)} published accuracies under the published recipes: {said}.{rule if near else ''}"


def near_another(ds: xr.Dataset) -> xr.DataArray:
    """Tell where choosing on test explains a number that lies near a mean without choosing as well."""
    near = abs(ds["score"] - ds["published"]) <= two_errors(ds)
    return near.sel({schema.SELECTION: [CHOSEN, LAST]}).any(schema.SELECTION) & (ds["meaning"] == EXPLAINED)


@table_script("har2")
def table() -> Table:
    """Return the scores of every network under both recipes beside what is published."""
    ds = compared(trainings())
    cells = [ds.sel({schema.RECIPE: recipe, schema.NETWORK: name}) for recipe in RECIPES for name in NETWORKS]
    numeric = [*SELECTIONS, "published", "cell parameters", "seeds"]
    return Table(
        "har2",
        str(ds.attrs["verdict"]),
        ["recipe", "network", *numeric, "measured by", "what the published number is"],
        [_row(one) for one in cells],
        numeric,
        ds,
    )


def _row(one: xr.Dataset) -> list[str]:
    recipe, network, meaning = (str(one[name].values) for name in (schema.RECIPE, schema.NETWORK, "meaning"))
    seeds = f"{int(one['seeds'])}" + (f", {int(one['diverged'])} diverged" if one["diverged"] else "")
    return [
        recipe,
        network,
        *with_deviations(one),
        f"{float(one['published']):.2f}",
        f"{int(one['cell_parameters']):,}" if one["cell_parameters"] else "",
        seeds,
        NETWORKS[network],
        meaning,
    ]


@script("har2", (11.0, 6.4), ncols=len(RECIPES), sharex=True, sharey=True)
def figure(results: Results, panels: Panels) -> Drawn:
    """Draw the means of every network with their errors beside the published number, a panel for each recipe."""
    ds = compared(trainings())
    for ax, (recipe, title) in zip(panels, RECIPES.items(), strict=True):
        _draw(ds.sel({schema.RECIPE: recipe}), ax)
        ax.set(title=title, xlabel="test accuracy (%)", xlim=(LEAST, MOST))
    panels[0].set_yticks(np.arange(len(NETWORKS)), list(NETWORKS))
    panels[0].invert_yaxis()
    named = {"published": Line2D([], [], color=style.BLACK, marker="|", ls="none", ms=14, mew=2)} | {
        name: Line2D([], [], ls="none", **look["drawn"]) for name, look in LOOK.items()
    }
    return Drawn(f"{ds.attrs['verdict']} `dynlab table har2` has the numbers.", named)


def _draw(under: xr.Dataset, ax: Axes) -> None:
    errors = two_errors(under)
    for row, network in enumerate(under[schema.NETWORK].values):
        one = under.sel({schema.NETWORK: network})
        ax.axhspan(row - 0.5, row + 0.5, color=style.FAINT, alpha=0.2 * (row % 2), lw=0, zorder=0)
        ax.plot(float(one["published"]), row, "|", color=style.BLACK, ms=22, mew=2, zorder=3)
        for look in LOOK.values():
            mean, error = (float(each.sel({schema.SELECTION: look["of"]})) for each in (one["score"], errors[row]))
            ax.errorbar(mean, row + look["below"], xerr=error, **look["drawn"], ms=5, lw=1.4, zorder=4)
        if not one["seeds"]:
            ax.text(LEAST + 1, row, "every seed diverged", va="center", color=style.GREY)
