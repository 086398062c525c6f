"""KRU: a complex RNN whose matrix is a Kronecker product of 2×2 factors, as a real system of twice the size.

References
----------
Jose, Cisse and Fleuret, "Kronecker recurrent units", ICML 2018, arXiv 1705.10142, sections 3 and 4. The activation, the
start of the factors and the weight of the penalty are not published for its results; here the factors start unitary.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.errors import UserError
from dynlab.systems.activations import Activated, activation_named
from dynlab.systems.base import Map
from dynlab.systems.complex_state import real_form, to_complex, to_real


class KRU(Activated, Map):
    """z_t = φ(V x_t + W z_{t−1}), W = W_0 ⊗ ⋯ ⊗ W_{F−1} of complex 2×2 factors; the state is [Re z; Im z].

    φ acts on real and imaginary parts alike, so that the Jacobian is diag(φ') times the real form of W. Training adds
    λ `penalty` to the loss, which keeps the factors near the unitary ones. A step takes n log n operations.

    Parameters
    ----------
    input_size, hidden_size : int
        `hidden_size` complex units n = 2^F, a state of 2 n real numbers.
    activation : {"tanh", "relu", "sigmoid", "identity"}
        φ.

    Examples
    --------
    >>> cell = KRU(input_size=1, hidden_size=512)
    >>> cell.state_size, sum(parameter.numel() for parameter in cell.parameters())
    (1024, 1096)
    """

    def __init__(self, input_size: int, hidden_size: int, activation: str = "tanh") -> None:
        super().__init__(2 * hidden_size, input_size)
        count = hidden_size.bit_length() - 1
        if count < 1 or hidden_size != 2**count:
            raise UserError(
                f"KRU's matrix is a product of 2 × 2 factors, so its hidden size is a power of 2; got {hidden_size}: "
                f"take {max(2, 2 ** (hidden_size - 1).bit_length())}."
            )
        self.activation = activation_named(activation)
        reach = math.sqrt(6 / (input_size + hidden_size))  # Glorot's
        self.V = nn.Parameter(torch.empty(2 * hidden_size, input_size).uniform_(-reach, reach))
        unitary = torch.linalg.qr(torch.randn(count, 2, 2, dtype=torch.complex64)).Q
        self.factors = nn.Parameter(torch.stack([unitary.real, unitary.imag], dim=1))

    step = Activated.value
    state_bound = Activated.value_bound

    def weights(self) -> tuple[Tensor, Tensor]:
        return real_form(self.matrix()), self.V

    def matrix(self) -> Tensor:
        """The complex matrix W, shape (n, n)."""
        first, *others = self._factors()
        for factor in others:
            first = torch.kron(first, factor)
        return first

    def penalty(self) -> Tensor:
        """Σ_f ‖W_fᴴ W_f − I‖_F²."""
        factors = self._factors()
        defect = factors.mH @ factors - torch.eye(2, dtype=factors.dtype, device=factors.device)
        return torch.view_as_real(defect).square().sum()

    def preactivation(self, state: Tensor, input: Tensor) -> Tensor:
        z = to_complex(state)
        for number, factor in enumerate(self._factors()):
            # the index that this factor acts on, between those before (more significant) and those after it
            parts = z.unflatten(-1, (2**number, 2, -1))
            z = torch.einsum("ij,...ajb->...aib", factor, parts).flatten(-3)
        return to_real(z) + linear(input, self.V)

    def _factors(self) -> Tensor:
        """The factors as complex matrices, shape (F, 2, 2)."""
        return torch.complex(self.factors[:, 0], self.factors[:, 1])
