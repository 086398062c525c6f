"""Orthogonal matrices as parametrizations of torch: base · φ(A), A skew-symmetric, and what A starts with.

Three things differ from `torch.nn.utils.parametrizations.orthogonal`, and made own code necessary. Its parameter is a
full matrix of which a triangle is used: twice the numbers that the sources count. Its exponential is computed in the
parameter's own dtype, and in float32 WᵀW is off the identity by 1e-4; here the map is computed in float64 and rounded,
which leaves 1e-6. And its base never moves. (Its Cayley map of A is the one here of −A/2.) geotorch's `SO`, from which
torch's came, shares the first two, and its base is set by hand.

References
----------
Lezcano-Casado and Martínez-Rubio, "Cheap orthogonal constraints in neural networks", ICML 2019, arXiv 1901.08428
(φ = exp); Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", NeurIPS 2019,
arXiv 1909.09501 (the moving base); Helfrich, Willmott and Ye, "Orthogonal recurrent neural networks with scaled Cayley
transform", ICML 2018, arXiv 1707.09520 (φ = Cayley, and the start of that name); Henaff, Szlam and LeCun, "Recurrent
orthogonal networks and long-memory tasks", ICML 2016, arXiv 1602.06662 (the other start).
"""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import ParametrizationList, register_parametrization

from dynlab.arguments import check_at_least
from dynlab.errors import entry


def cayley(A: Tensor) -> Tensor:
    """(I + A)⁻¹ (I − A), a rotation without the eigenvalue −1 for a skew-symmetric A, unitary for a skew-Hermitian."""
    identity = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    return torch.linalg.solve(identity + A, identity - A)


CHARTS = {"exp": torch.linalg.matrix_exp, "cayley": cayley}
# What each block's number a is drawn as.
STARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "cayley": lambda a: -torch.tan(a.uniform_(0, math.pi / 2) / 2),
    "henaff": lambda a: a.uniform_(-math.pi, math.pi),
    "zero": torch.zeros_like,
}


def polar_factor(matrix: Tensor) -> Tensor:
    """The nearest matrix with orthonormal rows or columns, the polar factor U Vᵀ of U S Vᵀ."""
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    return left @ right


class SkewSymmetric(nn.Module):
    """A = U − Uᵀ of the n (n − 1) / 2 entries of U above the diagonal, row by row."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.places = nn.Buffer(torch.triu_indices(size, size, offset=1), persistent=False)

    def forward(self, entries: Tensor) -> Tensor:
        upper = entries.new_zeros(self.size, self.size).index_put(tuple(self.places), entries)
        return upper - upper.mT


class Orthogonal(nn.Module):
    """The parametrization W = base · φ(A), computed in float64 whatever the dtype of the parameter.

    With `rebase_every` = K, after every K steps of an optimiser the base becomes the present W and the parameter 0: the
    matrix stays and its coordinates change (dynamic trivialization). After every M such moves the new base is
    projected on the orthogonal matrices, which rounding has left.

    Parameters
    ----------
    tangent : Module
        From the parameter to A, which is skew-symmetric; 0 must give 0.
    chart : {"exp", "cayley"}
        φ.
    base : Tensor, shape (size, size), optional
        Orthogonal; kept in float64, so that moves add no error. Without it the identity, which does not move.
    rebase_every : int, optional
        K; without it the base stays.
    project_every : int
        M.

    Raises
    ------
    UserError
        For an unknown chart, and for a K or an M below 1.
    """

    def __init__(
        self,
        tangent: nn.Module,
        chart: str = "exp",
        base: Tensor | None = None,
        rebase_every: int | None = None,
        project_every: int = 100,
    ) -> None:
        super().__init__()
        made = entry(CHARTS, chart, "chart of the orthogonal matrices")
        check_at_least(1, rebase_every=rebase_every, project_every=project_every)
        self.tangent, self.chart = tangent, made
        self._keeps = False
        self._made: tuple[Any, ...] = ()  # the matrix, what it was made of, and versions and places in memory of that
        self.rebase_every, self.project_every = rebase_every, project_every
        self.base = None if base is None else nn.Buffer(base.double())
        if rebase_every is not None:
            self.steps = nn.Buffer(torch.tensor(0))

    def forward(self, entries: Tensor) -> Tensor:
        if not self._keeps or entries.requires_grad or entries.is_inference():
            return self._precise(entries).to(entries.dtype)
        of = [each for each in (entries, self.base) if each is not None]
        at = [(id(each), each._version, each.data_ptr()) for each in of]
        if self._made[2:] != (at,):
            self._made = self._precise(entries).to(entries.dtype), of, at
        return self._made[0]

    def keep(self) -> None:
        """Compute the matrix anew only where what it is made of was changed, by torch and not by ``.data``.

        For a copy that is analysed: a step of 122 units otherwise takes a matrix exponential of 4 ms.
        """
        self._keeps, self._made = True, ()

    def advance(self, entries: Tensor) -> None:
        """Count one step of the optimiser, and move the base when it is time."""
        if self.rebase_every is None:
            return
        self.steps.add_(1)
        moves, rest = divmod(int(self.steps), self.rebase_every)
        if rest == 0:
            self.rebase(entries, project=moves % self.project_every == 0)

    @torch.no_grad()
    def rebase(self, entries: Tensor, project: bool = False) -> None:
        """Make the present matrix the base, its polar factor where `project`, and the parameter `entries` 0."""
        matrix = self._precise(entries)
        cast(Tensor, self.base).copy_(polar_factor(matrix) if project else matrix)
        entries.zero_()

    def _precise(self, entries: Tensor) -> Tensor:
        turned = self.chart(self.tangent(entries.double()))
        return turned if self.base is None else self.base.double() @ turned


def constrain(system: nn.Module, name: str, entries: Tensor, made: nn.Module) -> None:
    """Give `system` the matrix `name`, which the module `made` makes of the parameter `entries`.

    It is a parametrization of torch: ``with torch.nn.utils.parametrize.cached():`` computes it once.
    """
    setattr(system, name, nn.Parameter(entries))
    # `unsafe` says that the parameter has another shape than the matrix; without an inverse none can be assigned
    register_parametrization(system, name, made, unsafe=True)


def parametrizations_of(system: nn.Module, name: str) -> ParametrizationList:
    """The parametrizations that make the matrix `name`, in the order they act."""
    return cast(ParametrizationList, cast(nn.ModuleDict, system.parametrizations)[name])


def entries_of(system: nn.Module, name: str) -> nn.Parameter:
    """The parameter that the matrix `name` is made of."""
    return cast(nn.Parameter, parametrizations_of(system, name).original)


def orthogonal_matrices(system: nn.Module) -> list[ParametrizationList]:
    """The parametrizations of a system's orthogonal matrices, each with the parameter that it makes one of."""
    found = [part for part in system.modules() if isinstance(part, ParametrizationList)]
    return [each for each in found if isinstance(each[0], Orthogonal)]


def skew_start(size: int, init: str) -> Tensor:
    """The entries of a skew-symmetric A of 2×2 blocks [[0, a], [−a, 0]], as `SkewSymmetric` takes them.

    Parameters
    ----------
    size : int
    init : {"cayley", "henaff", "zero"}
        a = −tan(s/2) with s uniform in (0, π/2), so that `cayley` turns by s; a uniform in (−π, π); or a = 0.
    """
    started = entry(STARTS, init, "start of the skew-symmetric matrix")
    A = torch.zeros(size, size)
    first = 2 * torch.arange(size // 2)
    A[first, first + 1] = started(torch.empty(size // 2))
    return A[tuple(torch.triu_indices(size, size, offset=1))]
