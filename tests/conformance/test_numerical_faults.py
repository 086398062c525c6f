"""What every diagnostic makes of numbers at the edge: it answers, or refuses in one sentence that says why.

    DYNLAB_FAULT_TABLE=write python -m pytest tests/conformance/test_numerical_faults.py

writes the table of docs/numerical-faults.md again, which is held to what is seen here.
"""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import xarray as xr
from public_names import DIAGNOSTICS
from small_results import call

import dynlab as dl
from dynlab import io
from dynlab.errors import UserError
from dynlab.systems import create

PAGE = Path(__file__).parents[2] / "docs" / "numerical-faults.md"
WRITE = os.environ.get("DYNLAB_FAULT_TABLE") == "write"
ANSWERS, REFUSES, NONE = "answers", "refuses", "–"


def of_weights(change):
    def faulty(system, *others):
        for values in (*system.requires_grad_(False).parameters(), *system.buffers()):
            if values.numel():
                change(values)
        return [system, *others]

    return faulty


def of_inputs(change):
    def faulty(*given):
        return [change(value) if np.ndim(value) == 3 else value for value in given]

    return faulty


def first(number):
    def put(values):
        values.reshape(-1)[0] = number
        return values

    return put


def one_unit(system, *others):
    torch.manual_seed(0)
    small = create(system.name, **system.config | {"state_size": 1}).double()
    return [small, *(value[:1] if np.ndim(value) == 1 else value for value in others)]


# What is put into the call of every diagnostic, in the order of the table's columns.
FAULTS = {
    "a weight NaN": of_weights(first(float("nan"))),
    "a weight ∞": of_weights(first(float("inf"))),
    "weights 0": of_weights(lambda values: values.mul_(0)),
    "float16": lambda system, *others: [system.to(torch.float16), *others],
    "bfloat16": lambda system, *others: [system.to(torch.bfloat16), *others],
    "one unit": one_unit,
    "an input NaN": of_inputs(first(float("nan"))),
    "an input ∞": of_inputs(first(float("inf"))),
    "one step": of_inputs(lambda values: values[:, :1]),
    "no step": of_inputs(lambda values: values[:, :0]),
    "no sequence": of_inputs(lambda values: values[:0]),
}
OF_INPUTS = ("an input NaN", "an input ∞", "one step", "no step", "no sequence")
NOT_FINITE = ("a weight NaN", "a weight ∞", "an input NaN", "an input ∞")


def outcome(name, fault) -> tuple[str, str, xr.Dataset | None]:
    """Whether it answers, what it says, and the answer; nothing is warned of."""
    positional, keywords = call(name)
    keywords.pop("matrix", None)  # a planar system's, told beside the system
    driven, planar = any(np.ndim(value) == 3 for value in positional), positional[0].state_size == 2
    if (fault in OF_INPUTS and not driven) or (fault == "one unit" and planar):
        return NONE, "", None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ds = getattr(dl, name)(*FAULTS[fault](*positional), **keywords)
        except UserError as error:
            return REFUSES, str(error), None
    return ANSWERS, ds.attrs["verdict"], ds


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
    row = f"| `{name}` | {' | '.join(what for what, _, _ in found.values())} |"
    page = PAGE.read_text()
    if WRITE:
        page = re.sub(rf"^\| `{name}` \|.*$", row, page, flags=re.MULTILINE)
        PAGE.write_text(page)
    assert row in page.splitlines() or f"| `{name}` |" not in page


def test_the_page_has_a_row_for_every_diagnostic():
    page = PAGE.read_text()
    assert f"| diagnostic | {' | '.join(FAULTS)} |" in page
    assert re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE) == list(DIAGNOSTICS)
