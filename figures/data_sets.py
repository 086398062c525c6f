"""Tables 1 and 2 of the ERNN paper: how large its data sets are, and how short what matters in them is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynlab import schema
from dynlab.tasks import cifar, images, mnist, ptb
from dynlab.tasks import create as create_task

from .kept import Results, keep, kept
from .scripts import Table

COLUMNS = ("training sequences", "features", "steps", "test sequences")
MISSING = -1  # in the paper, or not counted here
# The paper's Table 1; of PTB the sequences are tokens.
PUBLISHED = {
    "DSA-19": (4560, 5625, 125, 4560),
    "HAR-2": (7352, 1152, 128, 2947),
    "Google-12": (22246, 3168, 99, 3081),
    "Google-30": (51088, 3168, 99, 6835),
    "PTB-10000": (929589, MISSING, 300, 82430),
    "Yelp-5": (500000, 38400, 300, 500000),
    "Pixel-MNIST-10": (60000, 784, 784, 10000),
    "Permuted-MNIST": (60000, 784, 784, 10000),
    "Noisy-MNIST": (60000, 784, 1000, 10000),
    "Noisy-CIFAR": (60000, 3072, 1000, 10000),
}


@dataclass(frozen=True)
class Activity:
    """A row of the paper's Table 2: the activity's and the input's time, in one unit, the steps, and the ratio."""

    active: float
    whole: float
    steps: int
    ratio: str


ACTIVITIES = {
    "Google-12; 30": Activity(25, 1000, 99, "3/99"),
    "DSA-19": Activity(500, 5000, 125, "13/125"),
    "HAR-2": Activity(256, 2560, 128, "13/128"),
    "Yelp-5": Activity(20, 300, 15, "1/15"),
}
RIGHT, WRONG, NOT_COUNTED = "holds", "does not hold", "not run: the data set is not at hand"


def _har2() -> tuple[int, int, int, int]:
    task = create_task("har2", retrain=True)
    _, steps, signals = task.train.inputs.shape
    return len(task.train.inputs), steps * signals, steps, len(task.test.inputs)


def _images(load: Callable[[], images.Images], steps: int | None) -> tuple[int, int, int, int]:
    """The images of a set; pixel by pixel where no number of steps is given."""
    found = load()
    features = int(np.prod(found.x_train.shape[1:]))
    return len(found.x_train), features, steps or features, len(found.x_test)


def _ptb() -> tuple[int, int, int, int]:
    corpus = ptb.load("word")
    return len(corpus.train), MISSING, MISSING, len(corpus.test)


COUNTED: dict[str, Callable[[], tuple[int, int, int, int]]] = {
    "HAR-2": _har2,
    "PTB-10000": _ptb,
    "Pixel-MNIST-10": lambda: _images(mnist.load, None),
    "Permuted-MNIST": lambda: _images(mnist.load, None),
    "Noisy-MNIST": lambda: _images(mnist.load, mnist.LENGTH),
    "Noisy-CIFAR": lambda: _images(cifar.load, mnist.LENGTH),
}


def compute() -> Results:
    """What the data sets that are at hand have."""
    found = [COUNTED[name]() if name in COUNTED else (MISSING,) * len(COLUMNS) for name in PUBLISHED]
    both = ("data_set", schema.SELECTION)
    ds = schema.dataset(
        {
            "published": schema.variable(both, list(PUBLISHED.values()), "in the paper"),
            "counted": schema.variable(both, found, "counted, −1 where it was not"),
        },
        system="none",
        settings={"length": mnist.LENGTH},
        method="counted in the official files",
        coords={"data_set": list(PUBLISHED), schema.SELECTION: list(COLUMNS)},
    )
    return {"sizes": ds}


def table_1(recompute: bool = False) -> Table:
    """How large the data sets are."""
    if recompute:
        keep("ernn-table-1", compute())
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


def table_2(recompute: bool = False) -> Table:
    """How many steps the activities take."""
    rows, steps = [], []
    for name, one in ACTIVITIES.items():
        steps.append(one.active / one.whole * one.steps)
        said = int(one.ratio.partition("/")[0])
        verdict = "holds" if steps[-1] == said else "holds, rounded up" if np.ceil(steps[-1]) == said else WRONG
        rows.append([name, f"{one.active:g}", f"{one.whole:g}", one.ratio, f"{steps[-1]:.3g} of {one.steps}", verdict])
    ds = schema.dataset(
        {"steps": schema.variable(("data_set",), steps, "steps of an activity", schema.STEP)},
        system="none",
        settings={},
        coords={"data_set": list(ACTIVITIES)},
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
