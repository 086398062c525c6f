"""Every preset is a row of a source: it can be made, learns, and has the size that the source reports."""

from pathlib import Path

import numpy as np
import pytest
import torch

from dynlab.systems import create
from dynlab.tasks import TASKS
from dynlab.tasks import create as create_task
from dynlab.training import PRESETS
from dynlab.training.network import outputs, training_loss
from dynlab.training.prepare import accepted
from dynlab.training.presets.antisymmetric import ANTISYMMETRIC
from dynlab.training.presets.asrnn import ASRNN
from dynlab.training.presets.ernn import ROWS

# (input width, steps, outputs) of each task
SHAPES = {
    "har2": (9, 128, 2),
    "dsa19": (45, 125, 19),
    "google12": (32, 99, 12),
    "google30": (32, 99, 30),
    "yelp5": (128, 300, 5),
    "smnist": (1, 784, 10),
    "pmnist": (1, 784, 10),
    "noisy-mnist": (28, 1000, 10),
    "scifar": (3, 1024, 10),
    "noisy-cifar": (96, 1000, 10),
    "copying": (10, 1020, 9),
    "sine": (6, 6, 8),
    "ptb-char": (200, 150, 50),
    "ptb-word": (256, 300, 10_000),
}
TOKENS = {"ptb-char": 50, "ptb-word": 10_000, "yelp5": 20_000}  # read through vectors of the first number above
SMALLER_VECTORS = {"ernn-ptb-word-rnn": 128, "ernn-ptb-word-ugrnn": 128, "ernn-ptb-word-spectral": 128}
SOURCES = {name: one for name, one in PRESETS.items() if one.source}


def made(name):
    preset = PRESETS[name]
    width, steps, outputs = SHAPES[preset.task]
    width = SMALLER_VECTORS.get(name, width)
    torch.manual_seed(0)
    takes = accepted(preset.system)
    given = {"input_size": width} | ({"length": steps} if "length" in takes else {})
    system = create(preset.system, **given, **preset.config)
    if preset.task in TOKENS:
        assert preset.settings.embedding == width
        system.embed(TOKENS[preset.task])
    return system, outputs


def parameters(name, *, with_readout=True):
    system, outputs = made(name)
    shown = system.output(torch.zeros(system.state_size)).shape[-1]
    count = sum(one.numel() for one in system.parameters())
    return count + ((shown + 1) * outputs if with_readout else 0)


@pytest.mark.parametrize("name", SOURCES)
def test_a_preset_says_where_it_is_from_and_what_it_chose(name):
    preset = SOURCES[name]
    assert preset.task in TASKS
    assert preset.reported
    assert preset.chosen


@pytest.mark.parametrize("name", SOURCES)
def test_its_network_learns(name):
    """Two steps of two sequences: the gradient of every parameter is there and finite."""
    preset = SOURCES[name]
    if parameters(name, with_readout=False) - TOKENS.get(preset.task, 0) * preset.settings.embedding > 50_000:
        pytest.skip("tens of seconds: its sizes are tested, and its system on smaller ones")
    system, _ = made(name)
    inputs = 0.5 * torch.randn(2, 3, system.input_size) if system.embedding is None else torch.ones(2, 3, 1)
    shown, _ = outputs(system, inputs, every_step=False)
    optimizer = preset.settings.make_optimizer(system.parameters(), system.constrained_parameters())
    shown.square().sum().backward()
    gradients = [one.grad for one in system.parameters() if one.grad is not None]
    assert gradients
    assert all(torch.isfinite(one).all() for one in gradients)
    optimizer.step()
    system.after_optimizer_step()
    assert all(torch.isfinite(one).all() for one in system.parameters())


# What the sources report, where SYSTEMS says that the count was checked.
COUNTS = {
    "antisymmetricrnn-smnist-antisymmetric": 9_674,
    "antisymmetricrnn-smnist-antisymmetric-gated": 9_930,
    "antisymmetricrnn-smnist-fc-urnn-116": 16_366,
    "antisymmetricrnn-smnist-fc-urnn-512": 274_954,
    "antisymmetricrnn-scifar-antisymmetric": 36_234,
    "antisymmetricrnn-scifar-antisymmetric-gated": 37_258,
    "antisymmetricrnn-scifar-residual-gated": 41_954,
    "antisymmetricrnn-noisy-cifar-antisymmetric": 60_042,
    "antisymmetricrnn-noisy-cifar-residual-gated": None,
    "asrnn-smnist-asrnn-122": 16_358,
    "asrnn-smnist-asrnn-257": 69_143,
    "asrnn-smnist-asrnn-364": 136_874,
    "asrnn-smnist-exprnn-170": 16_415,
    "asrnn-smnist-exprnn-360": 68_950,
    "asrnn-smnist-exprnn-512": 136_970,
    "asrnn-copying-1000-asrnn": 21_813,
    "asrnn-copying-1000-exprnn": 21_764,
    "asrnn-copying-1000-lstm": 22_381,
    "asrnn-ptb-char-150-asrnn": 1_315_650,
    "asrnn-ptb-char-150-exprnn": 1_317_741,
    "asrnn-ptb-char-150-lstm": 1_320_100,
}
KNOWN = {name: count for name, count in COUNTS.items() if count is not None}


@pytest.mark.parametrize("name, count", KNOWN.items())
def test_parameter_counts_are_the_sources(name, count):
    assert parameters(name) == count


# the table counts the whole of an antisymmetric matrix; of SpectralRNN on HAR-2 see below
SIZED = [row for row, one in ROWS.items() if one[0] != "antisymmetric" and row != ("har2", "spectral")]


def kilobytes_of(task, row, *, with_readout):
    """Of a model as the table counts it: without the vectors of words, and without torch's second bias."""
    system, config, _, _ = ROWS[task, row]
    second_bias = {"lstm": 4, "gru": 3, "rnn": 1}.get(system, 0) * config.get("hidden_size", 0)
    name = f"ernn-{task}-{row}"
    vectors = TOKENS.get(task, 0) * PRESETS[name].settings.embedding
    return 4 * (parameters(name, with_readout=with_readout) - second_bias - vectors) / 1024


@pytest.mark.parametrize("task, row", SIZED)
def test_a_model_has_the_tables_kilobytes(task, row):
    """Within 3 %, or the table's rounding; of PTB by words without the read-out, which is larger than all of them."""
    kilobytes = ROWS[task, row][2]
    size = kilobytes_of(task, row, with_readout=task != "ptb-word")
    assert abs(size - kilobytes) <= max(1.0, 0.03 * kilobytes)


def test_the_spectral_network_of_har2_has_the_tables_size_with_reflections_stored_whole():
    """134k numbers, 525 KB: two matrices of reflections, of which a half is unused, s, the inputs', b, the read-out."""
    config, kilobytes = ROWS["har2", "spectral"][1:3]
    n, k = config["state_size"], config["reflections"]
    used = 2 * (n * k - k * (k - 1) // 2)
    numbers = parameters("ernn-har2-spectral") - used + 2 * n * k
    assert numbers // 1000 == 134
    assert round(4 * numbers / 1024) == kilobytes


@pytest.mark.parametrize("task", ["dsa19", "google12", "google30"])
def test_ernns_have_the_kilobytes_that_the_table_cuts_off(task):
    assert [int(kilobytes_of(*row, with_readout=True)) for row in ROWS if row[0] == task and "ernn" in row[1]] == [
        ROWS[row][2] for row in ROWS if row[0] == task and "ernn" in row[1]
    ]


@pytest.mark.parametrize("row", ["ernn-k1", "ernn-k2", "ernn-k3"])
def test_ernns_of_yelp_have_the_tables_kilobytes_without_a_read_out(row):
    assert abs(kilobytes_of("yelp5", row, with_readout=False) - ROWS["yelp5", row][2]) < 0.02


def test_every_row_of_the_tables_has_a_preset():
    assert len(ANTISYMMETRIC) == 2 * 7 + 2 * 4
    assert len(ASRNN) == 2 * 10 + 2 * 4 + 2 * 3
    reported = [float(one.reported.rstrip(" %")) for one in ANTISYMMETRIC.values()]
    assert np.mean(reported) > 50


@pytest.mark.parametrize("row", ["fc-urnn-116", "fc-urnn-512", "soft-orthogonal"])
@pytest.mark.parametrize("task", ["smnist", "pmnist"])
def test_quoted_baselines_have_the_rmsprop_of_their_authors(row, task):
    """Its average of squares decays by 0.9 (Keras's and Lasagne's), not by torch's 0.99."""
    preset = ANTISYMMETRIC[f"antisymmetricrnn-{task}-{row}"]
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = preset.settings.make_optimizer([weight])
    weight.grad = torch.ones(1)
    optimizer.step()
    assert float(weight.detach()) == pytest.approx(-preset.settings.lr / 0.1**0.5, rel=1e-4)


@pytest.mark.parametrize("start, named", [("antisymmetricrnn-scifar", "Adagrad"), ("ernn-", "clipping")])
def test_what_no_source_publishes_is_named_in_every_row_that_has_it(start, named):
    assert all(named in one.chosen for name, one in SOURCES.items() if name.startswith(start))


def test_the_constants_of_asrnn_are_said_to_be_the_codes():
    rows = [one for one in ASRNN.values() if one.system == "asrnn"]
    assert len(rows) == 2 * 3 + 2 + 2
    assert all("a, b and ε are the code's" in one.chosen for one in rows)


def test_networks_of_tokens_carry_their_state_and_halve_by_the_validation():
    read = [one.settings for one in ASRNN.values() if one.task in TOKENS]
    assert read
    assert all(one.carry and one.schedule == "plateau" and one.embedding for one in read)


COPYING = [one for one in ASRNN.values() if one.task == "copying"]


@pytest.mark.parametrize("preset", COPYING, ids=lambda one: f"{one.system}-{one.task_settings['delay']}")
def test_copying_is_of_four_thousand_batches_of_new_sequences(preset):
    assert preset.task_settings["fresh"]
    assert preset.settings.epochs * preset.task_settings["train_size"] == 4000 * 128
    assert preset.settings.batch_size == 128


def test_a_step_of_the_tutorial_is_its_own():
    """0.1/54 along the sum over 50 windows and 8 points of errors clipped at ±1."""
    preset = PRESETS["tutorial-sine"]
    task = create_task("sine", **preset.task_settings)
    answers = (3 * torch.randn(50, 8)).requires_grad_()
    targets = torch.from_numpy(task.train.targets)
    training_loss(task, answers, targets, preset.settings).backward()
    error = (answers - targets).detach()
    torch.testing.assert_close(preset.settings.lr * answers.grad, 0.1 / 54 * error.clamp(-1, 1))
    assert float(error.abs().max()) > 1
    assert len(task.train) == preset.settings.batch_size
    point = torch.nn.Parameter(torch.zeros(1))
    point.grad = torch.ones(1)
    preset.settings.make_optimizer([point]).step()
    assert float(point.detach()) == pytest.approx(-preset.settings.lr)


def test_halving_is_a_schedule():
    assert all(one.settings.schedule == "halve" for name, one in PRESETS.items() if name.startswith("ernn-"))


PAGE = (Path(__file__).parents[2] / "docs" / "presets.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SOURCES)
def test_the_page_has_every_preset_with_what_it_chose(name):
    preset = SOURCES[name]
    assert f"| `{name}` | {preset.system} | {preset.reported} | {preset.chosen} |" in PAGE
