"""coRNN: driven, damped oscillators coupled by a tanh network, a step of which is implicit in the positions.

References
----------
Rusch and Mishra, "Coupled Oscillatory Recurrent Neural Network (coRNN): an accurate and (gradient) stable architecture
for learning long time dependencies", ICLR 2021, arXiv 2010.00951, equations 1 and 3; the damping at the old velocity
and the initial values as in the authors' code.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from dynlab.arguments import check_positive
from dynlab.systems.base import Map


class CoRNN(Map):
    """Oscillators x'' = tanh(W x + W̃ x' + V u + b) − γ x − ε x' in the state (x, z), z = x'.

    A step moves the velocities by the old positions, and then the positions by the new velocities:

        z_t = z_{t−1} + Δt (tanh(W x_{t−1} + W̃ z_{t−1} + V u_t + b) − γ x_{t−1} − ε z_{t−1}),   x_t = x_{t−1} + Δt z_t.

    The Jacobian is made of A = ∂z_t/∂x_{t−1} = Δt (diag(tanh') W − γ I) and
    B = ∂z_t/∂z_{t−1} = (1 − Δt ε) I + Δt diag(tanh') W̃: its rows are (I + Δt A, Δt B) and (A, B). The read-out sees x.

    Parameters
    ----------
    input_size, hidden_size : int
        The state has twice `hidden_size` coordinates.
    step_size : float
        Δt in seconds.
    gamma, epsilon : float
        The stiffness γ > 0, in 1/s², and the damping ε > 0, in 1/s, of every oscillator.

    Examples
    --------
    >>> cell = CoRNN(input_size=9, hidden_size=64)
    >>> sum(parameter.numel() for parameter in cell.parameters())
    8832
    """

    def __init__(
        self, input_size: int, hidden_size: int, step_size: float = 0.1, gamma: float = 0.2, epsilon: float = 6.4
    ) -> None:
        super().__init__(2 * hidden_size, input_size)
        check_positive(step_size=step_size, gamma=gamma, epsilon=epsilon)
        self.hidden_size = hidden_size
        self.step_size, self.gamma, self.epsilon = step_size, gamma, epsilon
        reach = 1 / math.sqrt(input_size + 2 * hidden_size)  # of torch's layer of (u, z, x), which theirs is
        self.W = nn.Parameter(torch.empty(hidden_size, hidden_size).uniform_(-reach, reach))
        self.W_velocity = nn.Parameter(torch.empty(hidden_size, hidden_size).uniform_(-reach, reach))
        self.V = nn.Parameter(torch.empty(hidden_size, input_size).uniform_(-reach, reach))
        self.b = nn.Parameter(torch.empty(hidden_size).uniform_(-reach, reach))

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        x, z = state.chunk(2, dim=-1)
        driven = linear(x, self.W) + linear(z, self.W_velocity) + linear(input, self.V, self.b)
        force = torch.tanh(driven) - self.gamma * x - self.epsilon * z
        z = z + self.step_size * force
        return torch.cat([x + self.step_size * z, z], dim=-1)

    def output(self, state: Tensor) -> Tensor:
        return state[..., : self.hidden_size]
