"""Changes of a result over the checkpoints of a training."""

from dynlab.diagnostics.over_training.over_training import over_training as over_training
