"""An example of every system, and what a table says of it."""

from typing import Any

import torch

from dynlab.arguments import about, takes
from dynlab.errors import UserError, lookup
from dynlab.program import NoProgram
from dynlab.systems import SYSTEMS, create
from dynlab.systems.base import Flow, System

INPUTS, UNITS = 3, 4
LENGTH = 5  # of the sequences of a system that learns something for each of their steps


def example_config(name: str, inputs: int = INPUTS, units: int = UNITS) -> dict[str, Any]:
    """The arguments that a system requires, and no others.

    Parameters
    ----------
    name : str
        A key of `SYSTEMS`.
    inputs, units : int
        For the sizes among them: ``input_size``, and ``state_size`` or ``hidden_size``.

    Examples
    --------
    >>> example_config("lstm"), example_config("henon")
    ({'input_size': 3, 'hidden_size': 4}, {})
    """
    sizes = {"input_size": inputs, "state_size": units, "hidden_size": units, "length": LENGTH}
    known: dict[str, Any] = sizes | {"matrix": [[0.5, -2.0], [2.0, 0.5]]}
    return {key: known[key] for key, one in takes(SYSTEMS, name, "system").items() if one.default is one.empty}


def example(name: str, inputs: int = INPUTS, units: int = UNITS) -> System:
    """A system of the table with nothing but the arguments that it requires, its weights as they start."""
    return create(name, **example_config(name, inputs, units))


def facts(name: str, inputs: int = INPUTS, units: int = UNITS) -> dict[str, Any]:
    """Return what a table of systems says of one.

    Returns
    -------
    dict
        ``name``; ``what``, the first line of its documentation; ``kind``, map or flow; ``settings`` with their
        defaults, null where one is required; ``state_size``, ``input_size`` and ``parameters`` of the example, null
        where the system cannot be of these sizes;
        ``bound_known``, whether dynlab knows a bound of its states; ``program``, whether its step is traced, so that
        what is found of it can be proved.

    Examples
    --------
    >>> found = facts("gru", inputs=9, units=80)
    >>> found["parameters"], found["bound_known"]
    (21840, True)
    """
    try:
        system, fits = example(name, inputs, units), True
    except UserError:  # kru's number of units is a product of its factors' sizes
        system, fits = example(name), False
    found = about(name, lookup(SYSTEMS, name, "system")) | facts_of(system)
    return found | ({} if fits else dict.fromkeys(("state_size", "input_size", "parameters")))


def listed() -> list[dict[str, Any]]:
    """Return the facts of every system, of 64 units and 3 inputs."""
    return [facts(name, units=64) for name in SYSTEMS]


def facts_of(system: System) -> dict[str, Any]:
    """Return the facts of a system itself, with ``why_no_program``, empty where it has one."""
    bound, why = system.state_bound(), ""
    try:
        system.double().program(torch.zeros(system.input_size, dtype=torch.float64))
    except NoProgram as error:
        why = str(error)
    return {
        "kind": "flow" if isinstance(system, Flow) else "map",
        "state_size": system.state_size,
        "input_size": system.input_size,
        "parameters": sum(one.numel() for one in system.parameters()),
        "bound_known": bound is not None and bool(torch.isfinite(bound).any()),
        "program": not why,
        "why_no_program": why,
    }
