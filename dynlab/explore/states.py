"""The state that the explorer opens with, as the fragment of one of its links."""

import math
from collections.abc import Sequence

from dynlab.errors import UserError, unknown
from dynlab.matrices import planar_matrix
from dynlab.systems.activations import ACTIVATIONS
from dynlab.systems.integrators import INTEGRATORS
from dynlab.systems.planar import STARTS, STEP_SIZE, STEPS

# What a fragment may say, and of how many numbers; `modules/state.mjs` reads it.
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
}
CHOICES: dict[str, list[str]] = {"activation": list(ACTIVATIONS), "integrator": list(INTEGRATORS)}
MOST_STEPS = 20_000  # of an orbit in the page
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
        At most `MOST_STEPS`.
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
    if steps > MOST_STEPS:
        raise UserError(f"An orbit in the explorer has at most {MOST_STEPS:,} steps, got {steps:,}.")
    if not 0 < step_size < math.inf:
        raise UserError(f"The step size must be a positive number, got {step_size}.")
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
    """A link's fragment without its ``#``, or the error that says what the explorer would not understand.

    Raises
    ------
    UserError
        For a name that it does not know, and for what is no number where one is meant.
    """
    plain = fragment.rpartition("#")[2]
    for part in filter(None, plain.split("&")):
        name, _, value = part.partition("=")
        if name in CHOICES:
            if value not in CHOICES[name]:
                raise unknown(name, value, CHOICES[name])
        elif name == "starts":
            for start in filter(None, value.split(";")):
                _check_numbers(name, start, 2)
        elif name == "textbook":
            _, _, numbers = value.partition(",")
            _check_numbers(name, numbers, value.count(","))
        elif name in LENGTHS:
            _check_numbers(name, value, LENGTHS[name])
        else:
            raise unknown("part of an explorer's link", name, [*LENGTHS, *CHOICES, "textbook", "starts"])
    return plain


def _check_numbers(name: str, text: str, count: int) -> None:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != count or not all(math.isfinite(number) for number in numbers):
        raise UserError(f"{name} of an explorer's link takes {count} finite number(s), as 1 or 1,2; got {text!r}.")


def _listed(numbers: Sequence[float]) -> str:
    return ",".join(repr(number) for number in numbers)
