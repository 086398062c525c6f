"""asRNN: an RNN with an orthogonal matrix whose saturation is adaptive.

References
----------
Nguyen-Duy, Pham and Nguyen, "Adaptive-saturated RNN: remember more with less instability", ICLR 2023 Tiny Papers,
arXiv 2304.11790; starts and settings as in the authors' code.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.base import Map
from dynlab.systems.orthogonal import Orthogonal, SkewSymmetric, constrain, entries_of, skew_start


class ASRNN(Map):
    """h_t = W_f⁻¹ tanh(W_f (V x_t + W h_{t−1} + b)), W_f = U_f D_f, D_f diagonal and positive.

    W and U_f are orthogonal, U_f = I at the start. The Jacobian is W_f⁻¹ diag(tanh') W_f W, of norm at most the
    quotient of D_f's extremes. D_f = abs(S) + ε, S uniform in (a, b) at the start: a small D_f makes the cell linear.

    At S = 0 the derivative of abs(S) is taken from the right, so that D_f learns there too; automatic differentiation
    of the absolute value gives 0. The source's copying setting starts at S = 0, so that its D_f = 1e-5 never moves and
    its cell is linear: that is `learn_saturation` = False here. Learned from there, D_f's entries drift orders of
    magnitude apart within a few steps, and with them the bound on the Jacobian.

    Parameters
    ----------
    input_size, state_size : int
    a, b : float
        Bounds of S at the start.
    eps : float
        ε > 0; with the source's 0 in its language models D_f could lose its inverse.
    init : {"cayley", "henaff", "zero"}
        Start of the skew-symmetric matrix of W; "cayley" on MNIST, "henaff" in copying.
    rebase_every : int or None
        None for exponentials (expRNN, on MNIST); K for dynamic trivializations of W and U_f (dtriv, in copying).
    project_every : int
        Number of moves between projections, as in `dynlab.systems.orthogonal_rnn.dtriv`.
    chart : {"exp", "cayley"}
        The map that makes W and U_f of skew-symmetric matrices, "cayley" for (I + A)⁻¹ (I − A).
    learn_saturation : bool
        Let S learn; otherwise D_f stays what it is at the start.

    Examples
    --------
    >>> cell = ASRNN(input_size=1, state_size=122)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    15128
    """

    W: Tensor
    U_f: Tensor

    def __init__(
        self,
        input_size: int,
        state_size: int,
        a: float = 0.02,
        b: float = 0.02,
        eps: float = 0.01,
        init: str = "cayley",
        rebase_every: int | None = None,
        project_every: int = 100,
        chart: str = "exp",
        learn_saturation: bool = True,
    ) -> None:
        super().__init__(state_size, input_size)
        if not (0 < eps < math.inf and -math.inf < a <= b < math.inf):
            raise UserError(
                f"asRNN needs a <= b and a positive eps (1e-5 in place of 0), got a = {a}, b = {b} and eps = {eps}."
            )
        self.eps = eps
        self.V = nn.Parameter(nn.init.orthogonal_(torch.empty(state_size, input_size)))
        self.b = nn.Parameter(torch.zeros(state_size))
        self.S = nn.Parameter(torch.empty(state_size).uniform_(a, b), requires_grad=learn_saturation)
        for name, start in {"W": init, "U_f": "zero"}.items():
            base = None if rebase_every is None else torch.eye(state_size)
            orthogonal = Orthogonal(SkewSymmetric(state_size), chart, base, rebase_every, project_every)
            constrain(self, name, skew_start(state_size, start), orthogonal)

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        U_f, D_f = self.U_f, self.saturation()
        drive = linear(input, self.V, self.b) + linear(state, self.W)
        return linear(torch.tanh(linear(D_f * drive, U_f)), U_f.mT) / D_f

    def saturation(self) -> Tensor:
        """D_f, shape (state,)."""
        return torch.where(self.S < 0, -self.S, self.S) + self.eps

    def state_bound(self) -> Tensor:
        """Return the bound of D_f⁻¹ U_fᵀ tanh(·): Σ_j abs(U_f,ji) / D_f,i."""
        return self.U_f.abs().sum(dim=0) / self.saturation()

    def constrained_parameters(self) -> list[nn.Parameter]:
        """The skew-symmetric matrix of W; that of U_f learns at the ordinary rate, as in the source."""
        return [entries_of(self, "W")]
