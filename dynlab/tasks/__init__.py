"""Tasks that networks are trained on and driven by: real data sets and generators, one a file. The table is `TASKS`."""

from typing import Any, cast

from dynlab.arguments import about, bound, check_at_least
from dynlab.errors import lookup
from dynlab.tasks.driving import Driving, driving_inputs
from dynlab.tasks.task import Split, Task

__all__ = ["TASKS", "Driving", "Split", "Task", "create", "driving_inputs"]

# Public name to "module:attribute": a function that makes the task from its settings.
TASKS = {
    "har2": "dynlab.tasks.har:har2",
    "har6": "dynlab.tasks.har:har6",
    "dsa19": "dynlab.tasks.dsa19:dsa19",
    "digits": "dynlab.tasks.digits:digits",
    "copying": "dynlab.tasks.copying:copying",
    "smnist": "dynlab.tasks.images:smnist",
    "pmnist": "dynlab.tasks.images:pmnist",
    "noisy-mnist": "dynlab.tasks.images:noisy_mnist",
    "scifar": "dynlab.tasks.images:scifar",
    "noisy-cifar": "dynlab.tasks.images:noisy_cifar",
    "google12": "dynlab.tasks.google:google12",
    "google30": "dynlab.tasks.google:google30",
    "ptb-char": "dynlab.tasks.ptb:ptb_char",
    "ptb-word": "dynlab.tasks.ptb:ptb_word",
    "yelp5": "dynlab.tasks.yelp5:yelp5",
    "adding": "dynlab.tasks.adding:adding",
    "sine": "dynlab.tasks.sine:sine",
    "flipflop": "dynlab.tasks.flipflop:flipflop",
    "walk": "dynlab.tasks.walk:walk",
}


def create(name: str, **settings: Any) -> Task:
    """A task by its public name.

    Parameters
    ----------
    name : str
        A key of `TASKS`.
    **settings
        The arguments of that task. All take ``seed``, ``retrain`` (nothing is held out for validation) and
        ``data_dir``.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        For an unknown name, a setting that the task does not take, and data that cannot be had.

    Examples
    --------
    >>> task = create("adding", length=10, train_size=8, test_size=4)
    >>> task.train.inputs.shape
    (6, 10, 2)
    """
    make = lookup(TASKS, name, "task")
    chosen = bound("task", name, make, settings)
    check_at_least(0, seed=chosen["seed"])
    return cast(Task, make(**chosen))


def listed() -> list[dict[str, Any]]:
    """Return the name of every task, what it is, and its settings with their defaults."""
    return [about(name, lookup(TASKS, name, "task")) for name in TASKS]
