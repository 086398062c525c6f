"""The roots near a state where f' is nearly singular: how many there are, a continuum, none, or not to be told.

With the singular vectors U, V of the d smallest singular values, f(h) + U g = 0 and Vᵀ(h − h₀) = s is a regular system
for (h, g): it gives a curve or surface h(s), on which g(s) is all that is left of f. The roots of f near h₀ are those
of g. For d = 1 every change of sign of g is a root, whatever f' is there. A g that is rounding along the whole curve is
a continuum if f' is singular there too, and if g does not grow smoothly out of that rounding: an analytic g that is 0
on a stretch is 0 everywhere. For d ≥ 2, a g that turns with s on a small sphere (⟨g(s), M s⟩ > 0 with a regular M) has
a root; for d = 2 also one that turns more than once.

References
----------
Golubitsky and Schaeffer, Singularities and Groups in Bifurcation Theory I (1985), section VII.3 (the reduction of
Lyapunov and Schmidt); Govaerts, Numerical Methods for Bifurcations of Dynamical Equilibria (2000), section 3.2 (the
bordered system); Deimling, Nonlinear Functional Analysis (1985), section 3 (the degree of a map).
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dynlab.numerics.arrays import Real
from dynlab.numerics.continua import SMOOTH, STORED, Curve, Told, curve_of, told_ends
from dynlab.numerics.isolation import ENTRIES, Equations, rounding
from dynlab.numerics.joined import lead_to

ROOT, CONTINUUM, UNDECIDED = "root", "continuum", "undecided"
CROSSING = "crossing"  # several curves of roots meet here: what is given are roots on them
STRETCH = "undecided stretch"  # g is rounding along a curve, and there may be no root
NULL, TOGETHER = 1e-8, 10.0  # singular values up to 1e-8 (1 + ‖f'‖), or ten times the smallest, are reduced to
REACH = 0.05  # times max(1, ‖h₀‖): how far along the null directions g is looked at
FINEST = 40  # times that distance is halved: down to 5e-14
WIDEST = 16.0  # times it: a sphere on which a root of order 27 is told is as large as that
FLAT_AT = 8  # states of a stretch on which g is rounding, at which f' must be singular too
# Of a stretch's width, how far beside its ends f' is compared, and how much of the farther change is the nearer one.
AT_ENDS, ABRUPT = (1 / 64, 1 / 2), 0.25
BISECTIONS = 60
NEWTON = 25  # iterations of the bordered system
BENT = 2.0  # times |s|: h(s) farther than that from h₀ + V s is another branch
SPHERE = 32  # directions for d ≥ 2, and as many opposite ones
TURNED = 30  # steps in which a direction is turned to where g vanishes
FEWER = 1e-3  # times the largest that grew along a walk: smaller singular values stay null
LINE = 2  # rays, if they are opposite
PLANE, LARGEST_TURN = 2, 2.5  # dimensions; between neighbouring directions g turns by less, in rad, or is not followed
SAME_RAY = 0.9  # the cosine of the angle between two directions in which g vanishes is above
ALIGNED = 0.05  # of ‖g‖ ‖M s‖: ⟨g, M s⟩ above it on the whole sphere means that g turns as M does


class LocalRoots(NamedTuple):
    """What there is near a state.

    Attributes
    ----------
    states : Tensor, shape (k, n)
        Roots, one of a continuum, or the state that is not told from a root; none where there is no root.
    kinds : list of str
        "root", "continuum", "undecided", "undecided stretch" or "crossing", of each.
    errors : Tensor, shape (k,)
        How far along the null directions the root may be off.
    directions : Tensor, shape (d, n)
        The null directions V.
    reach : float
        How far along them was looked.
    curves : list of Curve or None
        Of each the curve on which it lies and along which f is not told from 0, where that is longer than the reach.
    plane : int
        In how many directions f is not told from 0 near a continuum: beside a root of high order more than it has.
    """

    states: Tensor
    kinds: list[str]
    errors: Tensor
    directions: Tensor
    reach: float
    curves: Sequence[Curve | None] = (None,)
    plane: int = 1


class _Reduction(NamedTuple):
    """The bordered system about h₀."""

    equations: Equations
    center: Tensor
    left: Tensor
    right: Tensor

    def __call__(self, s: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """h(s) (k, n), g(s) (k, d), what rounding leaves of g (k, d), and whether the system was solved (k,)."""
        n, d = self.center.shape[0], s.shape[1]
        h, g = self.center + s @ self.right, torch.zeros_like(s)
        bordered = torch.zeros(len(s), n + d, n + d, dtype=h.dtype)
        bordered[:, :n, n:], bordered[:, n:, :n] = self.left.T, self.right
        for _ in range(NEWTON):
            bordered[:, :n, :n] = self.equations.matrix(h)
            value = self.equations.value(h) + g @ self.left
            off = (h - self.center) @ self.right.T - s
            step = torch.linalg.solve_ex(bordered, -torch.cat([value, off], dim=1).unsqueeze(-1))[0].squeeze(-1)
            step = step.nan_to_num(0.0, 0.0, 0.0)
            h, g = h + step[:, :n], g + step[:, n:]
            if (step[:, :n].norm(dim=-1) <= torch.finfo(h.dtype).eps * h.norm(dim=-1).clamp_min(1)).all():
                break
        values, matrices = self.equations.value(h), self.equations.matrix(h)
        noise = rounding(self.equations, h, values, matrices)
        # of f itself: beside a root of high order the solver's own rounding may be larger
        g = (-values @ self.left.T).nan_to_num(0.0, 0.0, 0.0)
        straight = self.center + s @ self.right
        near = (h - straight).norm(dim=-1) <= BENT * s.norm(dim=-1) + torch.finfo(h.dtype).eps ** 0.5
        # what rounding makes of f in one coordinate moves h, and with it f in all others
        regular = torch.eye(n, dtype=h.dtype) - self.left.T @ self.left
        left_of_it = 2 * (noise + noise @ regular.abs()) + 2 * torch.finfo(h.dtype).eps
        solved = ((values + g @ self.left).abs() <= left_of_it).all(-1) & near
        return h, g, noise @ self.left.abs().T, solved

    def slope(self, h: Tensor) -> Tensor:
        """∂g/∂s, shape (k, d, d), at states h(s) (k, n)."""
        n, d = self.center.shape[0], len(self.right)
        bordered = torch.zeros(len(h), n + d, n + d, dtype=h.dtype)
        bordered[:, :n, n:], bordered[:, n:, :n] = self.left.T, self.right
        bordered[:, :n, :n] = self.equations.matrix(h)
        along = torch.zeros(n + d, d, dtype=h.dtype)
        along[n:] = torch.eye(d, dtype=h.dtype)
        return torch.linalg.solve_ex(bordered, along.expand(len(h), -1, -1))[0][:, n:].nan_to_num(0.0, 0.0, 0.0)


def local_roots(equations: Equations, point: Tensor, reach: float = REACH) -> LocalRoots:
    """What roots f has up to `reach` max(1, ‖h‖) from `point` (n,), where f is small and f' nearly singular."""
    u, sigma, v = torch.linalg.svd(equations.matrix(point[None])[0])
    scale = float(point.norm().clamp_min(1))
    null = int((sigma <= max(TOGETHER * float(sigma[-1]), NULL * (1 + float(sigma[0])))).sum())
    reduction = _Reduction(equations, point, u.T[-null:], v[-null:])
    if null == 1:
        return _on_curve(reduction, reach * scale)
    return _on_sphere(reduction, reach * scale)


def _on_curve(reduction: _Reduction, reach: float) -> LocalRoots:
    """Of d = 1: signs of g along the curve."""
    steps = reach * 0.5 ** torch.arange(FINEST, dtype=torch.float64)
    s = torch.cat([-steps, steps.new_zeros(1), steps.flip(0)])
    h, g, noise, solved = reduction(s[:, None])
    signs = torch.where(g.abs() > noise, g.sign(), 0.0)[:, 0]
    signs[~torch.isfinite(g[:, 0])] = 0
    known = _about_the_middle(solved)
    s, h, signs, g = s[known], h[known], signs[known], g[known]
    states: list[Tensor] = []
    kinds: list[str] = []
    errors: list[float] = []
    curves: list[Curve | None] = []
    runs = _runs(signs)
    for number, (sign, first, last) in enumerate(runs):
        before, after = (runs[i][0] if 0 <= i < len(runs) else 0.0 for i in (number - 1, number + 1))
        if sign == 0:
            middle = first + int(s[first : last + 1].abs().argmin())
            ends = s[max(first - 1, 0)], s[min(last + 1, len(s) - 1)]
            states.append(h[middle])
            curves.append(None)
            errors.append(max(float((end - s[middle]).abs()) for end in ends))
            within, flat = first > 0 and last < len(s) - 1, _flat(reduction, h[first : last + 1])
            kind = UNDECIDED
            if flat or not within:  # where a closed curve turns back g goes on along another branch
                behind, ahead, curve, abrupt = _followed(reduction, h[middle])
                before, after = behind if first == 0 else before, ahead if last == len(s) - 1 else after
                long = not within and bool(s[last] - s[first] >= reach / 2)
                long = long or curve.closed or abrupt or (within and _ends_at_kinks(reduction, curve))
                flat = flat and long and not behind and not ahead
                if flat or not within:
                    kind, curves[-1] = CONTINUUM if flat else STRETCH, curve
                    errors[-1] = float(np.linalg.norm(curve.states - h[middle].numpy(), axis=1).max())
            kinds.append(ROOT if kind != CONTINUUM and before * after < 0 else kind)
        elif after * sign < 0:
            state, error = _bisected(reduction, s[last], s[last + 1], sign)
            states.append(state)
            kinds.append(ROOT)
            errors.append(error)
            curves.append(None)
    found = torch.stack(states) if states else h[:0]
    return LocalRoots(found, kinds, torch.tensor(errors, dtype=torch.float64), reduction.right, reach, curves)


def _followed(reduction: _Reduction, root: Tensor) -> Told:
    """The signs of g where it is first told from 0 behind and ahead of a root, and the curve between."""
    equations, start = reduction.equations, root.numpy()
    curve = curve_of(equations, start, reduction.right[0].numpy())
    return told_ends(equations, curve, start, left=-reduction.left[0].numpy())


def _ends_at_kinks(reduction: _Reduction, curve: Curve) -> bool:
    """Whether f' jumps at both ends of a curve: what only comes out of its rounding there bends by and by."""
    ends, outward = torch.as_tensor(curve.states[[0, -1]]), torch.as_tensor(curve.tangents[[0, -1]])
    outward = outward * torch.tensor([[-1.0], [1.0]]).to(outward)
    width = (ends[1] - ends[0]).norm()
    beyond, inside = (
        torch.stack([reduction.equations.matrix(ends + sign * part * width * outward) for part in AT_ENDS])
        for sign in (1, -1)
    )
    near, far = torch.linalg.matrix_norm(beyond - inside)
    size = 1 + torch.linalg.matrix_norm(beyond[0])
    return bool(((near > SMOOTH * size) & (near > ABRUPT * far)).all())


def _flat(reduction: _Reduction, states: Tensor) -> bool:
    """Whether f' is singular to rounding at all of these (k, n), as on a continuum; not where f falls off.

    The states are rounded too, which changes f' by as much as it bends over that distance.
    """
    some = states[:: max(1, len(states) // FLAT_AT)]
    matrices = reduction.equations.matrix(some)
    sigma, apart = torch.linalg.svdvals(matrices), (some - some[0]).norm(dim=-1).max()
    bend = (matrices - matrices[0]).flatten(1).norm(dim=-1).max() / apart.clamp_min(torch.finfo(apart.dtype).tiny)
    rounded = 1 + sigma[:, 0] + bend * some.norm(dim=-1)
    return bool((sigma[:, -1] <= ENTRIES * torch.finfo(states.dtype).eps * rounded).all())


def _about_the_middle(solved: Tensor) -> slice:
    """The stretch around the middle on which the bordered system was solved."""
    middle, failed = len(solved) // 2, (~solved).nonzero()[:, 0]
    below, above = failed[failed < middle], failed[failed > middle]
    return slice(int(below[-1]) + 1 if len(below) else 0, int(above[0]) if len(above) else len(solved))


def _runs(signs: Tensor) -> list[tuple[float, int, int]]:
    """Stretches of one sign: the sign, the first and the last index."""
    edges = [0, *(torch.diff(signs).nonzero()[:, 0] + 1).tolist(), len(signs)]
    return [(float(signs[a]), a, b - 1) for a, b in itertools.pairwise(edges) if b > a]


def _bisected(reduction: _Reduction, low: Tensor, high: Tensor, sign: float) -> tuple[Tensor, float]:
    """The root between two parameters at which g has opposite signs, and half the width that is left."""
    middle = (low + high) / 2
    for _ in range(BISECTIONS):
        _, g, noise, _ = reduction(middle.reshape(1, 1))
        if abs(float(g)) <= float(noise):
            break
        low, high = (middle, high) if float(g) * sign > 0 else (low, middle)
        middle = (low + high) / 2
    return reduction(middle.reshape(1, 1))[0][0], float(high - low) / 2


def _on_sphere(reduction: _Reduction, reach: float) -> LocalRoots:
    """Of d ≥ 2: roots near states on a sphere about the point, then g on smaller spheres, or on larger ones."""
    d = len(reduction.right)
    directions = torch.as_tensor(np.random.default_rng(0).standard_normal((SPHERE, d)))
    if d == PLANE:
        angles = torch.arange(SPHERE, dtype=torch.float64) * (torch.pi / SPHERE)
        directions = torch.stack([angles.cos(), angles.sin()], dim=1)
    directions = torch.cat([directions, -directions])
    directions /= directions.norm(dim=1, keepdim=True)
    center, error = reduction.center[None], torch.zeros(1, dtype=torch.float64)
    staying = _staying(reduction, reach)
    if 0 < len(staying) < d or (len(staying) and _vanishes(reduction, reach * directions)):
        return LocalRoots(center, [CONTINUUM], error + reach, staying, reach, plane=d)
    crossing = _rays(reduction, directions, reach)
    if len(crossing):
        crossing = crossing[lead_to(reduction.equations, crossing.numpy(), reduction.center.numpy())]
    if len(crossing) == LINE:
        across = torch.nn.functional.normalize(crossing[:1] - crossing[1:], dim=1)
        if float((crossing - center).norm(dim=1).sum()) * SAME_RAY < float((crossing[0] - crossing[1]).norm()):
            _, stays, length = _walked(reduction, across[0])  # where it is lost nearer by, the rays know better
            if stays or length < reach:
                return LocalRoots(center, [CONTINUUM], error, across, reach)
    if len(crossing):
        return LocalRoots(crossing, [CROSSING] * len(crossing), error.expand(len(crossing)), reduction.right, reach)
    least, largest = (0.0, 0.0) if len(staying) else _surrounding(reduction, directions, reach)
    kind = ROOT if least else UNDECIDED
    return LocalRoots(center, [kind], error + (least or reach), reduction.right, max(largest, reach))


def _surrounding(reduction: _Reduction, directions: Tensor, reach: float) -> tuple[float, float]:
    """The radii of the least and the largest sphere looked at on which g turns as about a root; 0 where it does not.

    Where the bordered system is not solved smaller ones are looked at, and where rounding hides g larger ones, up to
    where it is told again.
    """
    size, factor, least, largest = reach, 0.0, 0.0, 0.0
    for _ in range(FINEST):
        _, g, noise, solved = reduction(size * directions)
        told = bool(solved.all()) and not (g.abs() <= noise).all(-1).any()
        if told and not _turns(size * directions, g):
            break
        if told:
            least, largest = least or size, size
        before, factor = factor, 2.0 if solved.all() else 0.5
        if least == reach or before not in (0.0, factor) or size * factor > WIDEST * reach:
            break
        size *= factor
    return least, largest


def _vanishes(reduction: _Reduction, s: Tensor) -> bool:
    """Whether g is rounding at any of these (k, d), and not only within the solver's tolerance."""
    _, g, noise, _ = reduction(s)
    return bool((g.abs() <= (STORED + len(reduction.center)) * noise).all(-1).any())


def _staying(reduction: _Reduction, reach: float) -> Tensor:
    """The directions of the continuum that the point lies on, orthonormal (k, n); none where it is alone.

    They are the null directions along which, and between which, a walk goes beyond the reach and f is never told from
    0. A root of high order hides f far along its null directions too. Where f is told from 0 at last, fewer singular
    values of f' are 0: what is left of the null space there is carried back to the center and looked at in turn.
    """
    axes, weights = reduction.right, torch.as_tensor(np.random.default_rng(0).standard_normal(len(reduction.right)))
    while len(axes):
        between = torch.nn.functional.normalize(weights[None, : len(axes)] @ axes, dim=1)
        for axis in torch.cat([between, axes]) if len(axes) > 1 else axes:
            curve, stays, length = _walked(reduction, axis)
            if not stays:
                axes = _carried(reduction, curve, axes)
                break
            if length < reach:
                return axes[:0]
        else:
            return axes
    return axes


def _walked(reduction: _Reduction, axis: Tensor) -> tuple[Real, bool, float]:
    """A walk both ways along a direction, whether f is told from 0 nowhere on it, and how far it goes.

    It begins where f is told from 0, if it is.
    """
    equations, start = reduction.equations, reduction.center.numpy()
    curve = curve_of(equations, start, axis.numpy(), len(reduction.right))
    before, after, untold, _ = told_ends(equations, curve, start, len(reduction.right))
    length = float(np.linalg.norm(untold.states - start, axis=1).max())
    return curve.states[::-1] if after and not before else curve.states, not (before or after), length


def _carried(reduction: _Reduction, curve: Real, axes: Tensor) -> Tensor:
    """The null space of f' where a curve begins, carried along it to the center, in the span of `axes` (k, n)."""
    here = int(np.linalg.norm(curve - reduction.center.numpy(), axis=1).argmin())
    _, sigma, v = torch.linalg.svd(reduction.equations.matrix(torch.as_tensor(curve[: here + 1].copy())))
    least = max(ENTRIES * torch.finfo(v.dtype).eps * float(1 + sigma[0, 0]), FEWER * float(sigma[0, -len(axes)]))
    left = min(int((sigma[0] <= least).sum()), len(axes) - 1)
    null = v[0, len(v[0]) - left :]
    for plane in [*v[1:, -len(reduction.right) :], axes]:
        null = torch.linalg.svd(null @ plane.T @ plane, full_matrices=False)[2]
    return null


def _rays(reduction: _Reduction, directions: Tensor, reach: float) -> Tensor:
    """Roots at the distance `reach`, one on each curve of roots that runs into the center, shape (k, n)."""
    along, told = directions, torch.ones(len(directions), dtype=torch.bool)
    found = reduction.center[None][:0]
    for distance in (reach, reach / 2):
        before = along
        _, g, noise, _ = reduction(distance * along)
        if distance == reach and (g.abs() <= noise).all(-1).sum() > len(g) // 2:
            return found  # g is rounding nearly everywhere
        for _ in range(TURNED):
            h, g, _, _ = reduction(distance * along)
            slope = distance * reduction.slope(h)
            size = torch.linalg.matrix_norm(slope, keepdim=True).clamp_min(torch.finfo(g.dtype).tiny)  # or inf
            system = torch.cat([slope / size, along.unsqueeze(1)], dim=1)
            off = torch.cat([g.unsqueeze(-1) / size, torch.zeros_like(size)], dim=1)
            along = along - (torch.linalg.pinv(system) @ off).nan_to_num(0.0, 0.0, 0.0).squeeze(-1)
            along = torch.nn.functional.normalize(along, dim=-1)
        h, g, noise, solved = reduction(distance * along)
        rounded = torch.finfo(g.dtype).eps * torch.linalg.matrix_norm(distance * reduction.slope(h))  # of the direction
        told &= solved & (g.abs() <= (STORED + len(reduction.center)) * (noise + rounded.unsqueeze(-1))).all(-1)
        found = h if distance == reach else found
    told &= (before * along).sum(-1) > SAME_RAY
    kept: list[int] = []
    for row in told.nonzero()[:, 0].tolist():
        if all(float(along[row] @ along[other]) < SAME_RAY for other in kept):
            kept.append(row)
    return found[kept]


def _turns(s: Tensor, g: Tensor) -> bool:
    """Whether g on the sphere turns as a regular linear map does: its degree is then that map's, 1 or −1.

    On a circle, whose directions come in order, it may also turn several times.
    """
    if s.shape[1] == PLANE:
        angles = torch.atan2(g[:, 1], g[:, 0])
        steps = torch.remainder(angles.roll(-1) - angles + torch.pi, 2 * torch.pi) - torch.pi
        return bool(steps.abs().max() < LARGEST_TURN) and bool(steps.sum().abs() > torch.pi)
    M = torch.linalg.lstsq(s, g).solution
    image = s @ M
    aligned = (g * image).sum(-1) > ALIGNED * g.norm(dim=-1) * image.norm(dim=-1)
    return bool(aligned.all() and torch.linalg.cond(M) < 1 / ALIGNED**2)
