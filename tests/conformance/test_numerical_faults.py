"""What every diagnostic makes of numbers at the edge: it answers, or refuses in one sentence that says why.

    python tests/conformance/test_numerical_faults.py

writes the table of docs/numerical-faults.md again, which one of the tests holds to what is seen here.
"""

import contextlib
import io as streams
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from small_results import call

from dynlab import io
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.errors import UserError, lookup
from dynlab.systems import create

PAGE = Path(__file__).parents[2] / "docs" / "numerical-faults.md"
ANSWERS, REFUSES, NONE = "answers", "refuses", "–"


def given(name):
    """The call of small_results, without what is told of a planar system's matrix beside the system."""
    positional, keywords = call(name)
    return positional, {key: value for key, value in keywords.items() if key != "matrix"}


def with_weights(change):
    def faulty(name):
        positional, keywords = given(name)
        for values in (*positional[0].requires_grad_(False).parameters(), *positional[0].buffers()):
            if values.numel():
                change(values)
        return positional, keywords

    return faulty


def with_inputs(change):
    def faulty(name):
        positional, keywords = given(name)
        sequences = [np.ndim(value) == 3 for value in positional]
        if not any(sequences):
            return None  # it takes none
        return [change(v) if one else v for v, one in zip(positional, sequences, strict=True)], keywords

    return faulty


def first(number):
    def put(values):
        values.reshape(-1)[0] = number
        return values

    return put


def of_type(dtype):
    def faulty(name):
        positional, keywords = given(name)
        return [positional[0].to(dtype), *positional[1:]], keywords

    return faulty


def one_unit(name):
    positional, keywords = given(name)
    if positional[0].state_size == 2:
        return None  # a system of the plane
    settings = positional[0].config | {"state_size": 1}
    torch.manual_seed(0)
    states = [np.zeros(1)] if name == "tangent_map" else positional[1:]
    return [create(positional[0].name, **settings).double(), *states], keywords


# What is put into the call of every diagnostic, in the order of the table's columns.
FAULTS = {
    "a weight NaN": with_weights(first(float("nan"))),
    "a weight ∞": with_weights(first(float("inf"))),
    "weights 0": with_weights(lambda values: values.mul_(0)),
    "float16": of_type(torch.float16),
    "bfloat16": of_type(torch.bfloat16),
    "one unit": one_unit,
    "an input NaN": with_inputs(first(float("nan"))),
    "an input ∞": with_inputs(first(float("inf"))),
    "one step": with_inputs(lambda values: values[:, :1]),
    "no step": with_inputs(lambda values: values[:, :0]),
    "no sequence": with_inputs(lambda values: values[:0]),
}
NOT_FINITE = ("a weight NaN", "a weight ∞", "an input NaN", "an input ∞")


def outcome(name, fault) -> tuple[str, str, xr.Dataset | None]:
    """Whether it answers, what it says, and the answer; nothing is warned of."""
    made = FAULTS[fault](name)
    if made is None:
        return NONE, "", None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ds = lookup(DIAGNOSTICS, name, "diagnostic")(*made[0], **made[1])
        except UserError as error:
            return REFUSES, str(error), None
    return ANSWERS, ds.attrs["verdict"], ds


def row(name, outcomes) -> str:
    return f"| `{name}` | {' | '.join(outcomes)} |"


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_it_answers_or_refuses_in_one_sentence(name):
    found = {fault: outcome(name, fault) for fault in FAULTS}
    for fault, (what, said, ds) in found.items():
        assert what == NONE or (said and "\n" not in said and said.endswith(".")), (fault, said)
        if ds is not None:  # whatever is not finite has its reason
            assert io.NOT_FINITE not in io.as_document(ds)["flags"].values(), fault
        if what == REFUSES and fault in NOT_FINITE:
            assert re.search("finite", said), said
    assert {found[fault][0] for fault in NOT_FINITE} <= {REFUSES, NONE}
    told = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{name}` |")]
    assert told in ([], [row(name, [what for what, _, _ in found.values()])])


def test_the_page_has_a_row_for_every_diagnostic():
    assert re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE) == list(DIAGNOSTICS)


def _write() -> None:
    head = [f"| diagnostic | {' | '.join(FAULTS)} |", "|---" * (len(FAULTS) + 1) + "|"]
    rows = [row(name, [outcome(name, fault)[0] for fault in FAULTS]) for name in DIAGNOSTICS]
    before = PAGE.read_text().split("| diagnostic |")[0]
    PAGE.write_text(before + "\n".join([*head, *rows]) + "\n")


if __name__ == "__main__":
    with contextlib.redirect_stderr(streams.StringIO()):
        _write()
