"""The state that the explorer opens with, as the fragment of one of its links."""

import math
import re
from collections.abc import Sequence
from urllib.parse import unquote

from dynlab.errors import UserError, unknown
from dynlab.matrices import planar_matrix
from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import STARTS, STEP_SIZE, STEPS

# What a fragment may say, of how many numbers, and within which bounds; `modules/state.mjs` reads it.
LENGTHS = {
    "W": 4,
    "gamma": 1,
    "leak": 1,
    "step": 1,
    "bias": 2,
    "input": 2,
    "steps": 1,
    "half": 1,
    "gateBias": 1,
    "gated": 1,
    "past": 1,
    "point": 2,
}
LARGEST = 1e6
BOUNDS: dict[str, tuple[float, float]] = {
    "step": (1e-6, LARGEST),
    "steps": (1, 20_000),
    "half": (1e-3, 1e5),
    "gated": (0, 1),
    "past": (0, 1),
}
WHOLE = frozenset({"steps", "gated", "past"})
MOST_STARTS = 40
# The textbook systems with the bounds of their parameters.
TEXTBOOK: dict[str, list[tuple[float, float]]] = {
    "logistic": [(0, 4)],
    "unit": [(-5, 5), (-2, 2)],
    "henon": [(0, 1.4), (-0.4, 0.4)],
    "lorenz": [(0, 20), (0, 60), (0.1, 5)],
}
DECIMAL = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?\s*", re.IGNORECASE)
CHOICES: dict[str, list[str]] = {"activation": list(ACTIVATIONS), "integrator": list(INTEGRATORS)}
# What a planar system has besides W, and of each kind what makes it of h ← h + ε (φ(W h) − κ h): at ε = κ = 1 that is
# h ← φ(W h).
PLAIN = {
    "gamma": "0",
    "leak": "0",
    "bias": "0,0",
    "input": "0,0",
    "activation": "tanh",
    "past": "0",
    "gated": "0",
    "gateBias": "0",
}
VANILLA = {"leak": "1", "step": "1"}
KINDS = {"feedback": {}, "flow": {}, "vanilla": VANILLA, "linear": VANILLA | {"activation": "identity"}}


def planar_fragment(
    matrix: str,
    kind: str = "feedback",
    *,
    seed: int = 0,
    integrator: str = "euler",
    step_size: float = STEP_SIZE,
    steps: int = STEPS,
    starts: Sequence[Sequence[float]] = STARTS,
) -> str:
    """The fragment that opens the explorer with a planar system.

    Parameters
    ----------
    matrix : str
        A name or entries, as `dynlab.matrices.planar_matrix` takes them.
    kind : {"feedback", "vanilla", "linear", "flow"}
        As `dynlab.systems.planar.planar_system` has them; a flow and its Euler step stand side by side.
    seed : int
        Of a matrix drawn at random.
    integrator : str
        As `dynlab.systems.integrators.INTEGRATORS` names it; of a feedback system or a flow.
    step_size : float
        ε in seconds.
    steps : int
        At most 20,000.
    starts : sequence of (float, float)

    Examples
    --------
    >>> planar_fragment("zero", starts=[(0, 0.5)]).startswith("W=0.0,-2.0,2.0,0.0&gamma=0&leak=0&")
    True
    """
    if integrator not in INTEGRATORS:
        raise unknown("integrator", integrator, INTEGRATORS)
    if integrator != "euler" and KINDS[kind]:
        raise UserError(
            f"A {kind} system is no step of an integrator: leave the integrator out, or take kind feedback."
        )
    most_steps = BOUNDS["steps"][1]
    if steps > most_steps:
        raise UserError(f"An orbit in the explorer has at most {most_steps:,} steps, got {steps:,}.")
    least, most = BOUNDS["step"]
    if not least <= step_size <= most:
        raise UserError(f"The step size must be a positive number from {least:g} to {most:g}, got {step_size}.")
    entries = [float(entry) for row in planar_matrix(matrix, seed) for entry in row]
    said = (
        {"W": _listed(entries)}
        | PLAIN
        | {"integrator": integrator, "step": repr(step_size), "steps": str(steps)}
        | KINDS[kind]
    )
    said["starts"] = ";".join(_listed(start) for start in starts)
    return "&".join(f"{name}={value}" for name, value in said.items())


def check_fragment(fragment: str) -> str:
    """A link's fragment without its ``#``, or the error that says what the explorer would not take.

    Raises
    ------
    UserError
        For a name that it does not know, for what is no number where one is meant, and for a number beyond its bounds.
    """
    plain = unquote(fragment.rpartition("#")[2])
    for part in filter(None, plain.split("&")):
        name, _, value = part.partition("=")
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise unknown(name, value, CHOICES[name])
        elif name == "starts":
            starts = value.split(";") if value else []
            if len(starts) > MOST_STARTS:
                raise UserError(f"An explorer's link has at most {MOST_STARTS} starts, got {len(starts)}.")
            for start in starts:
                _check_numbers(name, start, [(-LARGEST, LARGEST)] * 2)
        elif name == "textbook":
            system, _, numbers = value.partition(",")
            if system not in TEXTBOOK:
                raise unknown("textbook system", system, TEXTBOOK)
            _check_numbers(system, numbers, TEXTBOOK[system])
        elif name in LENGTHS:
            _check_numbers(name, value, [BOUNDS.get(name, (-LARGEST, LARGEST))] * LENGTHS[name])
        else:
            raise unknown("part of an explorer's link", name, [*LENGTHS, *CHOICES, "textbook", "starts"])
    return plain


def _check_numbers(name: str, text: str, bounds: Sequence[tuple[float, float]]) -> None:
    """As many decimals as there are bounds, each within its own, and whole where the page counts."""
    parts = text.split(",")
    if len(parts) != len(bounds) or not all(DECIMAL.fullmatch(part) for part in parts):
        raise UserError(f"{name} of an explorer's link takes {len(bounds)} number(s), as 1 or 1,2; got {text!r}.")
    for part, (least, most) in zip(parts, bounds, strict=True):
        number = float(part)
        if not least <= number <= most:
            raise UserError(f"{name} of an explorer's link lies between {least:g} and {most:g}, got {part}.")
        if name in WHOLE and number != math.floor(number):
            raise UserError(f"{name} of an explorer's link is a whole number, got {part}.")


def _listed(numbers: Sequence[float]) -> str:
    return ",".join(repr(number) for number in numbers)
