"""HAR-2 as its published numbers were made: the recipe of EdgeML, the code of FastRNN's authors, and of coRNN's script.

Kusupati et al., "FastGRNN", NeurIPS 2018, with Microsoft's EdgeML library: each of the 128 · 9 columns standardised,
300 epochs of Adam at 0.01 in batches of 100, a tenth of it after 200 (its plain RNN at 0.001 in batches of 512), no
clipping. Its trainer for torch leaves the classifier as it was drawn and never shuffles; here that is learned and the
data are shuffled, as its TensorFlow one has it. It reports the best test accuracy of all epochs. Rusch and Mishra,
"coRNN", ICLR 2021: the script beside the paper.
"""

from typing import Any

from dynlab.training.presets.ernn import ROWS
from dynlab.training.presets.preset import Preset
from dynlab.training.settings import Settings

TASK = {"standardise": "feature", "retrain": True}
BEST = "The code reports the best test accuracy of all epochs. Here the last epoch's is taken"
BY_SIZE = "units (by the kilobytes of ERNN's Table 3)"
# beside the rows of ERNN's Table 3, which has no UGRNN: 64 units have the FastGRNN paper's 37 KB
UGRNN = ("ugrnn", {"state_size": 64}, 37, 94.53)
CORNN = {"hidden_size": 64, "step_size": 0.1, "gamma": 0.2, "epsilon": 6.4}
ALSO_CHOSEN = {
    "ugrnn": "units (by the FastGRNN paper's 37 KB)",
    "antisymmetric": f"{BY_SIZE}, ε, γ and σ_w. Quoted from the ERNN paper, which trained it in its own way",
    "spectral": f"{BY_SIZE}, reflections. It starts as its own authors' code does",
}


def _settings(row: str) -> Settings:
    lr, batch_size = (1e-3, 512) if row == "rnn" else (1e-2, 100)
    return Settings(epochs=300, batch_size=batch_size, lr=lr, schedule="tenth", halve_every=200)


def _preset(row: str) -> Preset:
    system, config, _, accuracy = UGRNN if row == "ugrnn" else ROWS["har2", row]
    chosen = f"{ALSO_CHOSEN.get(row, BY_SIZE)}. {BEST}"
    return Preset(system, "har2", _settings(row), config, TASK, "FastGRNN, HAR-2", f"{accuracy:.2f} %", chosen)


def _cornn() -> Preset:
    how: dict[str, Any] = {"epochs": 250, "batch_size": 64, "lr": 0.017}
    chosen = "its one output with a logistic loss is two with cross-entropy here; which subjects choose the epoch"
    return Preset("cornn", "har2", Settings(**how), CORNN, TASK, "coRNN, HAR-2", "97.2 %", chosen)


QUOTED = ("rnn", "fastrnn", "fastgrnn", "ugrnn", "lstm", "gru", "spectral", "antisymmetric")
EDGEML = {f"edgeml-har2-{row}": _preset(row) for row in QUOTED} | {"cornn-har2": _cornn()}
