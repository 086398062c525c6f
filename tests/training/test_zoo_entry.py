"""An entry of the zoo is made of runs, its seed chosen on held-out data alone."""

import json
import runpy
from pathlib import Path

import pytest
import torch

from dynlab import checkpoints
from dynlab.systems import create

zoo_entry = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "zoo_entry.py"))["zoo_entry"]


def finished(folder, seed, test, **validation):
    """A run folder as `dynlab train` leaves it, its weights marked with the seed."""
    folder.mkdir()
    system = create("vanilla", input_size=9, state_size=2)
    with torch.no_grad():
        system.b.fill_(seed)
    facts = {"seed": seed, "test_accuracy": test, "command": f"dynlab train --seed {seed}"}
    facts |= {"data": {"sha256": "0" * 64}, "versions": {"dynlab": "0.1.0"}, "validation_subjects": [3, 5]} | validation
    document = checkpoints.document(system, torch.nn.Linear(2, 2), {"name": "har2"}, facts)
    checkpoints.write(folder / "network.pt", document)
    return folder


def test_the_seed_that_is_best_on_held_out_data_is_shipped_retrained(tmp_path):
    # Seed 1 is the best on validation and the worst on test.
    runs = []
    for seed, (validation, test) in enumerate([(0.90, 0.95), (0.93, 0.91), (0.92, 0.96)]):
        runs.append(finished(tmp_path / f"held-{seed}", seed, 0.5, validation_accuracy=validation))
        runs.append(finished(tmp_path / f"whole-{seed}", seed, test))
    (tmp_path / "zoo").mkdir()
    entry = zoo_entry("vanilla-har2", tmp_path / "zoo", runs)
    assert (entry["seed"], entry["seeds"]) == (1, [0, 1, 2])
    assert (entry["test_accuracy"], entry["validation_accuracy"]) == (0.91, 0.93)
    assert entry["test_accuracy_mean"] == pytest.approx(0.94)
    assert entry["test_accuracy_std"] == pytest.approx(0.0264575, abs=1e-7)  # n − 1
    assert checkpoints.read(tmp_path / "zoo" / "vanilla-har2.pt").system.b.tolist() == [1, 1]
    assert json.loads((tmp_path / "zoo" / "vanilla-har2.json").read_text()) == entry
