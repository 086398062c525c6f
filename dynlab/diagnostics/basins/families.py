"""Families of orbits that nothing attracts, of which every start has its own: of rotations and conservative maps."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from dynlab.diagnostics.basins.ends import tail
from dynlab.diagnostics.basins.motion import beside, signs, within_space
from dynlab.diagnostics.fixed_points.affine import affine_answer
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.jacobians import held_matrices, jacobian_and_error
from dynlab.numerics.arrays import Real
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.flat_orbits import AWAY, spread
from dynlab.systems import Map
from dynlab.systems.held import Held
from dynlab.systems.iterated import Iterated

FAMILY = "family of"
LOOKED_AT = 1024  # states at which a map is asked whether it preserves volume
VOLUME = 1e-6  # times n: where ln |det J| is not known that well, nothing is said of volumes
ASIDE = (
    1e-2  # of the largest state: how far beside the ends the same is asked, where a volume changes by more than that
)
ROUNDINGS = 8  # of each entry, in the elimination that gives the determinant
FOLLOWED, STEPS = 6, 4096  # orbits of a family, and how many steps of each, that say whether they are chaotic


class Family(NamedTuple):
    """Orbits of which each start has its own.

    Attributes
    ----------
    kind : str
    exponent, error : float
        The largest Lyapunov exponent of some of them in nat/step, within the space that holds the orbit where nearby
        ones leave that.
    members : ndarray of bool, shape (k,)
        Which of the orbits belong to it.
    """

    kind: str
    exponent: float
    error: float
    members: NDArray[np.bool_]


def family(held: Held, states: Real, seed: int) -> Family | None:
    """The family that orbits through `states` (k, n) form.

    None where they form none: the map preserves no volume at the states and beside them, and is not affine with a
    leading multiplier whose modulus is 1 within its error. One point where |det J| is 1, as a cycle or a circle may
    have by chance, says nothing of what is around it.
    """
    some = torch.as_tensor(states[:: -(-len(states) // LOOKED_AT)])
    n = states.shape[1]
    kind = ""
    if _preserves(held, some[:1]) and _preserves(held, torch.cat([some, _beside(some, seed)])):  # most do not at one
        kind = "volume-preserving orbits"
    elif (affine := affine_answer(held)) is not None and affine.exists:
        matrix = held_matrices(held, some[:1])[0].numpy()
        values, errors, _ = eigenvalues(matrix, n * float(np.finfo(np.float64).eps) * np.abs(matrix))
        if abs(abs(values[0]) - 1) <= errors[0]:
            kind = "neutral orbits"
    if not kind or (kind != "neutral orbits" and not _stays(held)):
        return None
    begin = states[:: -(-len(states) // FOLLOWED)]
    exponents, errors = _largest(Iterated(held, 1), np.asarray(held.unit) * begin, seed)
    members = np.ones(len(states), dtype=bool)
    if (signs(exponents, errors) > 0).any():
        exponents, errors, members = _within(held, begin, states, exponents, errors, seed)
    if not members.any():
        return None
    sign = signs(exponents, errors)
    known = ~np.isnan(exponents)
    chaotic = sign[known] > 0
    kind = f"chaotic {kind}" if chaotic.all() else f"regular and chaotic {kind}" if chaotic.any() else kind
    largest = int(np.nanargmax(exponents))
    return Family(f"{FAMILY} {kind}", float(exponents[largest]), float(errors[largest]), members)


def _stays(held: Held) -> bool:
    """Whether orbits need not run away: those of an affine map without a fixed point do, as of h + c."""
    affine = affine_answer(held)
    return affine is None or bool(affine.exists)


def _within(
    held: Held, begin: Real, states: Real, exponents: Real, errors: Real, seed: int
) -> tuple[Real, Real, NDArray[np.bool_]]:
    """Exponents of the orbits from `begin` and their errors, within spaces that hold them and that neighbours leave.

    Where the map preserves no volume within such a space, different starts may come to one set there: the exponents
    are NaN, and the `states` in that space are none of a family, which the last of the three says.
    """
    orbits = tail(held, begin, STEPS)
    spaces, distance = beside(held, orbits, seed)
    exponents, errors, members = exponents.copy(), errors.copy(), np.ones(len(states), dtype=bool)
    for sample in np.flatnonzero((distance > AWAY) & (spaces.dimensions > 0)).tolist():
        map = within_space(held, spaces, sample)
        own = (orbits[sample] - spaces.centre[sample]) @ spaces.spanning(sample).T
        some = torch.from_numpy(own[spread(len(own))])
        still = Held(map, map.input[:0])
        if _preserves(still, torch.cat([some, _beside(some, seed)])):
            exponents[sample : sample + 1], errors[sample : sample + 1] = _largest(map, own[:1], seed)
        else:
            exponents[sample], members = np.nan, members & ~spaces.hold(states, [sample])
    return exponents, errors, members


def _largest(map: Map, begin: Real, seed: int) -> tuple[Real, Real]:
    """The largest exponent from each of the states (k, n), and its error."""
    measured = lyapunov(map, steps=STEPS, k=1, initial_state=begin, largest_state=np.inf, seed=seed)
    return measured["exponent"].values[:, 0], measured["exponent_error"].values[:, 0]


def _beside(states: torch.Tensor, seed: int) -> torch.Tensor:
    """States (k, n) a little beside others, each in a direction of its own."""
    aside = torch.from_numpy(np.random.default_rng(seed).standard_normal(tuple(states.shape)))
    return states + ASIDE * float(states.abs().max()) * aside


def _preserves(held: Held, states: torch.Tensor) -> bool:
    """Whether ln |det J| is 0 at all states (k, n), within what the errors of J's entries leave of it."""
    matrices, errors = jacobian_and_error(held.system, *held.given(states))
    n = states.shape[1]
    errors = (errors + ROUNDINGS * n * torch.finfo(matrices.dtype).eps * matrices.abs()).expand_as(matrices)
    wrong = (torch.linalg.pinv(matrices).mT.abs() * errors).sum(dim=(-2, -1))  # d ln |det J| = tr(J⁻¹ dJ)
    return bool((torch.linalg.slogdet(matrices).logabsdet.abs() <= wrong.clamp(max=VOLUME * n)).all())
