"""Trainings by name: the networks of the zoo on HAR-2, at the sizes of the ERNN paper's Table 3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dynlab.training.settings import Settings


@dataclass(frozen=True)
class Preset:
    """A training that `dynlab train --preset NAME` runs; options given beside it change it.

    Attributes
    ----------
    system, task : str
    config, task_settings : mapping
        Of the system and the task.
    settings : Settings
    """

    system: str
    task: str
    settings: Settings
    config: Mapping[str, Any] = field(default_factory=dict)
    task_settings: Mapping[str, Any] = field(default_factory=dict)


# Table 3 counts 7.5k parameters for RNN, FastRNN and AntisymmetricRNN, 16k for LSTM, 4k for ERNN, read-out included.
_HAR2 = Settings(epochs=40, batch_size=128, optimizer="adam", lr=1e-2, schedule="halve", halve_every=10, clip=1.0)

PRESETS: dict[str, Preset] = {
    "har2-rnn": Preset("rnn", "har2", _HAR2, {"hidden_size": 80}),
    "har2-lstm": Preset("lstm", "har2", _HAR2, {"hidden_size": 58}),
    "har2-antisymmetric": Preset("antisymmetric", "har2", _HAR2, {"state_size": 111}),
    "har2-fastrnn": Preset("fastrnn", "har2", _HAR2, {"state_size": 80, "activation": "relu"}),
    "har2-ernn-k1": Preset("ernn", "har2", _HAR2, {"state_size": 80, "inner_steps": 1}),
    "har2-ernn-k3": Preset("ernn", "har2", _HAR2, {"state_size": 80, "inner_steps": 3}),
    "har2-ernn-k5": Preset("ernn", "har2", _HAR2, {"state_size": 80, "inner_steps": 5}),
}
