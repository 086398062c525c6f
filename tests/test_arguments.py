"""Settings by name: each system and task says which it takes, and refuses a value of another kind in one sentence."""

import inspect

import pytest
from numpy.typing import ArrayLike
from typing_extensions import TypeAliasType

import dynlab as dl
from dynlab.arguments import bound
from dynlab.errors import UserError, lookup
from dynlab.systems import SYSTEMS
from dynlab.tasks import TASKS
from dynlab.tasks import create as create_task

WHOLE = [
    (name, key)
    for name in SYSTEMS
    for key, one in inspect.signature(lookup(SYSTEMS, name, "system")).parameters.items()
    if one.annotation is int
]


def sizes(name):
    """Four of everything that has no default."""
    takes = inspect.signature(lookup(SYSTEMS, name, "system")).parameters.values()
    return {one.name: 4 for one in takes if one.default is one.empty}


@pytest.mark.parametrize("name, key", WHOLE)
def test_every_whole_number_of_every_system_is_one(name, key):
    for got in ("x", 2.5, None, True):
        with pytest.raises(UserError, match=f"System '{name}': {key} must be a whole number, got {got!r}"):
            dl.create(name, **(sizes(name) | {key: got}))
    for got in (-1, 0) if key in ("state_size", "hidden_size") else ():
        with pytest.raises(UserError):
            dl.create(name, **(sizes(name) | {key: got}))


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: dl.create("vanilla", state_size=2), "needs the setting 'input_size'; it takes input_size, state_size"),
        (lambda: dl.create("vanilla", input_size=1, state_size=2, bias="maybe"), "bias must be true or false"),
        (lambda: dl.create("antisymmetric", input_size=1, state_size=2, gamma="x"), "gamma must be a number, got 'x'"),
        (lambda: dl.create("asrnn", input_size=1, state_size=2, rebase_every=1.5), "must be a whole number or none"),
        (lambda: dl.create("lstm", input_size=1, hidden_size=2, proj_size=9), "torch's layer .* smaller than hidden"),
        (
            lambda: dl.create("vanilla", input_size=1, state_size=3 * 10**49),
            "state_size must be a whole number of at most",
        ),
        (lambda: create_task("adding", length="long"), "Task 'adding': length must be a whole number, got 'long'"),
        (lambda: create_task("adding", lenght=9), "Task 'adding' takes no setting 'lenght'; it takes length"),
    ],
)
def test_one_sentence(make, sentence):
    with pytest.raises(UserError, match=sentence):
        make()


def test_defaults_are_settings_too():
    def made(size: int, rate: float = 0.5, rank: int | None = None): ...

    assert bound("system", "made", made, {"size": 3}) == {"size": 3, "rate": 0.5, "rank": None}
    assert bound("system", "made", made, {"size": 3, "rate": 1, "rank": 2}) == {"size": 3, "rate": 1, "rank": 2}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_takes_a_seed_a_data_folder_and_retrain(name):
    takes = inspect.signature(lookup(TASKS, name, "task")).parameters
    assert {"seed", "data_dir", "retrain"} <= set(takes)


Named = TypeAliasType("Named", getattr(ArrayLike, "__value__", ArrayLike))


def test_a_name_that_stands_for_a_union_is_taken_for_it():
    """As numpy's `ArrayLike` from Python 3.12 on, by which every other annotation was taken for an array too."""

    def make(states: Named | None, count: int | Named = 1, word: str = "a"):
        return states

    assert bound("task", "t", make, {"states": [1.0, 2.0], "count": 3, "word": "b"})["count"] == 3
    assert bound("task", "t", make, {"states": None})["states"] is None
    for given, words in (
        ({"states": "x"}, "states must be numbers or"),
        ({"states": None, "word": 1}, "word must be a word, got 1"),
        ({"states": None, "count": {}}, "count must be numbers or a whole number"),
    ):
        with pytest.raises(UserError, match=words):
            bound("task", "t", make, given)
