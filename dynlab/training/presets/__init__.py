"""Trainings by name: the rows of the sources' tables, one file a source, and the zoo's own."""

from dynlab.training.presets.antisymmetric import ANTISYMMETRIC
from dynlab.training.presets.asrnn import ASRNN
from dynlab.training.presets.edgeml import EDGEML
from dynlab.training.presets.ernn import ERNN
from dynlab.training.presets.preset import Preset
from dynlab.training.presets.tutorial import TUTORIAL
from dynlab.training.presets.zoo import ZOO

__all__ = ["PRESETS", "Preset"]

PRESETS: dict[str, Preset] = {**ZOO, **ANTISYMMETRIC, **ERNN, **EDGEML, **ASRNN, **TUTORIAL}
