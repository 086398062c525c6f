"""The AntisymmetricRNN, ungated and gated: Euler steps of flows whose matrix is antisymmetric but for diffusion.

Beside them the ablation of the source's Table 2: the gated network with an unstructured matrix.

References
----------
Chang, Chen, Haber and Chi, "AntisymmetricRNN: a dynamical system view on recurrent neural networks", ICLR 2019,
arXiv 1902.09689, equations 12 (ungated) and 13 (gated), appendix C (initial values).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.utils.parametrize import register_parametrization

from dynlab.errors import UserError
from dynlab.systems.activations import ACTIVATIONS, ActivatedFlow
from dynlab.systems.base import Euler, Flow
from dynlab.systems.orthogonal import SkewSymmetric


class Diffusing(nn.Module):
    """M = W − Wᵀ − γ I of a strictly upper triangular W, whose n (n − 1) / 2 entries are the parameter, row by row."""

    def __init__(self, size: int, gamma: float) -> None:
        super().__init__()
        self.skew = SkewSymmetric(size)
        self.gamma = gamma

    def forward(self, upper: Tensor) -> Tensor:
        return self.skew(upper) - self.gamma * torch.eye(self.skew.size, dtype=upper.dtype, device=upper.device)

    def right_inverse(self, matrix: Tensor) -> Tensor:
        """The entries of W, those of `matrix` above the diagonal."""
        return matrix[tuple(self.skew.places)]


class Turning(Flow):
    """A flow with M = W − Wᵀ − γ I, or with any M where γ is None; arguments as in `AntisymmetricFlow`."""

    M: Tensor

    def __init__(self, input_size: int, state_size: int, gamma: float | None, sigma_w: float) -> None:
        super().__init__(state_size, input_size)
        if not (0 <= (gamma or 0) < math.inf and 0 <= sigma_w < math.inf):
            raise UserError(f"gamma and sigma_w must be non-negative numbers, got {gamma} and {sigma_w}.")
        self.gamma, deviation = gamma, sigma_w / math.sqrt(state_size)
        if gamma is None:
            self.M = nn.Parameter(deviation * torch.randn(state_size, state_size))
        else:
            diffusing = Diffusing(state_size, gamma)
            self.M = nn.Parameter(diffusing(deviation * torch.randn(state_size * (state_size - 1) // 2)))
            register_parametrization(self, "M", diffusing)


class AntisymmetricFlow(Turning, ActivatedFlow):
    """h' = tanh(M h + V x + b), M = W − Wᵀ − γ I, with Jacobian diag(1 − tanh²) M.

    Its eigenvalues have −γ max(1 − tanh²) ≤ Re λ ≤ −γ min(1 − tanh²). Under a constant input and with γ > 0 it has
    exactly one equilibrium, −M⁻¹ (V x + b).

    M is a parametrization of torch: inside ``with torch.nn.utils.parametrize.cached():`` it is computed once, which is
    worth its while around the steps of a sequence in training.

    Parameters
    ----------
    input_size, state_size : int
    gamma : float
        The diffusion γ ≥ 0, in 1/s.
    sigma_w : float
        W starts with entries of variance sigma_w²/state_size, V with variance 1/input_size, b with 0.
    """

    activation = ACTIVATIONS["tanh"]

    def __init__(self, input_size: int, state_size: int, gamma: float = 0.01, sigma_w: float = 1.0) -> None:
        super().__init__(input_size, state_size, gamma, sigma_w)
        self.V = nn.Parameter(_input_weights(self))
        self.b = nn.Parameter(torch.zeros(state_size))

    def weights(self) -> tuple[Tensor, Tensor]:
        return self.M, self.V

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return super().known_equilibrium(input) if self.gamma else None  # M has the eigenvalues −γ ± iω


class GatedFlow(Turning):
    """h' = z ∘ tanh(M h + V_h x + b_h) with the gate z = σ(M h + V_z x + b_z), both with M = W − Wᵀ − γ I, or any M.

    The Jacobian is diag(c) M, c = σ'(p_z) tanh(p_h) + σ(p_z) (1 − tanh²(p_h)) of the two pre-activations. A c may be
    negative, down to −1/4, so that, unlike the ungated flow's, an eigenvalue may have a positive real part.

    Parameters
    ----------
    input_size, state_size : int
    gamma : float or None
        The diffusion γ, as in `AntisymmetricFlow`; None for an M that is a parameter itself, with entries of variance
        sigma_w²/state_size.
    sigma_w : float
        Deviation of W at the start, as in `AntisymmetricFlow`.
    """

    def __init__(self, input_size: int, state_size: int, gamma: float | None = 0.01, sigma_w: float = 1.0) -> None:
        super().__init__(input_size, state_size, gamma, sigma_w)
        self.V_z = nn.Parameter(_input_weights(self))
        self.V_h = nn.Parameter(_input_weights(self))
        self.b_z = nn.Parameter(torch.zeros(state_size))
        self.b_h = nn.Parameter(torch.zeros(state_size))

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        p_z, p_h = self._preactivations(state, input)
        return torch.sigmoid(p_z) * torch.tanh(p_h)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return torch.tanh(self._preactivations(state, input)[1])

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        if not self.gamma:
            return None
        return -torch.linalg.solve(self.M, linear(input, self.V_h, self.b_h).unsqueeze(-1)).squeeze(-1)

    def _preactivations(self, state: Tensor, input: Tensor) -> tuple[Tensor, Tensor]:
        turning = linear(state, self.M)
        return turning + linear(input, self.V_z, self.b_z), turning + linear(input, self.V_h, self.b_h)


def antisymmetric(
    input_size: int, state_size: int, step_size: float = 0.01, gamma: float = 0.01, sigma_w: float = 1.0
) -> Euler:
    """The AntisymmetricRNN, h_t = h_{t−1} + ε tanh(M h_{t−1} + V x_t + b): `Euler` of `AntisymmetricFlow`.

    Parameters
    ----------
    input_size, state_size : int
    step_size : float
        ε in seconds.
    gamma : float
        The diffusion γ ≥ 0, in 1/s.
    sigma_w : float
        W starts with entries of variance sigma_w²/state_size.

    Examples
    --------
    >>> cell = antisymmetric(input_size=1, state_size=128)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    8384
    """
    return Euler(AntisymmetricFlow(input_size, state_size, gamma, sigma_w), step_size)


def antisymmetric_gated(
    input_size: int, state_size: int, step_size: float = 0.01, gamma: float = 0.01, sigma_w: float = 1.0
) -> Euler:
    """The gated AntisymmetricRNN: `Euler` of `GatedFlow`; arguments as in `antisymmetric`."""
    return Euler(GatedFlow(input_size, state_size, gamma, sigma_w), step_size)


def residual_gated(input_size: int, state_size: int, step_size: float = 0.01, sigma_w: float = 1.0) -> Euler:
    """The ablation of Table 2: the gated network with an unstructured matrix M; arguments as in `antisymmetric`.

    Nothing bounds its eigenvalues' real parts: what the antisymmetric matrix is for can be measured against it.
    """
    return Euler(GatedFlow(input_size, state_size, None, sigma_w), step_size)


def _input_weights(flow: Flow) -> Tensor:
    return torch.randn(flow.state_size, flow.input_size) / math.sqrt(max(flow.input_size, 1))
