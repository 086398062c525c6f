"""Settings by name: each system and task says which it takes, and refuses a value of another kind in one sentence."""

import pytest
from numpy.typing import ArrayLike
from typing_extensions import TypeAliasType

import dynlab as dl
from dynlab.arguments import bound
from dynlab.errors import UserError
from dynlab.tasks import create as create_task


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: dl.create("vanilla", state_size=2), "needs the setting 'input_size'; it takes input_size, state_size"),
        (lambda: dl.create("vanilla", input_size=1, state_size=2.5), "state_size must be a whole number, got 2.5"),
        (lambda: dl.create("lstm", input_size=True, hidden_size=2), "input_size must be a whole number, got True"),
        (lambda: dl.create("vanilla", input_size=1, state_size=2, bias="maybe"), "bias must be true or false"),
        (lambda: dl.create("asrnn", input_size=1, state_size=2, rebase_every=1.5), "must be a whole number or none"),
        (lambda: dl.create("lstm", input_size=1, hidden_size=2, proj_size=9), "torch's layer .* smaller than hidden"),
        (lambda: create_task("adding", lenght=9), "Task 'adding' takes no setting 'lenght'; it takes length"),
    ],
)
def test_one_sentence(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


Named = TypeAliasType("Named", getattr(ArrayLike, "__value__", ArrayLike))


def test_a_name_that_stands_for_a_union_is_taken_for_it():
    """As numpy's `ArrayLike` from Python 3.12 on, by which every other annotation was taken for an array too."""

    def make(states: Named | None, count: int | Named = 1, word: str = "a"):
        return states

    assert bound("task", "t", make, {"states": [1.0, 2.0], "count": 3, "word": "b"})["count"] == 3
    assert bound("task", "t", make, {"states": None})["states"] is None
    with pytest.raises(UserError, match="word must be a word, got 1"):
        bound("task", "t", make, {"states": None, "word": 1})
    with pytest.raises(UserError, match="count must be numbers or a whole number"):
        bound("task", "t", make, {"states": None, "count": {}})
