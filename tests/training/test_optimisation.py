"""A step of training: each parameter at its rate, the penalty in the loss, what a system does to itself after it."""

import csv
import math

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_

from dynlab import checkpoints
from dynlab.systems import create
from dynlab.training import Run, Settings, train
from dynlab.training.batches import Batches
from dynlab.training.prepare import prepare

# Systems that do something with one of the four hooks, so small and often that a short training meets all of it.
SYSTEMS = {
    "exprnn": {"state_size": 5},
    "dtriv": {"state_size": 5, "init": "henaff", "rebase_every": 3, "project_every": 2},
    "scornn": {"state_size": 5},
    "asrnn": {"state_size": 5, "rebase_every": 2, "a": 0.5, "b": 0.9},  # near 0 the gradient by S is rounding
    "nnrnn": {"state_size": 4},
    "soft-orthogonal": {"state_size": 5, "margin": 0.3},
    "urnn": {"hidden_size": 3},
    "fc-urnn": {"hidden_size": 3},
    "kru": {"hidden_size": 4},
    "fastgrnn": {"state_size": 5, "density": 0.4},
}
TASK = {"symbols": 2, "delay": 2, "train_size": 70, "test_size": 2, "retrain": True}
BATCHES = 5
# RMSprop with little memory, a clip that acts, rates of 0.02 and 0.005 that fall to 0.
SETTINGS = Settings(
    epochs=2,
    batch_size=14,
    optimizer="rmsprop",
    alpha=0.8,
    lr=0.02,
    constrained_lr=0.005,
    schedule="cosine",
    clip=0.1,
    weight_decay=0.01,
    penalty=0.3,
)
ROUNDING = 2e-5  # ten steps in float32 whose sums are taken in another order
# What constrained parameters learn by, where it is something else; sgd and adam have a state to keep.
APART = {"fc-urnn": "gd", "soft-orthogonal": "gd", "dtriv": "sgd", "nnrnn": "adam", "asrnn": "adagrad"}


def run_of(name, apart=None):
    system = create(name, input_size=10, **SYSTEMS[name])
    changes = {"constrained_optimizer": apart} if system.constrained_parameters() else {"constrained_lr": None}
    changes |= {} if system.penalty() is not None else {"penalty": 0.0}
    return Run(name, "copying", Settings(**vars(SETTINGS) | changes), SYSTEMS[name], TASK)


BY_HAND = {
    None: lambda those: torch.optim.RMSprop(those, lr=0.005, alpha=0.8),  # as all others
    "gd": lambda those: torch.optim.SGD(those, lr=0.005),
    "sgd": lambda those: torch.optim.SGD(those, lr=0.005, momentum=0.9, nesterov=True),
    "adam": lambda those: torch.optim.Adam(those, lr=0.005),
    "adagrad": lambda those: torch.optim.Adagrad(those, lr=0.005),
}


def trained_by_hand(run):
    """The system after the same training with two optimizers and nothing of Lightning's, and each batch's loss."""
    task, network, _ = prepare(run)
    settings = run.settings
    system = network.system
    constrained = system.constrained_parameters()
    ordinary = [p for p in network.parameters() if all(p is not other for other in constrained)]
    decaying = ordinary
    if run.system == "nnrnn":
        decaying = [system.schur.T]
        ordinary = [p for p in ordinary if p is not system.schur.T]
    optimizers = [torch.optim.RMSprop(decaying, lr=0.02, alpha=0.8, weight_decay=0.01)]
    if decaying is not ordinary:
        optimizers.append(torch.optim.RMSprop(ordinary, lr=0.02, alpha=0.8))
    if constrained:
        optimizers.append(BY_HAND[settings.constrained_optimizer](constrained))
    starts = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    batches, losses = Batches(task, settings), []
    for step, (inputs, targets) in enumerate(batch for _ in range(settings.epochs) for batch in batches):
        answers = network(inputs)  # whose gradient test_network.py compares with that of the steps
        loss = cross_entropy(answers.flatten(0, 1), targets.flatten())
        losses.append(loss.item())  # the penalty is no part of what is reported
        loss = loss if system.penalty() is None else loss + 0.3 * system.penalty()
        for optimizer, start in zip(optimizers, starts, strict=True):
            optimizer.zero_grad()
            optimizer.param_groups[0]["lr"] = start * (1 + math.cos(math.pi * step / (2 * BATCHES))) / 2
        loss.backward()
        clip_grad_norm_(network.parameters(), 0.1)
        for optimizer in optimizers:
            optimizer.step()
        system.after_optimizer_step()
    return system, losses


@pytest.mark.parametrize("name, apart", [(name, None) for name in SYSTEMS if name not in APART] + list(APART.items()))
def test_a_training_is_what_two_optimizers_do_by_hand(name, apart, tmp_path):
    run = run_of(name, apart)
    found = checkpoints.read(train(run, tmp_path / "run").checkpoint).system.state_dict()
    system, losses = trained_by_hand(run)
    started = prepare(run)[1].system.state_dict()
    for key, value in system.state_dict().items():
        assert (found[key] - value).abs().max() <= ROUNDING * max(1, float(value.abs().max())), key
    assert max((found[key] - started[key]).abs().max() for key in started) > 1000 * ROUNDING
    with (tmp_path / "run" / "metrics.csv").open() as file:
        reported = [float(row["loss"]) for row in csv.DictReader(file)]
    assert reported == pytest.approx([sum(part) / BATCHES for part in (losses[:BATCHES], losses[BATCHES:])], abs=1e-5)


@pytest.mark.parametrize("name", ["asrnn", "soft-orthogonal", "fastgrnn", "nnrnn", "dtriv"])
def test_a_resumed_run_has_the_bases_and_counters_of_one_that_was_not_stopped(name, assert_resumes, tmp_path):
    run = run_of(name, APART.get(name))
    train(run, tmp_path / "whole", checkpoint_every=2)
    assert_resumes(run, tmp_path / "whole", BATCHES + 3, names=("last.ckpt", "network.pt"), checkpoint_every=2)
