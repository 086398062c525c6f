"""The queue: what is listed is a training, and what is finished gets into the record."""

import pytest

from dynlab import schema
from dynlab.figures import training_queue
from dynlab.figures.scripts import trainings
from dynlab.figures.training_queue import Queued, carry_out, held_out_accuracy, queue, resolved, results
from dynlab.training import Run, Settings

SMALL = Run("vanilla", "digits", Settings(epochs=2, batch_size=600), {"state_size": 2})
LOST = Run(
    "vanilla",
    "adding",
    Settings(epochs=3, optimizer="sgd", lr=1e30),
    {"state_size": 3, "activation": "identity"},
    {"train_size": 400},
)
QUEUE = {
    "one-choice1": Queued("one-choice1", "group", SMALL, {}, (), False),
    "one": Queued("one", "group", SMALL, {"test_every_epoch": True}, ("one-choice1",), False),
    "lost": Queued("lost", "group", LOST, {}, (), False),
    "waits": Queued("waits", "group", SMALL, {}, ("lost", "absent"), False),
}


def test_names_are_unique_and_candidates_come_first():
    names = list(queue())
    for name, one in queue().items():
        assert all(names.index(other) < names.index(name) for other in one.candidates)


def test_the_commands_in_the_record_are_those_of_the_queue():
    record = trainings().load()
    for name in record[schema.TRAINING].values:
        command = str(record["command"].sel({schema.TRAINING: name}).values)
        assert command == resolved(queue()[name], record).command or record["diverged"].sel({schema.TRAINING: name})


def test_what_is_finished_is_a_row_of_the_record(tmp_path, monkeypatch):
    monkeypatch.setattr(training_queue, "queue", lambda: QUEUE)
    known = trainings().load()
    none = known.isel({schema.TRAINING: slice(1)}).assign_coords({schema.TRAINING: ["another"]})
    monkeypatch.setattr(training_queue, "trainings", lambda: none.copy())
    for name in ("one-choice1", "one", "lost"):
        carry_out(name, tmp_path)
    with pytest.raises(ValueError, match="waits for lost, absent"):
        carry_out("waits", tmp_path)
    found = results(tmp_path)
    assert found[schema.TRAINING].values.tolist() == ["one-choice1", "one", "lost"]
    assert found.attrs["verdict"] == "3 of 4 trainings are finished."
    one = found.sel({schema.TRAINING: "one"})
    assert (int(one["iterations"]), str(one["command"].values)) == (4, SMALL.command)
    assert one["test_accuracy"].dropna(schema.EPOCH).size == one["loss"].dropna(schema.EPOCH).size == 2
    assert 0 < held_out_accuracy(found, "one") <= 100
    assert "diverged in epoch 1" in str(found["diverged"].sel({schema.TRAINING: "lost"}).values)
