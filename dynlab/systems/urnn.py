"""RNNs with a unitary matrix: uRNN and the full-capacity uRNN, as real systems of twice the size.

References
----------
uRNN: Arjovsky, Shah and Bengio, ICML 2016, arXiv 1511.06464, section 4. Full capacity: Wisdom, Powers, Hershey, Le Roux
and Atlas, NeurIPS 2016, arXiv 1611.00035, sections 3 and 4. Starts as in the authors' codes.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.operators import Operator, Shared
from dynlab.program import Program
from dynlab.systems.base import Map, check_sizes
from dynlab.systems.complex_state import complex_modrelu, complex_modrelu_formula, complex_modrelu_jacobian
from dynlab.systems.orthogonal import advance, entries_of
from dynlab.systems.unitary import FourierUnitary, FullUnitary

# uRNN's hidden bias starts uniform in this range on both sides of 0, the full-capacity one's at 0.
BIAS_REACH = 0.01


class UnitaryRNN(Map):
    """z_t = modReLU(V x_t + W z_{t−1}) for complex z, V and a unitary W; the state is [Re z; Im z].

    The Jacobian is that of modReLU, 2×2 for each unit, times the real form of W. z_0 is learned: `initial_state`.

    Parameters
    ----------
    input_size, hidden_size : int
        The state has twice `hidden_size`.
    recurrent : FourierUnitary or FullUnitary
        W, of size `hidden_size`.
    bias_reach : float
        modReLU's b starts uniform in ± this.
    """

    def __init__(
        self, input_size: int, hidden_size: int, recurrent: FourierUnitary | FullUnitary, bias_reach: float
    ) -> None:
        super().__init__(2 * hidden_size, input_size)
        reach = math.sqrt(6 / (input_size + 2 * hidden_size))  # Glorot's, of the real and imaginary rows together
        start = math.sqrt(3 / (2 * hidden_size))
        self.V = nn.Parameter(torch.empty(2 * hidden_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.empty(hidden_size).uniform_(-bias_reach, bias_reach))
        self.z_0 = nn.Parameter(torch.empty(2 * hidden_size).uniform_(-start, start))
        self.recurrent = recurrent

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return complex_modrelu(self.recurrent(state) + linear(input, self.V), self.b)

    def formula(self, p: Program, h: int, x: int, t: int = 0) -> int:
        p.rounded = True
        return complex_modrelu_formula(p, p.add(p.linear(self.recurrent.matrix(), h), p.linear(self.V, x)), self.b)

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator:
        W = self.recurrent.matrix()
        preactivation = linear(state, W) + linear(input, self.V)
        return complex_modrelu_jacobian(preactivation, self.b) @ Shared(W)

    def initial_state(self) -> Tensor:
        return self.z_0

    def constrained_parameters(self) -> list[nn.Parameter]:
        return [entries_of(self.recurrent, "W")] if isinstance(self.recurrent, FullUnitary) else []

    def after_optimizer_step(self) -> None:
        if isinstance(self.recurrent, FullUnitary):
            advance(self.recurrent, "W")


def urnn(input_size: int, hidden_size: int) -> UnitaryRNN:
    """uRNN: W is the product `dynlab.systems.unitary.FourierUnitary` of 7 n reals.

    Parameters
    ----------
    input_size, hidden_size : int
        `hidden_size` complex units n, a state of 2 n real numbers.

    Examples
    --------
    >>> cell = urnn(input_size=1, hidden_size=512)
    >>> cell.state_size, sum(parameter.numel() for parameter in cell.parameters())
    (1024, 6144)
    """
    check_sizes(hidden_size, input_size)
    return UnitaryRNN(input_size, hidden_size, FourierUnitary(hidden_size), BIAS_REACH)


def fc_urnn(input_size: int, hidden_size: int) -> UnitaryRNN:
    """The full-capacity uRNN: W is any unitary matrix, `dynlab.systems.unitary.FullUnitary`; arguments as in `urnn`."""
    check_sizes(hidden_size, input_size)
    return UnitaryRNN(input_size, hidden_size, FullUnitary(hidden_size), 0.0)
