"""Several steps of a map as one: its fixed points are the periodic orbits of the map."""

from torch import Tensor

from dynlab.errors import UserError
from dynlab.operators import Operator
from dynlab.systems.base import Map


class Iterated(Map):
    """F^p(h) = F(F(… F(h))) under an input and a step number that are held, with ∂F^p/∂h the product of p Jacobians.

    Parameters
    ----------
    map : Map
    times : int
        p, at least 1.

    Examples
    --------
    >>> import torch
    >>> from dynlab.systems import create
    >>> twice = Iterated(create("logistic", r=3.2), 2)
    >>> round(float(twice.step(torch.tensor([0.5]).double(), torch.zeros(0))), 6)
    0.512
    """

    def __init__(self, map: Map, times: int) -> None:
        super().__init__(map.state_size, map.input_size)
        if times < 1:
            raise UserError(f"A map is iterated at least once, got {times}.")
        self.map = map
        self.times = times
        self.name = map.name
        self.config = map.config

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        for _ in range(self.times):
            state = self.map.step(state, input, t)
        return state

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator | None:
        product = self.map.closed_form_jacobian(state, input, t)
        for _ in range(self.times - 1):
            state = self.map.step(state, input, t)
            factor = self.map.closed_form_jacobian(state, input, t)
            if product is None or factor is None:
                return None
            product = factor @ product
        return product

    def state_bound(self) -> Tensor | None:
        return self.map.state_bound()
