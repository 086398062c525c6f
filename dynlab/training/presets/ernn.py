"""Tables 3 and 5 of the ERNN paper: HAR-2, and MNIST and CIFAR-10 by pixels and with noise.

Kag, Zhang and Saligrama, arXiv 1908.08574: Adam, batches of 128, learning rate and η 1e-2 at the start, the rate halved
every so often. Units and ranks are not given: they are those with which the model has the table's kilobytes, at four
bytes a number, read-out and η included. The baselines' settings are EdgeML's. Not here are the rows of DSA-19,
Google-12, Google-30, Yelp-5 and PTB by words, whose data sets dynlab does not read yet.
"""

from typing import Any

from dynlab.training.presets.preset import Preset
from dynlab.training.settings import Settings

EPOCHS, HALVE_EVERY = 100, 25
CHOSEN = "epochs and the period of halving (100 and 25), units and rank (by the table's kilobytes)"
WHOLE = {"retrain": True}
# EdgeML standardises each (step, feature) of HAR-2; pixels of MNIST are standardised.
TASKS: dict[str, dict[str, Any]] = {
    "har2": {"standardise": "feature"},
    "smnist": {"standardise": "global"},
    "pmnist": {"standardise": "global"},
    "noisy-mnist": {},
    "noisy-cifar": {},
}


def _settings(lr: float = 1e-2, batch_size: int = 128) -> Settings:
    halving: dict[str, Any] = {"schedule": "halve", "halve_every": HALVE_EVERY}
    return Settings(epochs=EPOCHS, batch_size=batch_size, optimizer="adam", lr=lr, clip=1.0, **halving)


def _ernn(units: int, rank: int, K: int, activation: str = "relu") -> dict[str, Any]:
    return {"state_size": units, "rank": rank, "inner_steps": K, "activation": activation, "eta": 0.01}


def _antisymmetric(units: int) -> dict[str, Any]:
    return {"state_size": units, "step_size": 0.1, "gamma": 0.01, "sigma_w": 1.0}


# task and row: system, its configuration, kilobytes, accuracy of Table 3 in percent
ROWS: dict[tuple[str, str], tuple[str, dict[str, Any], float, float]] = {
    ("har2", "fastrnn"): ("fastrnn", {"state_size": 80, "activation": "relu"}, 29, 94.50),
    ("har2", "fastgrnn"): ("fastgrnn", {"state_size": 80}, 29, 95.38),
    ("har2", "rnn"): ("rnn", {"hidden_size": 80}, 29, 91.31),
    ("har2", "spectral"): ("spectral", {"state_size": 128}, 525, 95.48),
    ("har2", "lstm"): ("lstm", {"hidden_size": 64}, 74, 93.65),
    ("har2", "gru"): ("gru", {"hidden_size": 73}, 71, 93.62),
    ("har2", "antisymmetric"): ("antisymmetric", _antisymmetric(80), 29, 93.15),
    ("har2", "ernn-k1"): ("ernn", _ernn(80, 20, 1), 17, 95.32),
    ("har2", "ernn-k3"): ("ernn", _ernn(80, 20, 3), 17, 95.52),
    ("har2", "ernn-k5"): ("ernn", _ernn(80, 20, 5), 18, 96.30),
    ("har2", "ernn-sigmoid-k1"): ("ernn", _ernn(80, 20, 1, "sigmoid"), 17, 92.16),
    ("har2", "ernn-sigmoid-k3"): ("ernn", _ernn(80, 20, 3, "sigmoid"), 17, 93.35),
    ("har2", "ernn-sigmoid-k5"): ("ernn", _ernn(80, 20, 5, "sigmoid"), 18, 95.30),
    ("smnist", "fastrnn"): ("fastrnn", {"state_size": 200}, 166, 96.44),
    ("smnist", "fastgrnn"): ("fastgrnn", {"state_size": 128}, 71, 98.72),
    ("smnist", "rnn"): ("rnn", {"hidden_size": 128}, 71, 94.10),
    ("smnist", "lstm"): ("lstm", {"hidden_size": 128}, 265, 97.81),
    ("smnist", "gru"): ("gru", {"hidden_size": 100}, 123, 98.70),
    ("smnist", "antisymmetric"): ("antisymmetric", _antisymmetric(128), 70, 98.01),
    ("smnist", "ernn-k1"): ("ernn", _ernn(128, 10, 1), 20, 97.73),
    ("smnist", "ernn-k2"): ("ernn", _ernn(128, 10, 2), 23, 98.13),
    ("smnist", "ernn-k3"): ("ernn", _ernn(128, 10, 3), 25, 98.13),
    ("pmnist", "fastrnn"): ("fastrnn", {"state_size": 100}, 44, 92.68),
    ("pmnist", "lstm"): ("lstm", {"hidden_size": 104}, 176, 92.61),
    ("pmnist", "antisymmetric"): ("antisymmetric", _antisymmetric(128), 70, 93.59),
    ("pmnist", "ernn-k1"): ("ernn", _ernn(128, 32, 1), 41, 95.62),
    ("noisy-mnist", "fastrnn"): ("fastrnn", {"state_size": 104}, 58, 98.12),
    ("noisy-mnist", "lstm"): ("lstm", {"hidden_size": 107}, 232, 10.31),
    ("noisy-mnist", "antisymmetric"): ("antisymmetric", _antisymmetric(100), 54, 97.76),
    ("noisy-mnist", "ernn-k1"): ("ernn", _ernn(100, 16, 1), 32, 98.48),
    ("noisy-cifar", "fastrnn"): ("fastrnn", {"state_size": 100}, 81, 45.76),
    ("noisy-cifar", "lstm"): ("lstm", {"hidden_size": 103}, 324, 11.60),
    ("noisy-cifar", "antisymmetric"): ("antisymmetric", _antisymmetric(100), 81, 48.63),
    ("noisy-cifar", "ernn-k1"): ("ernn", _ernn(100, 16, 1), 58, 54.50),
}


def _preset(task: str, row: str) -> Preset:
    system, config, _, accuracy = ROWS[task, row]
    # EdgeML trains its plain RNN at a tenth of the rate in batches of 512
    settings = _settings(1e-3, 512) if system == "rnn" else _settings()
    table = "ERNN, Table 5" if "sigmoid" in row else "ERNN, Table 3"
    return Preset(system, task, settings, config, TASKS[task] | WHOLE, table, f"{accuracy:.2f} %", CHOSEN)


ERNN = {f"ernn-{task}-{row}": _preset(task, row) for task, row in ROWS}
