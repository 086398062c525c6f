"""The table of systems, and what wraps a flow into a map."""

import pytest

from dynlab.errors import UserError
from dynlab.systems import create


@pytest.mark.parametrize(
    "name, config, message",
    [
        ("lstmm", {}, "did you mean 'lstm'"),
        ("vanilla", {"input_size": 1, "state_size": 0}, "at least one dimension"),
        ("antisymmetric", {"input_size": 1, "state_size": 2, "step_size": float("nan")}, "positive number, got nan"),
        ("ernn", {"input_size": 1, "state_size": 2, "length": 1, "start": "zeros"}, "did you mean 'zero'"),
        ("lstm", {"input_size": 1, "hidden_size": 2, "bias": False, "forget_bias": 1.0}, "needs bias=True"),
        ("gru", {"input_size": 2**53, "hidden_size": 2**53}, "not enough memory for the weights of"),
        ("linear", {"matrix": [[1.0, 2.0], [3.0]]}, "equal length"),
    ],
)
def test_misuse_is_one_sentence(name, config, message):
    with pytest.raises(UserError, match=message):
        create(name, **config)


@pytest.mark.parametrize(
    "name, config, total",
    [
        ("antisymmetric-gated", {"input_size": 1, "state_size": 128}, 8640),
        ("dtriv", {"input_size": 1, "state_size": 360}, 65_340),
        ("fastrnn", {"input_size": 9, "state_size": 80}, 7202),
        ("ernn", {"input_size": 9, "state_size": 80, "length": 128, "inner_steps": 3}, 4384),
    ],
)
def test_parameters_are_as_many_as_the_papers_count(name, config, total):
    """Beside those that the cells' examples count."""
    assert sum(each.numel() for each in create(name, **config).parameters()) == total
