"""Tables 1 and 2 of the ERNN paper: how large its data sets are, and how short what matters in them is."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dynlab import schema
from dynlab.tasks import create as create_task
from dynlab.tasks import images, ptb

from .scripts import Results, Table, kept, table_script, told

COLUMNS = ("training sequences", "features", "steps", "test sequences")
MISSING = -1  # in the paper, or not counted here
RIGHT, WRONG, NOT_COUNTED = "holds", "does not hold", "not run: the data set is not at hand"


def _published(table: str) -> Any:
    """Return the rows of a table of the paper, lists by name."""
    return told("sources.toml")["tables"][table]["published"]


def _har2() -> tuple[int, int, int, int]:
    task = create_task("har2", retrain=True)
    _, steps, signals = task.train.inputs.shape
    return len(task.train.inputs), steps * signals, steps, len(task.test.inputs)


def _images(load: Callable[[], images.Images], steps: int | None) -> tuple[int, int, int, int]:
    """Return the sizes of a set of images; pixel by pixel where no number of steps is given."""
    train, test, _ = load()
    features = int(np.prod(train.inputs.shape[1:]))
    return len(train), features, steps or features, len(test)


def _ptb() -> tuple[int, int, int, int]:
    _, (train, _, test), _ = ptb.load("word")
    return len(train), MISSING, MISSING, len(test)


COUNTED: dict[str, Callable[[], tuple[int, int, int, int]]] = {
    "HAR-2": _har2,
    "PTB-10000": _ptb,
    "Pixel-MNIST-10": lambda: _images(images.mnist, None),
    "Permuted-MNIST": lambda: _images(images.mnist, None),
    "Noisy-MNIST": lambda: _images(images.mnist, images.LENGTH),
    "Noisy-CIFAR": lambda: _images(images.cifar, images.LENGTH),
}


def compute(fast: bool) -> Results:
    """Count what the data sets that are at hand have."""
    published = _published("ernn-1")
    found = [COUNTED[name]() if name in COUNTED else (MISSING,) * len(COLUMNS) for name in published]
    both = ("data_set", schema.SELECTION)
    ds = schema.dataset(
        {
            "published": schema.variable(both, list(published.values()), "in the paper"),
            "counted": schema.variable(both, found, "counted, −1 where it was not"),
        },
        system="none",
        settings={"length": images.LENGTH},
        method="counted in the official files",
        coords={"data_set": list(published), schema.SELECTION: list(COLUMNS)},
    )
    return {"sizes": ds}


@table_script("ernn-table-1", compute)
def table_1() -> Table:
    """Return the sizes of the data sets, published and counted."""
    ds = kept("ernn-table-1")["sizes"]
    rows, wrong = [], []
    for name in ds["data_set"].values.tolist():
        one = ds.sel(data_set=name)
        published, counted = one["published"].values, one["counted"].values
        known = (published != MISSING) & (counted != MISSING)
        off = known & (published != counted)
        wrong += [f"{name} has {counted[i]:,} {COLUMNS[i]}, the table {published[i]:,}" for i in np.flatnonzero(off)]
        verdict = NOT_COUNTED if not known.any() else WRONG if off.any() else RIGHT
        rows.append([name, *map(_beside, published, counted), verdict])
    return Table(
        "ernn-1",
        f"{sum(row[-1] == RIGHT for row in rows)} of {len(rows)} rows hold. {'; '.join(wrong)}. Each cell is the "
        "paper's number, then what was counted.",
        ["data set", *COLUMNS, "verdict"],
        rows,
        list(COLUMNS),
        ds,
    )


def _beside(published: int, counted: int) -> str:
    return " / ".join("–" if value == MISSING else f"{value:,}" for value in (published, counted))


@table_script("ernn-2")
def table_2() -> Table:
    """Return the ratios of an activity to its input, published and computed."""
    rows, steps = [], []
    for name, (active, whole, length, ratio) in _published("ernn-2").items():
        steps.append(active / whole * length)
        said = int(ratio.partition("/")[0])
        verdict = RIGHT if steps[-1] == said else "holds, rounded up" if np.ceil(steps[-1]) == said else WRONG
        rows.append([name, f"{active:g}", f"{whole:g}", ratio, f"{steps[-1]:.3g} of {length}", verdict])
    ds = schema.dataset(
        {"steps": schema.variable(("data_set",), steps, "steps of an activity", schema.STEP)},
        system="none",
        settings={},
        coords={"data_set": [row[0] for row in rows]},
    )
    return Table(
        "ernn-2",
        f"{sum(row[-1] != WRONG for row in rows)} of {len(rows)} ratios are those of the times. How long an activity "
        "takes is the paper's word: no data set marks it.",
        ["data set", "activity (ms; words)", "input (ms; words)", "ratio", "steps computed", "verdict"],
        rows,
        ["activity (ms; words)", "input (ms; words)", "ratio", "steps computed"],
        ds,
    )
