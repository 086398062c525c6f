"""Settings by name: each system and task says which it takes, and refuses a value of another kind in one sentence."""

import pytest

import dynlab as dl
from dynlab.errors import UserError
from dynlab.tasks import create as create_task


@pytest.mark.parametrize(
    "make, sentence",
    [
        (
            lambda: dl.create("vanilla", state_size=2),
            "missing a required argument: 'input_size'; it takes input_size",
        ),
        (lambda: dl.create("vanilla", input_size=1, state_size=2.5), "state_size must be a whole number, got 2.5"),
        (lambda: dl.create("lstm", input_size=True, hidden_size=2), "input_size must be a whole number, got True"),
        (lambda: dl.create("vanilla", input_size=1, state_size=2, bias="maybe"), "bias must be true or false"),
        (lambda: dl.create("asrnn", input_size=1, state_size=2, rebase_every=1.5), "must be a whole number or none"),
        (lambda: dl.create("lstm", input_size=1, hidden_size=2, proj_size=9), "torch's layer .* smaller than hidden"),
        (
            lambda: create_task("adding", lenght=9),
            "got an unexpected keyword argument 'lenght'; it takes length",
        ),
    ],
)
def test_one_sentence(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()
