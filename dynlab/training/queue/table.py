"""What the queue trains, in its order: the trainings behind the gallery's comparisons with the sources."""

import dataclasses
from collections.abc import Iterator

from dynlab.training.queue.queued import GPU_TIER, Queued, run_of

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


# What is trained of copying memory beside the presets: dtriv is the presets' "exprnn", whose base moves.
COPYING = ("exprnn", "dtriv", "scornn", "asrnn", "lstm")
FIXED_BASE = {"state_size": 190, "init": "henaff"}
KEPT = {"keep_every": 500}  # of 4,000: what the singular values do while it learns


def _copying(delay: int, network: str) -> Queued:
    preset = f"asrnn-copying-{delay}-{ {'dtriv': 'exprnn'}.get(network, network) }"
    run = run_of(preset)
    if network == "exprnn":
        run = dataclasses.replace(run, system="exprnn", config=FIXED_BASE)
    return Queued(f"copying-{delay}-{network}", 1, f"copying memory, L = {delay:,}", run, KEPT)


# What AntisymmetricRNN leaves open, from its published grids: learning rate, ε, γ, σ_w; of an LSTM the learning rate.
OPEN = {
    "antisymmetric": ((0.1, 0.01, 0.01, 1), (0.1, 0.1, 0.01, 1), (0.3, 0.01, 0.01, 1), (0.1, 0.01, 0.001, 4)),
    "antisymmetric-gated": ((0.1, 0.01, 0.01, 1), (0.1, 0.1, 0.01, 1), (0.3, 0.1, 0.01, 1), (0.1, 0.1, 0.001, 4)),
    "lstm": ((0.1,), (0.3,)),
}
CHOOSING_EPOCHS = 3  # some 1,000 iterations on the images that are not held out
TITLES = {"noisy-cifar": "noise-padded CIFAR-10", "smnist": "sequential MNIST", "pmnist": "permuted MNIST"}


NETWORKS_OF_NOISE = ("lstm", "antisymmetric", "antisymmetric-gated")


def _antisymmetric_paper(tier: int, task: str, network: str) -> Iterator[Queued]:
    """Short trainings that choose on held-out images what the paper leaves open, and the long one on all of them."""
    preset, group = f"antisymmetricrnn-{task}-{network}", TITLES[task]
    for name, (lr, *flow) in zip(_choices(task, network), OPEN[network], strict=True):
        config = dict(zip(("step_size", "gamma", "sigma_w"), map(float, flow), strict=False))
        run = run_of(preset, config=config, task={"retrain": False}, epochs=CHOOSING_EPOCHS, lr=lr)
        yield Queued(name, tier, group, run)
    yield Queued(f"{task}-{network}", tier, group, run_of(preset), TESTED, _choices(task, network))


def _choices(task: str, network: str) -> tuple[str, ...]:
    return tuple(f"{task}-{network}-choice{number}" for number in range(1, len(OPEN[network]) + 1))


def _other_seed(task: str, network: str, seed: int) -> Queued:
    """What `_antisymmetric_paper` trains, its settings chosen with seed 0, with another seed."""
    run = run_of(f"antisymmetricrnn-{task}-{network}", seed=seed)
    name = f"{task}-{network}-seed{seed}"
    return Queued(name, GPU_TIER, f"{TITLES[task]}, other seeds", run, TESTED, _choices(task, network))


def _preset(name: str, tier: int, group: str) -> Queued:
    """A preset as it is."""
    return Queued(name, tier, group, run_of(name), TESTED)


def _sigmoid_ernn(inner_steps: int, seed: int) -> Queued:
    preset = f"ernn-har2-ernn-sigmoid-k{inner_steps}"
    return Queued(f"{preset}-seed{seed}", 2, "HAR-2, ERNN with sigmoid", run_of(preset, seed=seed), TESTED)


WORD_NETWORKS = ("ernn-k1", "lstm", "fastrnn", "fastgrnn", "rnn", "ugrnn", "spectral")  # of ERNN's Table 4


def _all() -> Iterator[Queued]:
    yield from _all_har2()
    for delay in (1000, 2000):
        for network in COPYING:
            yield _copying(delay, network)
    for network in NETWORKS_OF_NOISE:
        yield from _antisymmetric_paper(1, "noisy-cifar", network)
    yield from _antisymmetric_paper(1, "smnist", "antisymmetric")
    for network in ("antisymmetric-gated", "lstm"):
        yield from _antisymmetric_paper(2, "smnist", network)
    for network in ("antisymmetric", "antisymmetric-gated", "lstm"):
        yield from _antisymmetric_paper(2, "pmnist", network)
    for name in ("ernn-pmnist-ernn-k1", "ernn-noisy-mnist-ernn-k1", "asrnn-smnist-asrnn-122", "asrnn-pmnist-asrnn-122"):
        yield _preset(name, 2, "ERNN and asRNN on MNIST")
    for seed in range(3):
        for inner_steps in (1, 3, 5):
            yield _sigmoid_ernn(inner_steps, seed)
    for network in WORD_NETWORKS:
        yield _preset(f"ernn-ptb-word-{network}", GPU_TIER, "PTB by words")
    for name in ("exprnn-170", "scornn-170", "lstm-128"):
        for task in ("smnist", "pmnist"):
            yield _preset(f"asrnn-{task}-{name}", GPU_TIER, "asRNN's table on MNIST")
    for seed in (1, 2):
        for network in NETWORKS_OF_NOISE:
            yield _other_seed("noisy-cifar", network, seed)


QUEUE: tuple[Queued, ...] = tuple(_all())
