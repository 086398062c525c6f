"""Where a search for fixed points starts: states the network visits, random ones, and what the points found suggest."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dynlab.jacobians import cancelled, held_matrices
from dynlab.numerics.isolation import Equations
from dynlab.numerics.turning import turns
from dynlab.simulation import orbit
from dynlab.systems import Map, System
from dynlab.systems.held import Held
from dynlab.systems.torch_stacks import Stack

# Random starts of a round unless told otherwise; above LARGE dimensions (LARGE/n)⁵ times as many, but FEWEST: n³ for a
# factorisation, the rest for the more steps that roots take, and so that a layer of 256 is searched in seconds.
USUAL, LARGE, FEWEST = 256, 128, 8
ORBITS, ORBIT_STEPS = 16, 1000  # of the map with its input held, where nothing drives the network
STEPS_TIMES_SIZE = 256_000
LOOKED_AT = 16  # every so many steps it is looked whether orbits have come to rest
# Orbits begin at these sizes. Where two of them lead a coordinate to one size, within a factor of 2, that is its own;
# it is measured in units of that size where it is not within 1/1000 … 1000.
SIZES = tuple(2.0**k for k in (-1000, -600, -300, -96, -64, -48, -32, -16, 0, 16, 32, 48))
# Of a small map that they lead nowhere, also at the sizes between: it may attract only what is near to where it leads.
# Compared are those that are 4 times apart, which orbits that keep their size leave so.
MORE_SIZES, APART, MOST_FOR_MORE = tuple(2.0**k for k in range(-64, 49)), 2, 16
SAME_SIZE, ORDINARY = 2.0, 1e3
WIDE = 4.0  # times a size: in such a box a map is looked at that may bend there
TOLD = 1e2  # times what cancellation leaves of a step: a size below that may be where rounding stopped an orbit
REACH = 1.5  # random starts reach this many times as far as the states that were visited
SMALLEST_REACH, LARGEST_REACH = 1.0, 1e3  # whatever was visited: an orbit may stay at 0, or diverge
FARTHEST = 1e8  # up to which the ungated formulas are believed: c* = i g/(1 − f) of an LSTM whose f is 1 − 1e-8
STEPS = (0, 1, 2, 3, 5, 8, 13, 20)  # a random start is led on by so many steps of the map, each as likely
STRAIGHT = 0.5  # of the random starts lie between two such states
UNGATED, REPEATED = 16, 4  # random states that are led on by the ungated formula, and how often
ASIDE = (0.05, 0.5)  # times max(1, ‖h‖): starts beside a saddle, along each of its growing directions
LED = (10, 30)  # steps of the map from beside a saddle
MOST_DIRECTIONS = 4  # that grow, of each saddle
SAMPLED_WAYS = 32  # states between two points at which the displacement is looked at
MOST_BETWEEN = 1024  # pairs of points in a round
DEFLATIONS = 30  # steps of Newton's method that lead a start away from the points that are known
LONGEST = 1.0  # times max(1, max |h_i|): no coordinate moves farther in such a step
CLOSE = 1e-12  # a squared distance to a known point counts as this at least

Real = NDArray[np.float64]


def usual_count(size: int) -> int:
    """How many random starts a round has of a map of so many dimensions, where nobody says: 256 up to 128."""
    return max(FEWEST, min(USUAL, round(USUAL * (LARGE / size) ** 5)))


def usual_starts(system: System) -> int:
    """How many random starts a round of a search has unless told otherwise: those of the largest layer."""
    layers = system.layers() if isinstance(system, Stack) else []
    return usual_count(max((cell.resting().state_size for cell in layers), default=system.state_size))


def driven_states(system: Map, driven: Tensor) -> Tensor:
    """The states (k, n) along the trajectories from zero that `driven` (sample, time, input) leads to."""
    initial = torch.zeros(driven.shape[0], system.state_size).to(driven)
    return orbit(system, driven, initial).reshape(-1, system.state_size)


def unit_of(held: Held) -> float | Tensor:
    """The powers of 2 that states are measured in, shape (n,), or 1: of the size that orbits lead a coordinate to.

    All distances in a search are relative to that: a map with a coordinate of the size 1e-9 is the same map in another
    unit. A coordinate that orbits of every size lead to 0 has the size that the first step leads large ones to. The
    memory of an LSTM, which takes 1/(1 − f) steps to settle, has the size of i g/(1 − f) where that is very large.
    """
    bound = held.system.state_bound()
    if bound is None:
        units = _led_to(held)
        largest = 0.0 if _is_straight(held, units) else 1 / ORDINARY  # of the small ones
        units = torch.where((units > ORDINARY) | (units < largest), units, 1.0)
    else:
        states = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (UNGATED, len(bound)))).to(held.input)
        kept = (states - held.ungated(states)).abs().nan_to_num(0.0, posinf=0.0).amax(dim=0)
        units = torch.where(torch.isinf(bound).to(kept.device) & (kept > FARTHEST), kept, 1.0)
    return 2.0 ** units.log2().floor() if (units != 1).any() else 1.0


def _is_straight(held: Held, units: Tensor) -> bool:
    """Whether the map is affine to the last bit on states of these small sizes: a small offset gives it no unit."""
    if not (units < 1 / ORDINARY).any():
        return False
    states = units * torch.as_tensor(np.random.default_rng(0).uniform(-WIDE, WIDE, (UNGATED, len(units)))).to(units)
    matrices = held_matrices(held, states)
    return bool((matrices == matrices[0]).all())


def _led_to(held: Held) -> Tensor:
    """The size that orbits lead each coordinate to, 1 where they lead to none."""
    first, last = _sizes_of_orbits(held, SIZES)
    # small states say of a first step how far it goes, and not what size states have
    units = _common(last, 1, _common(first[SIZES.index(1.0) :], 1, torch.zeros_like(last[0])))
    if held.system.state_size <= MOST_FOR_MORE and (units == 0).any():
        _, more = _sizes_of_orbits(held, MORE_SIZES)
        units = torch.where(units > 0, units, _common(more, APART, units))
    return torch.where(units > 0, units, 1.0)


def _common(sizes: Tensor, apart: int, otherwise: Tensor) -> Tensor:
    """The largest size that a coordinate has twice, so many rows of `sizes` (size, n) apart, shape (n,)."""
    ratio = sizes[apart:] / sizes[:-apart]
    same = (ratio <= SAME_SIZE) & (ratio >= 1 / SAME_SIZE)
    own = torch.where(same, sizes[apart:], 0.0).amax(dim=0)
    return torch.where(own > 0, own, otherwise)


def _sizes_of_orbits(held: Held, begun: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """How large each coordinate is a step behind states of each size, and at last, shape (size, n); 0 where it is not.

    At last it has no size where it is on its way to 0 or to infinity, or is what underflow or rounding has left.
    """
    size = held.system.state_size
    one = np.random.default_rng(0).uniform(-1, 1, (1, size))
    draw = np.concatenate([one, -one, abs(one), -abs(one)])  # from one side orbits may diverge
    states = torch.as_tensor(np.array(begun)[:, None, None] * draw).to(held.input)
    first = held.moved(states).abs()
    for _ in range(ORBIT_STEPS // 2):
        states = held.moved(states)
    earlier, last = torch.zeros_like(states), torch.zeros_like(states)
    for _ in range(ORBIT_STEPS // 4):
        states = held.moved(states)
        earlier = torch.maximum(earlier, states.abs())  # NaN stays
    for _ in range(ORBIT_STEPS // 4):
        states = held.moved(states)
        last = torch.maximum(last, states.abs())
    settled = (last >= earlier / SAME_SIZE) & (last <= earlier * SAME_SIZE)
    # what is estimated beside 1 says nothing of a step that bends on smaller states: it counts as one rounding at most
    noise = cancelled(held, states.reshape(-1, size)).reshape(states.shape).clamp(max=torch.finfo(states.dtype).eps)
    told = last >= torch.maximum(TOLD * noise, torch.full_like(last, torch.finfo(last.dtype).tiny))
    last = torch.where(settled & told, last, 0.0)
    largest = [torch.where(torch.isfinite(each), each, 0.0).amax(dim=1) for each in (first, last)]
    return largest[0], largest[1]


def visited_starts(held: Held, count: int, visited: Tensor, generator: np.random.Generator) -> Tensor:
    """What is known by formula, the zero state, states that the ungated formulas lead to, visited states up to `count`.

    Parameters
    ----------
    held : Held
    count : int
    visited : Tensor, shape (state number, state)
    generator : numpy.random.Generator
    """
    zero = visited.new_zeros(1, held.system.state_size)
    first = [zero]
    if usual_count(held.system.state_size) < USUAL:
        first.append(visited[-ORBITS:])  # where orbits are at last: few starts find what attracts
    known = held.system.known_equilibrium(held.input, held.t)
    if known is not None and torch.isfinite(known).all():
        first.insert(0, known.reshape(1, -1) / held.unit)
    states = torch.as_tensor(generator.uniform(-1, 1, (UNGATED, held.system.state_size))).to(zero)
    for _ in range(REPEATED if held.system.ungated_residual(*held.given(zero)) is not None else 0):
        states = states - held.ungated(states)
        first.append(states[(states.abs() <= FARTHEST).all(-1)])  # nor NaN
    picked = generator.integers(len(visited), size=max(0, count - sum(map(len, first))))
    return torch.cat([*first, visited[torch.as_tensor(picked, device=visited.device)]])


def random_starts(held: Held, count: int, reach: Tensor, generator: np.random.Generator) -> Tensor:
    """`count` independent random states: led on from a box by a few steps of the map, half of them between two such.

    Parameters
    ----------
    held : Held
    count : int
    reach : Tensor, shape (2, state)
        Of the box, for each coordinate: the least and the largest half-width; one between is drawn for each start.
    generator : numpy.random.Generator
    """
    ends = [_led_on(held, _in_box(count, reach, generator), generator.choice(STEPS, count)) for _ in range(2)]
    part = generator.uniform(0, 1, (count, 1)) * (generator.uniform(0, 1, (count, 1)) < STRAIGHT)
    return ends[0] + torch.as_tensor(part).to(reach) * (ends[1] - ends[0])


def far_starts(held: Held, count: int, points: Real, generator: np.random.Generator) -> Tensor:
    """`count` states of all sizes between 1 and `FARTHEST`, half of them ≥ 0; none of a map that bounds its states.

    Populations in units of one animal have points far outside of every box. All coordinates have one size, or each its
    own, in the system's unit or in that of the search. As many more have the size of one of the `points` (k, n).
    """
    n = held.system.state_size
    if held.system.state_bound() is not None:
        return held.input.new_zeros(0, n)
    size, direction = generator.uniform(0, 1, (2 * count, n)), generator.uniform(-1, 1, (2 * count, n))
    size[1::2] = size[1::2, :1]
    direction[::4], direction[1::4] = np.abs(direction[::4]), np.abs(direction[1::4])
    states = torch.as_tensor(direction * FARTHEST**size).to(held.input)
    own = torch.arange(len(states), device=states.device)[:, None] % 8 < 4
    states = torch.where(own, states / held.unit, states)
    if not len(points):
        return states[:count]
    largest = (held.unit * torch.as_tensor(points).to(states)).abs().amax(dim=1, keepdim=True)
    drawn = torch.as_tensor(generator.integers(len(points), size=count), device=states.device)
    around = REACH * torch.as_tensor(direction[count:]).to(states) * largest[drawn] / held.unit
    return torch.cat([states[:count], around])


def reach_of(held: Held, visited: Tensor, generator: np.random.Generator) -> Tensor:
    """The box of `random_starts`, shape (2, state): the state's bounds, else what was visited, up to what a gate keeps.

    Where a forget gate is nearly open its cell settles at i g/(1 − f), far from everything that is visited soon. Of a
    coordinate in a small unit it reaches up to 1 in the system's own: orbits may lead to small states beside others.
    """
    seen = (REACH * visited.abs().amax(dim=0)).clamp(SMALLEST_REACH, LARGEST_REACH)
    far = torch.maximum(seen, SMALLEST_REACH / torch.as_tensor(held.unit).to(seen))
    states = torch.as_tensor(generator.uniform(-1, 1, (4 * UNGATED, held.system.state_size))).to(seen)
    if held.system.ungated_residual(*held.given(states)) is not None:
        kept = (states - held.ungated(states)).abs().nan_to_num(0.0, posinf=0.0)
        far = torch.maximum(seen, (REACH * kept.amax(dim=0)).clamp_max(FARTHEST))
    both = torch.stack([seen, far])
    bound = held.system.state_bound()
    return both if bound is None else torch.where(torch.isfinite(bound), (bound / held.unit).to(both), both)


def orbits(held: Held, generator: np.random.Generator) -> Tensor:
    """States along orbits of the map from random states; of large maps along shorter ones."""
    size = held.system.state_size
    states = torch.as_tensor(generator.uniform(-1, 1, (ORBITS, size))).to(held.input)
    return torch.cat([states, *_behind(held, states, min(ORBIT_STEPS, STEPS_TIMES_SIZE // size))])


def _behind(held: Held, states: Tensor, count: int) -> Iterator[Tensor]:
    """The states of the next `count` steps; once a step has changed no bit of them, no further one is computed."""
    stays = False
    for step in range(count):
        if not stays:
            before, states = states, held.moved(states)
            stays = step % LOOKED_AT == 0 and _same_bits(before, states)
        yield states


def _same_bits(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same bits, those of NaN and of the sign of 0 too."""
    bits = {4: torch.int32, 8: torch.int64}[one.element_size()]
    return torch.equal(one.view(bits), other.view(bits))


def bounded(states: Tensor) -> Tensor:
    """Those of the visited states that are finite and not very large; the zero state where there are none."""
    kept = states[(states.abs() <= LARGEST_REACH).all(-1)]  # nor NaN
    return kept if len(kept) else states.new_zeros(1, states.shape[1])


def between(points: Real, tried: int, generator: np.random.Generator) -> Real:
    """Halfway between every two points of which one is new, at most `MOST_BETWEEN` of them.

    Parameters
    ----------
    points : ndarray, shape (k, n)
        The first `tried` of them are not new.
    """
    first, second = np.triu_indices(len(points), 1)
    fresh = np.flatnonzero(second >= tried)
    if len(fresh) > MOST_BETWEEN:
        fresh = generator.choice(fresh, MOST_BETWEEN, replace=False)
    return (points[first[fresh]] + points[second[fresh]]) / 2


def turning_back(held: Held, points: Real, generator: np.random.Generator) -> Real:
    """Where the displacement turns round on the straight way between two points (k, n), of `MOST_BETWEEN` ways."""
    first, second = np.triu_indices(len(points), 1)
    if len(first) > MOST_BETWEEN:
        picked = generator.choice(len(first), MOST_BETWEEN, replace=False)
        first, second = first[picked], second[picked]
    begins, ends = (torch.as_tensor(points[each]).to(held.input) for each in (first, second))
    parts = torch.linspace(0, 1, SAMPLED_WAYS + 2)[1:-1].to(begins)
    return turns(held.displacement, begins, ends, parts).double().cpu().numpy()


def beside_saddles(held: Held, points: Real) -> Real:
    """States on both sides of each unstable point along its growing directions, and where the map leads from there."""
    if len(points) == 0:
        return points
    states = torch.as_tensor(points).to(held.input)
    starts = []
    for point, matrix in zip(points, held_matrices(held, states).double().cpu().numpy(), strict=True):
        if not np.isfinite(matrix).all():
            continue
        values, columns = np.linalg.eig(matrix)
        vectors = np.where(values.imag < 0, columns.imag, columns.real).T  # of a pair both parts
        modulus, unit = np.abs(values), max(1.0, float(np.linalg.norm(point)))
        for mode in np.argsort(-modulus, kind="stable")[:MOST_DIRECTIONS]:
            if modulus[mode] > 1:
                direction = vectors[mode]
                direction = direction / max(float(np.linalg.norm(direction)), np.finfo(float).tiny)
                starts += [point + side * aside * unit * direction for side in (-1, 1) for aside in ASIDE]
    if not starts:
        return points[:0]
    first = torch.as_tensor(np.array(starts)).to(held.input)
    led = [_led_on(held, first, np.full(len(first), steps)) for steps in LED]
    return torch.cat([first, *led]).double().cpu().numpy()


def deflated(equations: Equations, starts: Tensor, known: Tensor) -> Tensor:
    """Where Newton's method leads from each start that does not end at a known root, (start, n); for `roots.solve`.

    It is Newton's method on f times what is infinite at the known roots. With m(h) = Π_k (1/‖h − h_k‖² + 1) the roots
    of m f are those of f but the h_k, and Newton's step of m f is Newton's step δ of f times 1/(1 − δ · ∇ln m).

    Parameters
    ----------
    equations : Equations
    starts : Tensor, shape (start, n)
    known : Tensor, shape (k, n)

    References
    ----------
    Farrell, Birkisson and Funke, "Deflation techniques for finding distinct solutions of nonlinear partial differential
    equations", SIAM J. Sci. Comput. 37 (2015), section 2.
    """
    h = starts
    for _ in range(DEFLATIONS):
        step, _ = torch.linalg.solve_ex(equations.matrix(h), -equations.value(h).unsqueeze(-1))
        offset = h.unsqueeze(1) - known
        squared = offset.square().sum(-1, keepdim=True).clamp_min(CLOSE)
        slope = -2 * (offset / (squared * (1 + squared))).sum(1)  # ∇ln m
        moved = (step / (1 - (slope.unsqueeze(1) @ step))).squeeze(-1)
        longest = LONGEST * h.abs().amax(dim=-1, keepdim=True).clamp_min(1)
        moved = moved * (longest / moved.abs().amax(dim=-1, keepdim=True)).clamp_max(1)
        h = torch.where(torch.isfinite(moved).all(-1, keepdim=True), h + moved, h)
    return h


def _in_box(count: int, reach: Tensor, generator: np.random.Generator) -> Tensor:
    least, largest = reach
    part = torch.as_tensor(generator.uniform(0, 1, (count, 1))).to(reach)
    return torch.as_tensor(generator.uniform(-1, 1, (count, len(least)))).to(reach) * least * (largest / least) ** part


def _led_on(held: Held, states: Tensor, steps: NDArray[np.integer]) -> Tensor:
    """States after so many steps of the map each; as they were before they became too large."""
    states = states.clone()
    for step in range(int(steps.max(initial=0))):
        rows = torch.as_tensor(np.flatnonzero(steps > step), device=states.device)
        moved = held.moved(states[rows])
        kept = (moved.abs() <= FARTHEST).all(-1)
        states[rows[kept]] = moved[kept]
    return states
