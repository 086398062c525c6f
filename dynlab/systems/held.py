"""Maps and flows whose input is held: autonomous ones."""

from torch import Tensor

from dynlab.operators import Operator
from dynlab.systems.base import Flow, Map


class Held(Map):
    """F(h) = step(h, x, t) with x and t held; it takes no input.

    Parameters
    ----------
    map : Map
    input : Tensor, shape (input,)
        x, what one step is given.
    t : int
    """

    input: Tensor

    def __init__(self, map: Map, input: Tensor, t: int = 0) -> None:
        super().__init__(map.state_size, 0)
        self.map = map
        self.register_buffer("input", input)
        self.t = t
        self.name = map.name
        self.config = map.config

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return self.map.step(state, self._held(state), self.t)

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator | None:
        return self.map.closed_form_jacobian(state, self._held(state), self.t)

    def state_bound(self) -> Tensor | None:
        return self.map.state_bound()

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.map.ungated_residual(state, self._held(state), self.t)

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.map.known_equilibrium(self.input, self.t)

    def _held(self, state: Tensor) -> Tensor:
        return self.input.expand(*state.shape[:-1], -1)


class HeldFlow(Flow):
    """h' = velocity(h, x) with x held; it takes no input.

    Parameters
    ----------
    flow : Flow
    input : Tensor, shape (input,)
        x.
    """

    input: Tensor

    def __init__(self, flow: Flow, input: Tensor) -> None:
        super().__init__(flow.state_size, 0)
        self.flow = flow
        self.register_buffer("input", input)
        self.name = flow.name
        self.config = flow.config

    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return self.flow.velocity(state, self._held(state), t)

    def closed_form_jacobian(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Operator | None:
        return self.flow.closed_form_jacobian(state, self._held(state), t)

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.flow.known_equilibrium(self.input, t)

    def energy(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Tensor, Tensor] | None:
        return self.flow.energy(state, self._held(state), t)

    def _held(self, state: Tensor) -> Tensor:
        return self.input.expand(*state.shape[:-1], -1)
