"""A map inside of an affine space that it maps into itself."""

from torch import Tensor

from dynlab.systems.base import Map
from dynlab.systems.held import Held


class Within(Map):
    """s → A (F(c + Aᵀ s) − c) with F held: what F does in the space through c that the rows of A span.

    Its exponents are those of F along the space; those across are left out.

    Parameters
    ----------
    held : Held
        Of a map.
    centre : Tensor, shape (n,)
        c.
    axes : Tensor, shape (d, n)
        A, orthonormal rows.

    Examples
    --------
    >>> import torch
    >>> from dynlab.systems import from_function
    >>> shrinks_and_grows = from_function(lambda h, x: h * torch.tensor([0.5, 2.0]).to(h), state_size=2)
    >>> held = Held(shrinks_and_grows.double(), torch.zeros(0).double())
    >>> within = Within(held, torch.zeros(2).double(), torch.tensor([[1.0, 0.0]]).double())
    >>> within.step(torch.tensor([3.0]).double(), torch.zeros(0)).tolist()
    [1.5]
    """

    input: Tensor
    centre: Tensor
    axes: Tensor

    def __init__(self, held: Held, centre: Tensor, axes: Tensor) -> None:
        super().__init__(len(axes), 0)
        self.map = held.system
        self.register_buffer("input", held.input)
        self.register_buffer("centre", centre)
        self.register_buffer("axes", axes)
        self.t = held.t
        self.name = held.system.name
        self.config = held.system.config

    @property
    def held(self) -> Held:
        """F, with its input in the dtype and on the device that this map has now."""
        return Held(self.map, self.input, self.t)

    def whole(self, state: Tensor) -> Tensor:
        """The states (..., n) of F that coordinates (..., d) stand for."""
        return self.centre + state @ self.axes

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return (self.held.moved(self.whole(state)) - self.centre) @ self.axes.mT
