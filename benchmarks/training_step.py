"""How long a training step of every cell takes: forward, backward, no optimizer; against torch's own layers.

    python benchmarks/training_step.py [--device cuda] [--cells antisymmetric,asrnn] [--rounds 5]

Sequences of T = 784 steps, batch 128, 128 units, float32. Beside dynlab's: the same cell stepped under automatic
differentiation, its loop compiled by TorchScript where it is the antisymmetric one, and torch's RNN and LSTM. All take
turns in one process; the table has the least and the median of the rounds, parts of torch's RNN, and how far the
gradient is from the stepped one's, as a part of its norm. Numbers below float32's least normal one are 0 for all of
them, as they are while dynlab trains: gradients that vanish would take torch's RNN 2 and its LSTM 7 times as long.
Freed memory is kept, as by dynlab's command.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from dynlab.cli.main import keep_memory
from dynlab.systems import Map, create
from dynlab.training.network import outputs
from dynlab.training.recorded import Recorded

T, BATCH, UNITS = 784, 128, 128
CELLS = {
    "vanilla": {},
    "feedback": {},
    "antisymmetric": {},
    "antisymmetric-gated": {},
    "fastrnn": {},
    "fastgrnn": {},
    "ugrnn": {},
    "cornn": {"hidden_size": UNITS},
    "modrelu": {},
    "exprnn": {},
    "scornn": {},
    "asrnn": {},
    "nnrnn": {},
    "spectral": {},
    "soft-orthogonal": {},
    "ernn": {"length": T, "inner_steps": 1},
    "ernn, K = 5": {"length": T, "inner_steps": 5},
    "rnn": {"hidden_size": UNITS},
    "gru": {"hidden_size": UNITS},
    "lstm": {"hidden_size": UNITS},
}


def cell(name: str, device: str) -> Map:
    torch.manual_seed(0)
    config = CELLS[name]
    sizes = {} if "hidden_size" in config else {"state_size": UNITS}
    return create(name.partition(",")[0], input_size=1, **sizes, **config).to(device)


def fast(system: Map, inputs: Tensor) -> Callable[[], Tensor]:
    recorded = Recorded()

    def loss() -> Tensor:
        with torch.nn.utils.parametrize.cached():
            return outputs(system, inputs, False, recorded=recorded)[0].square().mean()

    return loss


def stepped(system: Map, inputs: Tensor) -> Callable[[], Tensor]:
    def loss() -> Tensor:
        with torch.nn.utils.parametrize.cached():
            state = inputs.new_zeros(len(inputs), system.state_size)
            for t, input in enumerate(inputs.transpose(0, 1).contiguous().unbind(0)):
                state = system.step(state, input, t)
            return system.output(state).square().mean()

    return loss


@torch.jit.script
def _scripted_loop(inputs: Tensor, M: Tensor, V: Tensor, b: Tensor, step_size: float) -> Tensor:
    state = torch.zeros([inputs.shape[1], M.shape[0]], device=inputs.device)
    for t in range(inputs.shape[0]):
        drive = torch.nn.functional.linear(inputs[t], V, b)
        state = state + step_size * torch.tanh(torch.nn.functional.linear(state, M) + drive)
    return state


def scripted(system: Map, inputs: Tensor) -> Callable[[], Tensor]:
    steps = inputs.transpose(0, 1).contiguous()
    flow = system.flow
    return lambda: _scripted_loop(steps, flow.M, flow.V, flow.b, system.step_size).square().mean()


def layer(kind: type[torch.nn.RNNBase], inputs: Tensor) -> tuple[torch.nn.Module, Callable[[], Tensor]]:
    torch.manual_seed(0)
    module = kind(1, UNITS, batch_first=True).to(inputs.device)
    return module, lambda: module(inputs)[0][:, -1].square().mean()


def step(module: torch.nn.Module, loss: Callable[[], Tensor]) -> float:
    module.zero_grad()
    synchronize = torch.cuda.synchronize if next(module.parameters()).is_cuda else lambda: None
    synchronize()
    began = time.perf_counter()
    loss().backward()
    synchronize()
    return time.perf_counter() - began


def gradient(module: torch.nn.Module) -> Tensor:
    return torch.cat([one.grad.flatten().double().cpu() for one in module.parameters() if one.grad is not None])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cells", default=",".join(CELLS).replace("ernn, K = 5", "ernn; K = 5"))
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = False
    torch.set_flush_denormal(True)
    keep_memory()
    inputs = torch.randn(BATCH, T, 1, device=asked.device)
    jobs: dict[str, tuple[torch.nn.Module, Callable[[], Tensor]]] = {
        "torch's RNN": layer(torch.nn.RNN, inputs),
        "torch's LSTM": layer(torch.nn.LSTM, inputs),
    }
    errors = {}
    for name in [one.replace(";", ",") for one in asked.cells.split(",")]:
        system = cell(name, asked.device)
        jobs[name] = system, fast(system, inputs)
        plain = stepped(system, inputs)
        step(system, plain)
        expected = gradient(system)
        for _ in range(2):
            step(system, jobs[name][1])
        errors[name] = float((gradient(system) - expected).norm() / expected.norm())
        jobs[f"{name}, stepped"] = system, plain
        if name == "antisymmetric":
            jobs[f"{name}, TorchScript"] = system, scripted(system, inputs)
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(asked.rounds):
        for name, job in jobs.items():
            times[name].append(step(*job))
    where = torch.cuda.get_device_name() if asked.device == "cuda" else f"{torch.get_num_threads()} thread(s)"
    print(f"torch {torch.__version__}, {where}; T = {T}, batch {BATCH}, {UNITS} units")
    print(f"{'cell':28} {'least ms':>9} {'median':>9} {'of RNN':>7} {'error':>8}")
    base = min(times["torch's RNN"])
    for name, one in times.items():
        error = f"{errors[name]:8.0e}" if name in errors else ""
        print(f"{name:28} {1e3 * min(one):9.2f} {1e3 * statistics.median(one):9.2f} {min(one) / base:7.2f} {error}")


if __name__ == "__main__":
    main()
