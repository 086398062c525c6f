"""The network that is trained: a system, run over its inputs, and a linear read-out of what it shows.

torch's recurrent layers are run by its own fused kernels: the same numbers as stepping to rounding, and much faster.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.nn.utils import parametrize

from dynlab.errors import UserError
from dynlab.systems import Map
from dynlab.systems.embedding import UNIFORM
from dynlab.systems.torch_cells import Cell, GRUCell, LSTMCell, RNNCell, Stack
from dynlab.tasks import Split, Task
from dynlab.training.batches import Sweep, streams
from dynlab.training.recorded import Recorded
from dynlab.training.settings import LOSSES, Settings
from dynlab.training.unitwise_sequence import unitwise, unitwise_states

# Sequences at a time where no gradient is taken.
EVALUATION_BATCH = 512
ANSWERS_AT_ONCE = 2**25  # 128 MiB in float32: of a large vocabulary at every step, fewer sequences
EVALUATION_STREAMS = 10  # where the state is carried: the sources' number
AS_REPORTED = Settings()  # of the loss: the task's own, without smoothed labels


class Network(nn.Module):
    """A system and its read-out.

    Parameters
    ----------
    system : Map
    task : Task
        Says how many outputs there are, and whether each step is read or the last alone.
    dropout : float
        Share that is dropped of what the read-out sees, while training.

    Raises
    ------
    UserError
        If the system does not take the task's inputs.
    """

    def __init__(self, system: Map, task: Task, dropout: float = 0.0) -> None:
        super().__init__()
        if system.network_input_size != task.input_size:
            raise UserError(
                f"System {system.name!r} takes inputs of width {system.network_input_size}, task {task.name!r} gives "
                f"{task.input_size}: set input_size={task.input_size}."
            )
        self.system = system
        self.every_step = task.every_step
        self.recorded = Recorded()
        self.dropout = nn.Dropout(dropout)
        self.readout = nn.Linear(system.output(torch.zeros(system.state_size)).shape[-1], task.output_size)
        if task.tokens is not None:  # as the sources' language models start
            nn.init.uniform_(self.readout.weight, -UNIFORM, UNIFORM)
            nn.init.zeros_(self.readout.bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return what is answered: shape (sample, output), or (sample, time, output) where every step is."""
        return self.carried(inputs, None)[0]

    def carried(self, inputs: Tensor, state: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return what is answered from a state on, shape (sample, state), and the state that it ends in.

        Without a state it starts at 0, or where the system has learned to start.
        """
        shown, last = outputs(self.system, inputs, self.every_step, state, self.recorded)
        return self.readout(self.dropout(shown)), last


def outputs(
    system: Map, inputs: Tensor, every_step: bool, state: Tensor | None = None, recorded: Recorded | None = None
) -> tuple[Tensor, Tensor]:
    """Return what the system shows after its last input (sample, time, input), or after each, and its last state.

    It starts at `state`, shape (sample, state), without which at 0, or at the state that it has learned to start at.
    """
    inputs, recorded = system.drive(inputs), recorded or Recorded()
    if state is None:
        learned = system.initial_state()
        state = inputs.new_zeros(system.state_size) if learned is None else learned
        state = state.expand(inputs.shape[0], -1)
    fused = fused_outputs(system, inputs, state)
    if fused is not None:
        return fused[0] if every_step else fused[0][:, -1], fused[1]
    form = None if torch.is_autocast_enabled(inputs.device.type) else unitwise(system, inputs)
    if form is not None:  # which keeps the state in one precision
        states, last = unitwise_states(form, inputs.transpose(0, 1), state, every_step, recorded)
        return (system.output(states).transpose(0, 1) if every_step else system.output(last)), last
    shown = []
    with parametrize.cached():  # a constrained matrix is made once a sequence, not once a step
        for t, input in enumerate(inputs.transpose(0, 1).contiguous().unbind(0)):
            state = system.step(state, input, t)
            if every_step:
                shown.append(system.output(state))
    return torch.stack(shown, dim=1) if every_step else system.output(state), state


def loss_of(task: Task, answers: Tensor, targets: Tensor, settings: Settings = AS_REPORTED) -> Tensor:
    """The mean over sequences, and over steps where every step is answered; in training as its settings say."""
    if task.loss == "mse":
        return LOSSES[settings.loss or "mse"](answers, targets, settings)
    return cross_entropy(answers.flatten(0, -2), targets.flatten(), label_smoothing=settings.label_smoothing)


def metric_of(task: Task, answers: Tensor, targets: Tensor) -> Tensor:
    """The task's metric: the share of right answers, the mean squared error, or bits for each token of a stream."""
    if task.loss == "mse":
        return mse_loss(answers, targets)
    if task.unit:
        return loss_of(task, answers, targets) / math.log(2)
    return (answers.argmax(dim=-1) == targets).to(torch.float64).mean()


def sweep(task: Task, split: Split, carry: bool) -> Sweep:
    """A split in batches for an evaluation: in streams where the state is carried."""
    if carry:
        return Sweep(split, streams(len(split), EVALUATION_STREAMS))
    answers = task.output_size * (task.length if task.every_step else 1)
    size = max(1, min(EVALUATION_BATCH, ANSWERS_AT_ONCE // answers))
    return Sweep(split, [slice(start, start + size) for start in range(0, len(split), size)])


def evaluate(network: Network, task: Task, split: Split, carry: bool = False) -> dict[str, float]:
    """The ``loss`` and the task's metric over a split, and the perplexity of a stream of words."""
    network.eval()
    device = network.readout.weight.device
    loss = metric = 0.0
    state = None
    with torch.no_grad():
        for batch in sweep(task, split, carry):
            inputs, targets = (part.to(device) for part in batch)
            answers, last = network.carried(inputs, None if state is None else state[: len(inputs)])
            state = last if carry else None
            share = len(inputs) / len(split)
            loss += share * float(loss_of(task, answers, targets))
            metric += share * float(metric_of(task, answers, targets))
    return {"loss": loss, task.metric: metric} | ({"perplexity": math.exp(loss)} if task.unit == "word" else {})


def fused_outputs(system: Map, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return what the system shows after each of its inputs, and its last state; None where torch has no kernel for it.

    Parameters
    ----------
    system : Map
    inputs : Tensor, shape (sample, time, input)
    state : Tensor, shape (sample, state)
        The start.

    Returns
    -------
    (Tensor, shape (sample, time, output), Tensor, shape (sample, state)), or None
    """
    layers: list[Any] = list(system.cells) if isinstance(system, Stack) else [system]
    if not all(isinstance(layer, Cell) and layer.weight_hr is None for layer in layers):
        return None  # projections are stepped: rare, and another layout
    first = layers[0]
    weights = [
        weight
        for layer in layers
        for weight in (layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
        if weight is not None
    ]
    # (sample, state) to (layer, sample, units), an LSTM's h and c apart, as torch has them
    parts = state.unflatten(-1, (len(layers), -1, first.weight_hh.shape[1])).permute(2, 1, 0, 3).contiguous().unbind()
    # has_biases, num_layers, dropout, train, bidirectional, batch_first
    how = (first.bias_ih is not None, len(layers), 0.0, first.training, False, True)
    if isinstance(first, LSTMCell):
        shown, *last = torch.lstm(inputs, parts, weights, *how)
    else:
        relu = isinstance(first, RNNCell) and first.activation.function is torch.relu
        run = torch.gru if isinstance(first, GRUCell) else torch.rnn_relu if relu else torch.rnn_tanh
        shown, *last = run(inputs, parts[0], weights, *how)
    return shown, torch.stack(last).permute(2, 1, 0, 3).flatten(1)
