"""The start of an orbit where none is given, why it is cut, where it ends, and whether another start meets it."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.errors import UserError, refuse
from dynlab.numerics.arrays import Real
from dynlab.numerics.statistics import FEW_NATS
from dynlab.systems import Flow, Map, System, frozen
from dynlab.systems.autonomous import Held
from dynlab.trajectories import simulation
from dynlab.trajectories.cycles import CYCLE, REST, Attractor
from dynlab.trajectories.driven import Driven, drive
from dynlab.trajectories.lengths import padded

Found = TypeVar("Found")
Flags = NDArray[np.bool_]
STEPS = 10_000  # of an orbit that nothing drives
USUAL = ("float64", "cpu")  # the dtype and the device where nothing else is asked for

# A random start has entries between 0 and this: off every set of symmetric states, where an orbit would stay whether
# it attracts or not, and in the basins of the textbooks' attractors.
NEAR = 0.1
DRAWN = " from a random start near 0"
AT_ZERO = " from 0"
RUNS_AWAY = "The orbit from a random start near 0 does not stay within |h_i| ≤ {largest:g}. "
RAISE = " Where states are that large by nature, raise the bound: --largest-state (largest_state=)."

LARGEST_PROBLEM = 256  # dimensions of the eigenvalue problem at an orbit's end
DECAYED = 1e-9  # of the largest size
BESIDE = 1e-6  # likewise: so near an end is one of the orbit itself
FOLLOWED = 500  # steps that an orbit is followed on, a flow ten times as long

FAR = 1.0  # distance of the second start: as large as the states of a network with saturating units are
MET = float(np.log(1e-6))  # two starts whose distance shrinks that much have met
NEARER = -1.0  # those whose distance shrinks by this factor e^-1 at least draw nearer

MEET, DRAW_NEARER, STAY_APART, NEITHER = "meet", "draw nearer", "stay apart", "undecided"


def check_asked(
    system: System, k: int | None, largest_state: float, of_flow: dict[str, Any], of_map: dict[str, Any]
) -> None:
    """Raise where more is asked for than the state has, or what only the other kind of system has."""
    is_flow = isinstance(system, Flow)
    others = of_map if is_flow else of_flow
    strange = [name for name, value in others.items() if not (value is None or str(value) in USUAL)]
    refuse(
        {
            f"k is from 1 to the state's {system.state_size:,} dimensions, got {k}.": (
                k is not None and not 1 <= k <= system.state_size
            ),
            f"largest_state= bounds abs(h_i) and must be positive, got {largest_state}.": not largest_state > 0,
            "A flow is solved without input for seconds=, in float64 on cpu; for inputs or steps= take its step, "
            "dl.Euler(flow, step_size).": strange and is_flow,
            f"{''.join(strange[:1])}= is for a Flow; for a Map give inputs, or steps=.": strange,
        }
    )


def followed(
    system: System,
    initial_state: Any,
    is_driven: bool,
    seed: int,
    follow: Callable[[Any], Found],
    stays: Callable[[Found], bool],
) -> tuple[Found, str]:
    """Return what `follow` finds from the start of an orbit, and words for that start.

    A start that is given or learned is kept, and that of a driven orbit. Otherwise the orbit starts near 0 at random,
    and at 0 itself where no orbit from there `stays`: a linear system may run away, and has the same exponents at 0.
    """
    learned = system.initial_state()
    if initial_state is not None or is_driven or (learned is not None and bool((learned != 0).any())):
        return follow(initial_state), ""
    found = follow(np.random.default_rng(seed).uniform(0, NEAR, system.state_size))
    return (found, DRAWN) if stays(found) else (follow(None), AT_ZERO)


def why_at_zero(origin: str, largest_state: float) -> str:
    """Return the sentence that explains a start at 0, or nothing."""
    return RUNS_AWAY.format(largest=largest_state) if origin == AT_ZERO else ""


def driven_orbit(
    system: Map, inputs: Any, steps: int | None, initial_state: Any, largest_state: float, **settings: Any
) -> tuple[Driven, bool, str]:
    """Return a map's orbit, whether its inputs drive it, and words for its start; `settings` are those of `drive`.

    Without inputs, where none were recorded with the system either, they are zero for so many steps. Inputs that do not
    change with time drive nothing.
    """
    if steps is not None and (inputs is not None or steps < 1):
        raise UserError(
            f"steps= is the length of an orbit without inputs, at least 1; got {steps}. Give inputs or steps=."
        )
    if inputs is None and (steps is not None or system.recorded_inputs is None):
        inputs = np.zeros((steps or STEPS, system.network_input_size))
    whole, lengths = padded(inputs) if settings.get("uneven") else (inputs, None)
    analysed, given, _ = simulation.prepare(system, whole, initial_state, settings["dtype"], settings["device"])
    applied = analysed.drive(given)
    is_driven = lengths is not None or bool((applied != applied[:, :1]).any())

    def stays(driven: Driven) -> bool:
        return bool((driven.states[:, -1].abs() <= largest_state).all(dim=-1).any())

    follow = partial(drive, system, inputs, **settings)
    driven, origin = followed(system, initial_state, is_driven, settings["seed"], follow, stays)
    return driven, is_driven, origin


def inside_of(driven: Driven, largest_state: float) -> Flags:
    """Return where orbits are within their bound, (sample, time + 1); once they left it they are not."""
    bounded = (driven.states.abs() <= largest_state).all(dim=-1).cpu().numpy()
    return np.asarray(np.logical_and.accumulate(bounded, axis=1))


def cut_at(states: Real, inside: Flags, largest_state: float) -> tuple[Real, Flags]:
    """Return at which step (sample,) orbits left the bound, inf where they did not, and whether it was within it."""
    first = np.argmin(inside, axis=1)
    cut = np.where(inside.all(axis=1), np.inf, first)
    return cut, np.isfinite(cut) & ~(np.abs(states[range(len(cut)), first]) > largest_state).any(axis=-1)


def why_cut(cut: Real, lost: Flags, largest: float, is_flow: bool) -> str:
    """Return what orbits do that are cut: "leaves |h_i| ≤ 1e+08, the first at step 14"; "" where none is.

    `cut` and `lost` are what `cut_at` returns.
    """
    gone = np.isfinite(cut)
    if not gone.any():
        return ""
    nowhere = "the solver finds no further step" if is_flow else "the step or its derivative is no number"
    several = 1 < gone.sum() < len(cut)
    left = f"{'leave' if several else 'leaves'} |h_i| ≤ {largest:g}"
    came = f"{'come' if several else 'comes'} to where {nowhere}"
    why = came if lost[gone].all() else left + f" or {came}" * bool(lost.any())
    first = "the first at" if len(cut) > 1 else "at"
    return f"{why}, {first} {f'{cut.min():.4g} s' if is_flow else f'step {cut.min():.0f}'}"


def none_inside(orbits: int, cut: str) -> str:
    """Say why nothing is known where all of so many orbits are cut, by what `why_cut` says of one."""
    return f"{'the orbit' if orbits == 1 else 'every orbit'} {cut}, and is cut there.{RAISE * cut.startswith('leaves')}"


def ends_of(
    system: System, last: Tensor | Real, scale: Tensor | Real, inputs: Tensor | Real, log_growth: Real
) -> list[Attractor | None]:
    """Return the point or cycle that each orbit has come to, None where it comes to none whose stability is known.

    Parameters
    ----------
    system : System
    last : shape (sample, 2, state)
        The last two states. Where neighbours part by `FEW_NATS`, an orbit that still moves is on no cycle.
    scale : shape (sample,)
        The largest size of a state on the way: what is far below has decayed to 0.
    inputs : shape (sample, input)
        Input of every step.
    log_growth : ndarray, shape (frame, sample, stop, mode)
    """
    from dynlab.trajectories.attractors import classify  # here, since scipy.spatial takes a tenth of a second to import

    states, sizes, given = (np.asarray(torch.as_tensor(each).double().cpu()) for each in (last, scale, inputs))
    found: list[Attractor | None] = [None] * len(states)
    moves = (states[:, 0] != states[:, 1]).any(axis=1)
    asked = np.isfinite(states).all(axis=(1, 2)) & ~(moves & (log_growth[0, :, -1, 0] > FEW_NATS))
    if states.shape[2] > LARGEST_PROBLEM or not asked.any():
        return found
    states = np.where(np.abs(states) <= DECAYED * sizes[:, None, None], 0.0, states)
    unlike, which = np.unique(given[asked], axis=0, return_inverse=True)
    for number, each in enumerate(unlike):
        some = np.flatnonzero(asked)[which == number]
        held = Held(frozen(system), torch.from_numpy(each))  # a flow's exponents come from its compiled code too
        ends = classify(held, states[some, 1], steps=FOLLOWED, sets=False, compile=held.is_flow or None)
        for sample, label in zip(some, ends.labels, strict=True):
            one = ends.attractors[label] if label >= 0 else None
            if one is not None and one.form in (REST, CYCLE) and one.stable >= 0:
                gaps = np.abs(one.states - states[sample][:, None]).max(axis=-1).min(axis=1)
                found[sample] = one if gaps.max() <= one.near + BESIDE * sizes[sample] else None
    return found


def separation(driven: Driven, exponent: Real, inside: NDArray[np.bool_], seed: int) -> dict[str, NDArray[Any]]:
    """Return the echo-state test: every sample starts again under the same input, far from the first start.

    Parameters
    ----------
    driven : Driven
    exponent : ndarray, shape (sample,)
        The largest exponent: how fast nearby starts separate.
    inside : ndarray of bool, shape (sample,)
        The samples whose orbit was not cut.
    seed : int
        Seed of the direction in which the second start lies.

    Returns
    -------
    dict of ndarray, shape (sample,)
        `shrinkage` is ln of the last distance over the first, and `echo_state` is how the starts end.
    """
    drawn = np.random.default_rng(seed).standard_normal(driven.states.shape[-1])
    direction = torch.as_tensor(drawn / np.linalg.norm(drawn)).to(driven.states)
    last = simulation.orbit(driven.system, driven.inputs, driven.states[:, 0] + FAR * direction)[:, -1]
    far = ((last - driven.states[:, -1]).norm(dim=-1) / FAR).log().double().cpu().numpy()
    shrinkage = np.where(inside, far, np.nan)
    nearer = np.where((shrinkage <= NEARER) & (exponent < 0), DRAW_NEARER, NEITHER)
    apart = np.where((shrinkage > NEARER) & (exponent > 0), STAY_APART, nearer)
    return {"echo_state": np.where(shrinkage <= MET, MEET, apart), "shrinkage": shrinkage}
