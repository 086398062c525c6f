"""The state that the explorer opens with, as the fragment of one of its links."""

import math
import re
from collections.abc import Collection, Sequence
from itertools import pairwise
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
WHOLE = frozenset({"steps", "gated", "past", "networkStep", "networkLength", "networkSpeed", "networkRunning"})
MOST_STARTS = 40
# What it may say of a trained network that runs in the page; `modules/network_state.mjs` reads it.
MOST_PULSES = 40
MOST_STEPS = 20_000
START, PULSES = "networkStart", "networkPulses"
NETWORK: dict[str, tuple[float, float]] = {
    "networkStep": (0, MOST_STEPS),
    "networkSize": (-LARGEST, LARGEST),
    "networkLength": (1, 10_000),
    "networkSpeed": (1, 20),
    "networkRunning": (0, 1),
}
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


def check_fragment(fragment: str, network: tuple[int, int] | None = None) -> str:
    """A link's fragment without its ``#``, or the error that says what the explorer would not take.

    Parameters
    ----------
    fragment : str
    network : (int, int), optional
        How many fixed points and how many inputs the trained network has that the page holds, if it holds one.

    Raises
    ------
    UserError
        For a name that it does not know, for what is no number where one is meant, and for a number beyond its bounds.
    """
    plain = unquote(fragment.rpartition("#")[2])
    pulsed, step = [0.0], 0.0
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
        elif name in (START, PULSES, *NETWORK):
            if network is None:
                raise UserError(f"{name} of an explorer's link is of a page with a trained network: name CKPT too.")
            points, inputs = network
            if name == START:
                _check_start(value, points)
            elif name == PULSES:
                pulsed = _pulse_steps(value, inputs)
            else:
                _check_numbers(name, value, [NETWORK[name]])
                step = float(value) if name == "networkStep" else step
        elif name in LENGTHS:
            _check_numbers(name, value, [BOUNDS.get(name, (-LARGEST, LARGEST))] * LENGTHS[name])
        else:
            known = [*LENGTHS, *CHOICES, "textbook", "starts", START, PULSES, *NETWORK]
            raise unknown("part of an explorer's link", name, known)
    if pulsed[-1] > step:
        raise UserError(f"A pulse of an explorer's link is at step {pulsed[-1]:g}, after its last step, {step:g}.")
    return plain


def _check_start(text: str, points: int) -> None:
    """Where a network starts: ``fixed,3`` by the number of a fixed point, or ``plane,0.5,-1``."""
    kind, _, numbers = text.partition(",")
    if kind not in ("fixed", "plane"):
        raise unknown("start of a network", kind, ["fixed", "plane"])
    if kind == "plane":
        _check_numbers(START, numbers, [(-LARGEST, LARGEST)] * 2)
    elif points == 0:
        raise UserError("The explorer's link starts at a fixed point, and of this network none is known.")
    else:
        _check_numbers(START, numbers, [(0, points - 1)], whole={0})


def _pulse_steps(text: str, inputs: int) -> list[float]:
    """The steps before which pulses are given, 0 where there is none; each pulse is step, input, size, length."""
    pulses = text.split(";") if text else []
    if len(pulses) > MOST_PULSES:
        raise UserError(f"An explorer's link has at most {MOST_PULSES} pulses, got {len(pulses)}.")
    if pulses and inputs == 0:
        raise UserError("The explorer's link has a pulse, and this network takes no input.")
    bounds = [NETWORK["networkStep"], (1, inputs), NETWORK["networkSize"], NETWORK["networkLength"]]
    for pulse in pulses:
        _check_numbers(PULSES, pulse, bounds, whole={0, 1, 3})
    steps = [float(pulse.partition(",")[0]) for pulse in pulses]
    if any(later <= earlier for earlier, later in pairwise(steps)):
        raise UserError("The pulses of an explorer's link follow one another: each needs a later step.")
    return steps or [0.0]


def _check_numbers(
    name: str, text: str, bounds: Sequence[tuple[float, float]], whole: Collection[int] | None = None
) -> None:
    """As many decimals as there are bounds, each within its own, and whole where the page counts.

    `whole` are the places of the numbers that count; where it is not given the name tells.
    """
    counts = whole if whole is not None else range(len(bounds)) if name in WHOLE else ()
    parts = text.split(",")
    if len(parts) != len(bounds) or not all(DECIMAL.fullmatch(part) for part in parts):
        raise UserError(f"{name} of an explorer's link takes {len(bounds)} number(s), as 1 or 1,2; got {text!r}.")
    for place, (part, (least, most)) in enumerate(zip(parts, bounds, strict=True)):
        number = float(part)
        if not least <= number <= most:
            raise UserError(f"{name} of an explorer's link lies between {least:g} and {most:g}, got {part}.")
        if place in counts and number != math.floor(number):
            raise UserError(f"{name} of an explorer's link is a whole number, got {part}.")


def _listed(numbers: Sequence[float]) -> str:
    return ",".join(repr(number) for number in numbers)
