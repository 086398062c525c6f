"""The interfaces `Map` and `Flow`, and Euler's map of a flow.

A system knows one step and nothing else; every analysis is a function of a system (`dynlab.diagnostics`).
"""

import abc
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn

from dynlab.arguments import check_positive
from dynlab.errors import UserError
from dynlab.program.derived import derived
from dynlab.program.program import Program
from dynlab.systems.embedding import Embedding, Encoder
from dynlab.systems.module_copy import copied
from dynlab.systems.orthogonal import Orthogonal, orthogonal_matrices
from dynlab.words import subscript


class System(nn.Module, abc.ABC):
    """The common part of `Map` and `Flow`: sizes, bounds, and what a step cannot tell.

    Systems are batched over leading dimensions: a state has shape (..., state_size), an input (..., input_size),
    a step number `t` is an int or an integer tensor that broadcasts with the leading dimensions. A system without
    input has ``input_size`` 0 and is given inputs of shape (..., 0).

    Attributes
    ----------
    name : str
        The public name in `SYSTEMS`, or the class's own where it has none there.
    config : dict
        The arguments that `dynlab.create` was called with, defaults included; empty for a system made otherwise.
    state_size, input_size : int
        Sizes of one step: what `step` takes, and the values of a held input (`at` of `dynlab.fixed_points`).
    network_input_size : int
        The width of what the network is given, which is what diagnostics take as `inputs`. `drive` makes the steps'
        inputs of it: a layer of a stack has those below it run, and a network of tokens looks vectors up. Without
        either the two sizes are equal.
    source : dict or None
        ``{"file": name, "sha256": digest}`` where the system was read from a checkpoint.
    task : str or None
        The public name of the task it was trained on, where that is known.
    task_settings : dict
        Settings of that task, so that `dynlab.tasks.create` makes it again.
    embedding : Embedding, Encoder or None
        Layer that makes the steps' inputs of tokens' numbers (`embed`), or of a whole model's inputs (`encode`).
    part_of : str
        The class of the model around it whose other layers are not run; empty where it is the whole network.
    period : tuple of float or None, or None
        Number that each state repeats after: 2π for an angle, None for others; None if no state is an angle.
    recorded_inputs : ndarray or None
        Inputs that drive it unless others are given, shape (sample, time, input): `dynlab.from_module` records them.
    rest_input : ndarray or None
        The input of a step where the model around it is given zeros, shape (input,): recorded with `recorded_inputs`.
    """

    source: dict[str, str] | None = None
    task: str | None = None
    recorded_inputs: np.ndarray | None = None
    rest_input: np.ndarray | None = None
    part_of: str = ""
    period: tuple[float | None, ...] | None = None

    def __init__(self, state_size: int, input_size: int) -> None:
        super().__init__()
        check_sizes(state_size, input_size)
        self.state_size, self.input_size, self.network_input_size = state_size, input_size, input_size
        self.task_settings: dict[str, Any] = {}
        # no attribute of the class, behind which a module would not be seen
        self.embedding: Embedding | Encoder | None = None
        self.name = type(self).__name__
        self.config: dict[str, Any] = {}

    @property
    def json_config(self) -> dict[str, Any]:
        """The part of `config` that a result's settings can hold: all but tensors."""
        return {name: value for name, value in self.config.items() if not torch.is_tensor(value)}

    @property
    def state_names(self) -> tuple[str, ...]:
        """The names of the states, h₁, h₂ and so on, or those that they were typed with."""
        return tuple(f"h{subscript(number)}" for number in range(1, self.state_size + 1))

    @property
    def blocks(self) -> tuple[int, ...]:
        """The sizes of the diagonal blocks of its Jacobian, zero above them: of a stack one for each layer."""
        return (self.state_size,)

    @abc.abstractmethod
    def evolve(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Compute what follows from a state: `Map.step`, or `Flow.velocity`."""

    def forward(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return `evolve`, for `torch.func.functional_call`."""
        return self.evolve(state, input, t)

    def program(self, input: Tensor, t: int = 0) -> Program:
        """Return one step, of a flow its velocity, under the held `input` of shape (input,), as elementary operations.

        Raises
        ------
        NoProgram
            If the step cannot be traced.
        """
        return derived(self).program.held(input, t)

    def state_bound(self) -> Tensor | None:
        """A bound on abs(h_i) at every fixed point and along orbits from 0, inf where there is none; shape (state,)."""
        return None

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        """A residual that vanishes at a fixed point and that no closed gate makes small, or None where step − h is one.

        Where a GRU's update gate saturates, ‖step(h) − h‖ is rounding for every h; h − candidate(h) is not.
        """
        return None

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        """A state that stays where it is under `input`, shape (..., state), where a formula gives one, else None.

        The search for fixed points starts there too: no box of random starts may hold that state.
        """
        return None

    def initial_state(self) -> Tensor | None:
        """The learned h_0 that an orbit starts at unless it is told otherwise, shape (state,); None where that is 0."""
        return None

    def penalty(self) -> Tensor | None:
        """Return what training adds to the loss, times a weight of its own, to keep a matrix near what it should be."""
        return None

    def constrained_parameters(self) -> list[nn.Parameter]:
        """The parameters of orthogonal or unitary matrices that the sources train at a learning rate of their own."""
        return [cast(nn.Parameter, each.original) for each in orthogonal_matrices(self)]

    def decaying_parameters(self) -> list[nn.Parameter] | None:
        """The only parameters that weight decay is of, the read-out's included; None for all but constrained ones."""
        return None

    def after_optimizer_step(self) -> None:
        """Change the system's own parameters once an optimiser has moved them: bases of orthogonal matrices move.

        Training calls it after every step of an optimiser. What it counts is kept in buffers, so that a checkpoint
        resumes exactly.
        """
        for each in orthogonal_matrices(self):
            cast(Orthogonal, each[0]).advance(cast(nn.Parameter, each.original))

    def output(self, state: Tensor) -> Tensor:
        """The part of the state that a read-out sees, shape (..., state) to (..., output): all of it, an LSTM's h."""
        return state

    def drive(self, inputs: Tensor) -> Tensor:
        """Return the steps' inputs for the network's `inputs`, shape (..., time, m) to (..., time, input_size).

        The identity, but for a network that reads tokens, and for a layer that reads the complete output of the layers
        below it.
        """
        return inputs if self.embedding is None else self.embedding(inputs)

    def embed(self, tokens: int) -> None:
        """Read tokens by their numbers, one a step, through a new table of vectors of the width of a step's input."""
        self.embedding = Embedding(tokens, self.input_size)
        self.network_input_size = 1

    def encode(self, encoder: Encoder) -> None:
        """Read a whole model's inputs through its linear layer before the network.

        Raises
        ------
        UserError
            For a layer of another width, and where layers below drive the network.
        """
        width = encoder.linear.out_features
        if width != self.input_size or self.network_input_size != self.input_size:
            raise UserError(f"The encoder gives {width} numbers, and a step of {self.name} takes {self.input_size}.")
        self.embedding = encoder
        self.network_input_size = encoder.linear.in_features

    def without_encoder(self) -> Self:
        """Return a copy whose inputs are what its steps are given."""
        found = copied(self)
        found.embedding, found.network_input_size = None, found.input_size
        return found


class Map(System):
    """A system in discrete time, h_t = step(h_{t−1}, x_t)."""

    @abc.abstractmethod
    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """The next state.

        Parameters
        ----------
        state : Tensor, shape (..., state)
        input : Tensor, shape (..., input)
        t : int or Tensor
            The step's number, 0 for the first; read only by systems whose parameters change with time. Of a whole
            trajectory it is a Tensor of shape (time,), to be broadcast as ``t.unsqueeze(-1)`` beside states.

        Returns
        -------
        Tensor, shape (..., state)
        """

    def evolve(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return the next state: `step`."""
        return self.step(state, input, t)


class Flow(System):
    """A system in continuous time, h' = velocity(h, x); `velocity` is given a third argument, t = 0."""

    def evolve(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """Return the rate of change: `velocity`."""
        return self.velocity(state, input, t)

    @abc.abstractmethod
    def velocity(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        """The rate of change of the state per second, shapes as in `Map.step`; `t` is 0, and no velocity reads it."""

    def energy(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> tuple[Tensor, Tensor] | None:
        """A quantity H that the flow conserves under a constant input where nothing dissipates, and its rate, or None.

        Of h' = tanh(p), p = M h + q, they are H = Σ_i log cosh(p_i) and Ḣ = f · M f, each of shape (...). The rate is 0
        where M is antisymmetric, and −γ |f|² where M is antisymmetric less γ I.
        """
        return None


class Integrator(Map):
    """One step of a method that integrates a flow; the input is held over it.

    Parameters
    ----------
    flow : Flow
    step_size : float
        ε in seconds, positive.
    """

    def __init__(self, flow: Flow, step_size: float) -> None:
        super().__init__(flow.state_size, flow.input_size)
        check_positive(step_size=step_size)
        self.flow, self.step_size = flow, step_size
        self.name, self.period, self.config = flow.name, flow.period, flow.config

    @property
    def state_names(self) -> tuple[str, ...]:
        return self.flow.state_names

    def known_equilibrium(self, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.flow.known_equilibrium(input, t)


class Euler(Integrator):
    """One step of the explicit Euler method: h + ε f(h, x); arguments as in `Integrator`."""

    def step(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor:
        return state + self.step_size * self.flow.velocity(state, input, t)

    def ungated_residual(self, state: Tensor, input: Tensor, t: int | Tensor = 0) -> Tensor | None:
        return self.flow.ungated_residual(state, input, t)


def check_sizes(state_size: int, input_size: int) -> None:
    """Raise the error for a system without a state, or with an input of negative size."""
    if state_size < 1 or input_size < 0:
        raise UserError(
            f"A system needs a state of at least one dimension and an input of none or more, "
            f"got sizes {state_size} and {input_size}."
        )
