"""What the queue trains, in its order: the trainings behind the gallery's comparisons with the sources."""

from collections.abc import Iterator

from dynlab.training.queue.queued import Queued, run_of

# HAR-2: the network, its preset with the published recipe, its preset with dynlab's own.
NETWORKS = {
    "fastrnn": ("edgeml-har2-fastrnn", "har2-fastrnn"),
    "ernn-k1": ("ernn-har2-ernn-k1", "har2-ernn-k1"),
    "lstm": ("edgeml-har2-lstm", "har2-lstm"),
    "ernn-k3": ("ernn-har2-ernn-k3", "har2-ernn-k3"),
    "ernn-k5": ("ernn-har2-ernn-k5", "har2-ernn-k5"),
    "cornn": ("cornn-har2", "har2-cornn"),
    "ugrnn": ("edgeml-har2-ugrnn", "har2-ugrnn"),
    "rnn": ("edgeml-har2-rnn", "har2-rnn"),
    "gru": ("edgeml-har2-gru", "har2-gru"),
    "fastgrnn": ("edgeml-har2-fastgrnn", "har2-fastgrnn"),
    "antisymmetric": ("edgeml-har2-antisymmetric", "har2-antisymmetric"),
    "spectral": ("edgeml-har2-spectral", "har2-spectral"),
}
PREDICTED = ("fastrnn", "ernn-k1")  # what comes out was written down before
FIVE_SEEDS = ("fastrnn", "ernn-k1", "ernn-k3", "ernn-k5", "lstm")
RECIPES = ("published", "own")
# A seed is trained twice: on 17 subjects, of which 4 others choose the epoch, and on all 21.
SPLITS = {"held-out": False, "whole": True}
TESTED = {"test_every_epoch": True}


def _har2(network: str, recipe: str, seed: int) -> Iterator[Queued]:
    preset = NETWORKS[network][RECIPES.index(recipe)]
    for split, retrain in SPLITS.items():
        run = run_of(preset, seed=seed, task={"retrain": retrain})
        name = f"har2-{recipe}-{network}-seed{seed}-{split}"
        yield Queued(name, 1, f"HAR-2, {recipe} recipe", run, TESTED)


def _all_har2() -> Iterator[Queued]:
    for recipe in RECIPES:
        for network in PREDICTED:
            yield from _har2(network, recipe, 0)
    for seed in range(5):
        for network in NETWORKS if seed < 3 else FIVE_SEEDS:
            for recipe in RECIPES:
                if seed or network not in PREDICTED:
                    yield from _har2(network, recipe, seed)


QUEUE: tuple[Queued, ...] = tuple(_all_har2())
