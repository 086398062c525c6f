"""Training steps of every cell beside torch's RNN and LSTM; `training_step.py` has more ways, and a GPU."""

from functools import partial

import torch
from table import Row, Way
from training_step import BATCH, CELLS, UNITS, T, cell, fast, gradient, layer, step, stepped

# What a step is meant to take at most, as a multiple of torch's RNN; all others are to be no slower than its LSTM.
OF_RNN = dict.fromkeys(("vanilla", "feedback", "antisymmetric", "fastrnn", "cornn", "modrelu"), 1.0)
OF_RNN |= dict.fromkeys(("exprnn", "scornn", "nnrnn", "spectral", "soft-orthogonal"), 1.0)
OF_RNN |= {"antisymmetric-gated": 1.4, "fastgrnn": 1.4, "ugrnn": 1.4, "asrnn": 1.5, "ernn, K = 5": 2.5}


def _row(name: str, inputs: torch.Tensor) -> Row:
    system, of_rnn = cell(name, "cpu"), OF_RNN.get(name, float("inf"))
    loss, plain = fast(system, inputs), stepped(system, inputs)

    def error(*_: object) -> str:
        step(system, loss)
        found = gradient(system)
        step(system, plain)
        expected = gradient(system)
        return f"gradient off by {float((found - expected).norm() / expected.norm()):.0e}"

    others = [
        Way(f"torch's {title}", partial(step, *layer(kind, inputs)), 1.0, reach)
        for title, kind, reach in (
            ("RNN", torch.nn.RNN, of_rnn),
            ("LSTM", torch.nn.LSTM, 1.0 if name not in OF_RNN else float("inf")),
        )
    ]
    job = f"training step: {name}, {UNITS} units, {T} steps, batch {BATCH}, float32"
    return Row(job, lambda: step(system, loss), tuple(others), error)


def rows(network: str | None) -> list[Row]:
    torch.manual_seed(0)
    inputs = torch.randn(BATCH, T, 1)
    return [_row(name, inputs) for name in CELLS]
