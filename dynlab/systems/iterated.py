"""Several steps of a map whose input is held as one map without input: its fixed points are periodic orbits."""

from torch import Tensor

from dynlab.arguments import check_at_least
from dynlab.systems.base import Map
from dynlab.systems.held import Held


class Iterated(Map):
    """F^p(h) = F(F(… F(h))), where F has its input and step number held, with ∂F^p/∂h the product of p Jacobians.

    Parameters
    ----------
    held : Held
        Of a map.
    times : int
        p, at least 1; 1 makes a map without input of the held one.

    Examples
    --------
    >>> import torch
    >>> from dynlab.systems import create
    >>> twice = Iterated(Held(create("logistic", r=3.2), torch.zeros(0)), 2)
    >>> round(float(twice.step(torch.tensor([0.5]).double(), torch.zeros(0))), 6)
    0.512
    """

    input: Tensor

    def __init__(self, held: Held, times: int) -> None:
        super().__init__(held.system.state_size, 0)
        check_at_least(1, times=times)
        self.map = held.system
        self.register_buffer("input", held.input)
        self.t = held.t
        self.times = times
        self.name = held.system.name
        self.config = held.system.config

    @property
    def held(self) -> Held:
        """F, with its input in the dtype and on the device that this map has now."""
        return Held(self.map, self.input, self.t)

    @property
    def blocks(self) -> tuple[int, ...]:
        return self.map.blocks

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        for _ in range(self.times):
            state = self.held.moved(state)
        return state

    def state_bound(self) -> Tensor | None:
        return self.map.state_bound()

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.map.ungated_residual(*self.held.given(state)) if self.times == 1 else None

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.map.known_equilibrium(self.input, self.t)
