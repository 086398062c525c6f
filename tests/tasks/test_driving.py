"""What drives a network: each way to say it, what is chosen where nothing is said, and that nothing is downloaded."""

import numpy as np
import pytest
import torch

from dynlab.errors import UserError
from dynlab.systems import create
from dynlab.tasks import create as create_task
from dynlab.tasks import driving_inputs, har

pytestmark = pytest.mark.usefixtures("alone")  # nothing but what ships


def network(width=9, task=None, **task_settings):
    torch.manual_seed(0)
    system = create("vanilla", input_size=width, state_size=2)
    system.task, system.task_settings = task, task_settings
    return system


def test_the_task_of_a_network_is_its_default_and_ships_with_dynlab():
    driving = driving_inputs(None, network(task="har2"), samples=32)
    assert np.array_equal(driving.inputs, har.sample("har2").inputs)
    assert np.array_equal(driving.targets, har.sample("har2").targets)
    assert driving.real
    assert driving.description == "32 test sequences of har2 that ship with dynlab"


def test_samples_are_drawn_with_the_seed_in_their_order_with_their_targets():
    one, same, other = (driving_inputs("task:har2", network(), samples=8, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.inputs, same.inputs)
    assert not np.array_equal(one.inputs, other.inputs)
    everything = har.sample("har2")
    rows = [next(i for i, kept in enumerate(everything.inputs) if np.array_equal(kept, x)) for x in one.inputs]
    assert rows == sorted(set(rows))
    assert np.array_equal(one.targets, everything.targets[rows])


def test_a_generated_task_is_made_as_for_the_training():
    settings = {"symbols": 2, "delay": 4, "train_size": 5, "test_size": 6}
    driving = driving_inputs(None, network(10, "copying", **settings), samples=6)
    assert np.array_equal(driving.inputs, create_task("copying", **settings).test.inputs)


@pytest.mark.parametrize(
    "system, reason",
    [
        (network(), "no task is known"),
        (network(task="mine"), "task 'mine' is not dynlab's"),
        (network(3, task="har2"), "inputs of width 9, not 3"),
        (network(28, task="noisy-mnist"), "the data of its task 'noisy-mnist' are not at hand"),
    ],
)
def test_without_a_usable_task_there_is_white_noise_and_it_says_so(system, reason):
    driving = driving_inputs(None, system, samples=40, steps=30)
    assert driving.inputs.shape == (40, 30, system.input_size)
    assert abs(driving.inputs.std() - 1) < 0.05
    assert not driving.real
    assert "white noise" in driving.description
    assert reason in driving.description


def test_recorded_inputs_come_first():
    system = network(2, task="har2")
    system.recorded_inputs = np.arange(24.0).reshape(3, 4, 2)
    assert np.array_equal(driving_inputs(None, system).inputs, system.recorded_inputs)


def test_made_up_inputs_are_what_they_are_called():
    assert np.array_equal(driving_inputs("zero", network(2), steps=3).inputs, np.zeros((1, 3, 2)))
    constant = driving_inputs("constant:0.5,-2", network(2), steps=3).inputs
    assert np.array_equal(constant, np.tile([0.5, -2.0], (1, 3, 1)))
    noise = driving_inputs("noise:0.1", network(2), samples=50, steps=100).inputs
    assert noise.shape == (50, 100, 2)
    assert abs(noise.std() / 0.1 - 1) < 0.03


SPECS = {
    "nois:1": "choose task:har2",
    "noise:much": "Unknown inputs",
    "noise:-1": "must not be negative",
    "noise:inf": "NaN or infinite",
    "constant:1": r"inputs of shape \(sample, time, 9\), got \(1, 50, 1\)",
    "task:har22": "Unknown task 'har22'",
    "task:noisy-mnist": r"MNIST is not at hand: put train-images-idx3-ubyte.gz, .*DYNLAB_DATA",
    "nowhere.npy": "There is no file nowhere.npy",
}


@pytest.mark.parametrize("spec, message", SPECS.items())
def test_bad_specs_are_named(spec, message):
    with pytest.raises(UserError, match=message):
        driving_inputs(spec, network())


@pytest.mark.parametrize("spec", ["zero", "noise:1.0"])
def test_more_steps_than_can_be_held_are_refused_with_the_number(spec):
    with pytest.raises(UserError, match=r"are \d+,000,000,000 numbers or more"):
        driving_inputs(spec, network(), steps=10**9)


ARRAYS = [
    (np.ones((0, 5, 9)), "The inputs are empty"),
    (np.ones((2, 5, 8)), r"got \(2, 5, 8\)"),
    (np.full((2, 5, 9), np.nan), "NaN or infinite"),
    (np.ones((2, 5, 9), complex), "must hold real numbers"),
    (np.ones(9), r"shape \(sample, time, 9\), got \(9,\)"),
    (np.array([None]), "must hold real numbers"),
]


@pytest.mark.parametrize("array, message", ARRAYS)
def test_bad_arrays_are_named(array, message, tmp_path):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(UserError, match=message):
        driving_inputs(str(tmp_path / "x.npy"), network())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04"])
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.nc"])
def test_files_that_are_none_are_named(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be read|is no \.np"):
        driving_inputs(str(tmp_path / name), network())


@pytest.mark.parametrize("settings", [{"delay": 10**9}, {"delay": "x"}, {"seed": -5}, {"nothing": 3}, {"delay": -3}])
def test_a_task_as_a_file_has_it_is_made_within_limits(settings):
    message = "are [0-9,]+ numbers or more|delay must be|seed must be at least 0|unexpected keyword argument 'nothing'"
    with pytest.raises(UserError, match=message):
        driving_inputs(None, network(10, "copying", **settings))
