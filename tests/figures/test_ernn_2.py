"""The recorded numbers of ERNN's Figure 2 are those of the trainings that the file names."""

import json
import os
import shlex

import numpy as np
import pytest

import dynlab as dl
from dynlab.figures.ernn_2 import LOOK
from dynlab.figures.scripts import kept
from dynlab.tasks import har
from dynlab.training import PRESETS
from dynlab.training.prepare import prepare
from dynlab.training.run import Run

SEQUENCES = 2  # of the recorded 16: a weight that differs is seen in the first


@pytest.mark.data
@pytest.mark.skipif("DYNLAB_DATA" not in os.environ, reason="needs HAR-2")
@pytest.mark.parametrize("network", LOOK)
def test_the_untrained_networks_are_those_of_the_commands(network):
    """The weights are a function of the seed, so that step 0 can be computed again at once."""
    recorded = kept("ernn-2")["gradients"]
    words = shlex.split(json.loads(recorded.attrs["commands"])[network])
    preset = PRESETS[words[words.index("--preset") + 1]]
    given = [word.partition("=") for word, before in zip(words[1:], words, strict=False) if before == "--set"]
    config = dict(preset.config) | {key: {"false": False}.get(value, value) for key, _, value in given}
    run = Run(preset.system, preset.task, preset.settings, config, preset.task_settings)
    system = prepare(run)[1].system
    chosen = np.sort(np.random.default_rng(0).choice(32, 16, replace=False))  # as driving_inputs does of the embedded
    inputs = har.sample("har2", "channel").inputs[chosen[:SEQUENCES]]
    found = dl.gradient(system, inputs)["log_norm"].sel(time=1).values
    expected = recorded["log_norm"].sel(network=network, step=0, time=1).values[:SEQUENCES]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
