"""Functions from the values of a cell to its Dataset, which workers import, and whose answers are known."""

import time
from pathlib import Path

import numpy as np

from dynlab import schema
from dynlab.errors import UserError


def line(values):
    """A scalar, texts, complex numbers, flags, and curves whose number and length go with the cell."""
    x, n = values["x"], values["n"]
    t = np.arange(1, 2 * n + 1)
    return schema.dataset(
        {
            "square": schema.variable((), x**2, "the square of x"),
            "kind": schema.variable(("fixed_point",), ["saddle"] * n, "kind"),
            "stable": schema.variable(("fixed_point",), np.arange(n) % 2 == 0, "stable"),
            "root": schema.variable(("time", "mode"), np.outer(t, [x, -x]) * 1j, "roots"),
            "product": schema.variable(("y",), x * np.linspace(0, n, 3), "product"),
        },
        system="line",
        settings={"x": x, "n": n},
        verdict=f"x is {x}.",
        coords={
            "time": schema.time_coordinate(t),
            "y": schema.variable(("y",), np.linspace(0, n, 3), "y"),
        },
    )


def failing(values, marker):
    """As `line`, but one cell fails, in words of its own, as long as a file is there."""
    if values["x"] == 2 and values["n"] == 3 and Path(marker).exists():
        raise UserError("Two times three is refused.")
    return line(values)


def refused(values):
    raise UserError(f"no, not {values['x']}.")


def slow(values):
    """As `line`, but it takes a moment."""
    time.sleep(0.2)
    return line(values)
