"""`dynlab inspect` and `dynlab zoo`: what they print, and what they refuse."""

import json

import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import checkpoints, zoo
from dynlab.cli.main import run


@pytest.fixture
def path(tmp_path):
    model = nn.ModuleDict({"encoder": nn.LSTM(3, 4, 2, bidirectional=True), "cell": nn.RNNCell(3, 5)})
    torch.save({"model": model.state_dict(), "epoch": 12, "best": float("nan")}, tmp_path / "a.pt")
    return tmp_path / "a.pt"


@pytest.mark.parametrize("layer, listed", [("encoder:1r", ["encoder:1r"]), ("cell", ["cell"])])
def test_inspect_of_one_layer_lists_that_one(path, layer, listed, printed_json, refused):
    found = printed_json(["inspect", str(path), "--layer", layer, "--json"])["systems"]
    assert [each["layer"] for each in found] == listed
    refused(["inspect", str(path), "--layer", "decoder"], "encoder")


def test_inspect_lists_the_names_that_layer_takes(path, capsys):
    assert run(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    listed = [line.split()[:6] for line in out.splitlines() if line.startswith(("encoder", "cell"))]
    assert [row[0] for row in listed] == ["encoder:0", "encoder:0r", "encoder:1", "encoder:1r", "cell"]
    assert listed[1] == ["encoder:0r", "lstm", "8", "3", "3", "144"]  # 4·4·(3 + 4 + 2)
    assert listed[3] == ["encoder:1r", "lstm", "8", "3", "8", "224"]  # 4·4·(8 + 4 + 2), driven by both below
    assert listed[4] == ["cell", "rnn", "5", "3", "3", "50"]
    assert "step's input" in out
    assert "--nonlinearity" in out
    assert "epoch: 12" in out
    assert "The state of an LSTM is h and c together." in out
    assert all(checkpoints.read(path, layer=row[0]).system.state_size == int(row[2]) for row in listed)


def test_inspect_shows_one_input_size_where_there_is_one(path, capsys):
    assert run(["inspect", str(path), "--layer", "cell"]) == 0
    out = capsys.readouterr().out
    assert "step's input" not in out
    assert next(line for line in out.splitlines() if line.startswith("cell")).split()[:5] == [
        "cell",
        "rnn",
        "5",
        "3",
        "50",
    ]


def test_inspect_json_is_one_strict_document(path, printed_json):
    found = printed_json(["inspect", str(path), "--json"])
    sizes = {each["layer"]: (each["input_size"], each["step_input_size"]) for each in found["systems"]}
    assert (sizes["encoder:1r"], sizes["cell"]) == ((3, 8), (3, 3))
    assert found["format"] == "state_dict"
    assert [entry["layer"] for entry in found["systems"]][-1] == "cell"
    assert found["training"] == {"epoch": 12, "best": "nan"}


def test_inspect_names_the_parts_that_are_not_read(tmp_path, capsys):
    first, second, third = (nn.GRU(3, 4).state_dict() for _ in range(3))
    torch.save({"model": first, "ema": second, "swa": {"avg": third}}, tmp_path / "a.pt")
    assert run(["inspect", "a.pt"]) == 0
    assert "All this is of model: ema and swa hold weights too, which are not read." in capsys.readouterr().out


def test_inspect_of_nothing_shows_how_it_is_typed(refused):
    refused(["inspect"], "dynlab inspect: CKPT is missing. For example: `dynlab inspect model.pt`.")


def test_inspect_of_dynlabs_own_tells_task_and_read_out(tmp_path, capsys):
    system = dl.create("gru", input_size=9, hidden_size=4)
    task = {"name": "har2", "standardise": "column"}
    training = {"seed": 3, "validation_subjects": None, "settings": {"augment": ["rotation:0.15", "scale"]}}
    document = checkpoints.document(system, nn.Linear(4, 2), task, training)
    path = checkpoints.write(tmp_path / "a.pt", document)
    assert run(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "read-out: 4 to 2" in out
    assert "task: name=har2, standardise=column" in out
    assert "seed: 3" in out
    assert "validation_subjects: none" in out
    assert "augment=rotation:0.15,scale" in out
    assert "a.pt: format dynlab, " in out
    assert "LSTM" not in out


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda path: path.write_bytes(b""), "is empty"),
        (lambda path: path.write_text("hello world"), "is no checkpoint"),
        (lambda path: torch.save(nn.Linear(2, 2).state_dict(), path), "no RNN, GRU or LSTM layer"),
        (lambda path: None, "There is no file"),
    ],
)
def test_inspect_of_what_is_no_checkpoint_is_one_sentence_and_exit_code_2(make, sentence, tmp_path, capsys):
    make(tmp_path / "a.pt")
    before = sorted(tmp_path.iterdir())
    assert run(["inspect", str(tmp_path / "a.pt")]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert captured.out == ""
    assert sorted(tmp_path.iterdir()) == before


ENTRY = {
    "name": "gru-har2",
    "system": "gru",
    "task": "har2",
    "test_accuracy": 0.9236,
    "cell_parameters": 4000,
    "seeds": [0, 1, 2],
    "seed": 1,
    "file": "gru-har2.pt",
}


def test_zoo_prints_a_table_and_a_list_of_objects(tmp_path, monkeypatch, capsys):
    (tmp_path / "gru-har2.json").write_text(json.dumps(ENTRY))
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    assert run(["zoo"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gru-har2", "gru", "har2", "92.36", "%", "4,000", "1"] in rows
    assert run(["zoo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [ENTRY | {"file": str(tmp_path / "gru-har2.pt")}]


def test_in_a_terminal_narrower_than_a_table_each_row_is_a_list(tmp_path, monkeypatch, capsys):
    for name in ("gru-har2", "lstm-har2"):
        (tmp_path / f"{name}.json").write_text(json.dumps(ENTRY | {"name": name}))
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["zoo"]) == 0
    one, other = capsys.readouterr().out.split("\n\n")
    assert one.startswith("name             gru-har2\nsystem           gru\n")
    assert "test accuracy    92.36 %\n" in one
    assert other.startswith("name             lstm-har2\n")


def test_an_empty_zoo_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(zoo, "FOLDER", tmp_path)
    assert run(["zoo"]) == 0
    assert "dynlab train" in capsys.readouterr().out
    assert run(["zoo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
