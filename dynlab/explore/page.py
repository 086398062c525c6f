"""The explorer as one file: style and modules are put into the page, which then needs no other file and no server."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dynlab.javascript import inlined
from dynlab.matrices import planar_matrix
from dynlab.systems.planar import STARTS, STEP_SIZE, STEPS

FOLDER = Path(__file__).parent / "modules"
OPENING = '<script type="application/json" id="opening">{}</script>'
UNQUOTED = "!~*'()"  # by a browser's own encodeURIComponent
WORKER = "worker.mjs"  # runs beside the page, from a Blob of its text
# What a planar system has besides W, and of each kind what makes it of h ← h + ε (φ(W h) − κ h): at ε = κ = 1 that is
# h ← φ(W h).
PLAIN = "gamma=0&leak=0&bias=0,0&input=0,0&activation=tanh&past=0&gated=0&gateBias=0"
KINDS = {"feedback": "", "flow": "", "vanilla": "leak=1&step=1", "linear": "leak=1&step=1&activation=identity"}


def explorer_page(fragment: str = "", network: dict[str, Any] | None = None) -> str:
    """Return the page's HTML, as it opens.

    Parameters
    ----------
    fragment : str
        The state that it opens with, as one of its own links writes it after ``#``; its first preset where empty. The
        page itself says what is wrong with another.
    network : dict, optional
        A trained network, as `dynlab.explore.embedded` gives it.

    Examples
    --------
    >>> explorer_page("W=0,-2,2,0&gamma=0.3").count("gamma=0.3")
    1
    """
    opening: dict[str, Any] = {"fragment": fragment} if fragment else {}
    if network is not None:
        opening["network"] = network
    text = json.dumps(opening, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    style = (FOLDER / "style.css").read_text(encoding="utf-8")
    page = page.replace("/* style */", f"\n{style}")
    for place, main in (("/* worker */", WORKER), ("/* modules */", "explorer.mjs")):
        page = page.replace(place, inlined(FOLDER, main))
    return page.replace(OPENING, OPENING.replace("{}", text))


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
    """Return the fragment that opens the explorer with a planar system.

    Parameters
    ----------
    matrix : str
        A name or entries, as `dynlab.matrices.planar_matrix` takes them.
    kind : {"feedback", "vanilla", "linear", "flow"}
        As `dynlab.systems.planar.planar_system` has them; a flow and its Euler step stand side by side.
    seed : int
        Seed of a matrix drawn at random.
    integrator : str
        As `dynlab.systems.integrators.INTEGRATORS` names it; of a feedback system or a flow.
    step_size : float
        ε in seconds.
    steps : int
    starts : sequence of (float, float)

    Examples
    --------
    >>> planar_fragment("zero", starts=[(0, 0.5)]).startswith("W=0.0,-2.0,2.0,0.0&gamma=0&leak=0&")
    True
    """
    entries = [float(entry) for row in planar_matrix(matrix, seed) for entry in row]
    how = _integrated(integrator, step_size, steps, starts)
    return "&".join(filter(None, [f"W={_listed(entries)}", PLAIN, how, KINDS[kind]]))


def equations_fragment(
    flow: str,
    numbers: Mapping[str, float],
    *,
    integrator: str = "euler",
    step_size: float = STEP_SIZE,
    steps: int = STEPS,
    starts: Sequence[Sequence[float]] = STARTS,
    half: float = 1.5,
) -> str:
    """Return the fragment that opens the explorer with typed equations, with a slider for each of their numbers.

    Parameters
    ----------
    flow : str
        x′ and y′, as `dynlab.EquationFlow` takes them.
    numbers : mapping
        The values of its parameters.
    integrator, step_size, steps, starts
        As of `planar_fragment`.
    half : float
        Half the width of its window.

    Examples
    --------
    >>> equations_fragment("y, -k*x", {"k": 2}, starts=[(1, 0)])
    'flow=y%2C%20-k*x&set=k:2&half=1.5&integrator=euler&step=0.1&steps=50&starts=1,0'
    """
    given = ",".join(f"{name}:{value!r}" for name, value in numbers.items())
    of_equations = f"flow={quote(flow, safe=UNQUOTED)}&set={given}&half={half:.3g}"
    return f"{of_equations}&{_integrated(integrator, step_size, steps, starts)}"


def _integrated(integrator: str, step_size: float, steps: int, starts: Sequence[Sequence[float]]) -> str:
    listed = ";".join(_listed(start) for start in starts)
    return f"integrator={integrator}&step={step_size!r}&steps={steps}&starts={listed}"


def _listed(numbers: Sequence[float]) -> str:
    return ",".join(repr(number) for number in numbers)
