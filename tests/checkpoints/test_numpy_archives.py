"""A .npz file of arrays with a state dict's names is a checkpoint, of which nothing but numbers is read."""

import zipfile

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.errors import UserError

MODULES = {
    "rnn": nn.RNN(2, 3).double(),
    "gru": nn.GRU(2, 3, num_layers=2),
    "lstm": nn.LSTM(2, 3, proj_size=2),
    "lstm, both ways": nn.LSTM(2, 3, bidirectional=True),
    "rnn cell": nn.RNNCell(2, 3),
}
GRU = {name: value.numpy() for name, value in nn.GRU(2, 3).state_dict().items()}


@pytest.mark.parametrize("kind", MODULES)
def test_the_archive_is_the_same_network_as_the_state_dict(kind, tmp_path):
    weights = {f"module.encoder.{name}": value for name, value in MODULES[kind].state_dict().items()}
    torch.save(weights, tmp_path / "a.pt")
    write = np.savez if kind == "gru" else np.savez_compressed
    write(tmp_path / "a.npz", **{name: value.numpy() for name, value in weights.items()})
    said, other = describe(tmp_path / "a.npz"), describe(tmp_path / "a.pt")
    assert said["systems"] == other["systems"]
    assert (said["format"], said["parameters"]) == ("numpy", other["parameters"])
    for each in said["systems"]:
        ours, theirs = (read(tmp_path / f"a.{end}", layer=each["layer"]).system.state_dict() for end in ("npz", "pt"))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("kind, order", [("<f4", "C"), (">f8", "F"), ("<f2", "F")])
def test_numbers_of_any_precision_and_order_of_bytes_are_read(kind, order, tmp_path):
    given = {name: np.asarray(np.round(64 * one) / 64, kind, order=order) for name, one in GRU.items()}
    np.savez(tmp_path / "a.npz", **given)
    found = dict(read(tmp_path / "a.npz").system.named_parameters())["weight_hh"]
    assert found.element_size() == given["weight_hh_l0"].itemsize
    assert found.tolist() == given["weight_hh_l0"].tolist()


ODD = {
    "texts": np.full((9, 3), "1.0"),
    "complex": GRU["weight_hh_l0"] * 1j,
    "long doubles": np.zeros((9, 3), np.longdouble),
    "two of one name": GRU["weight_hh_l0"],
    "a changed bit": GRU["weight_hh_l0"],
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_weight_that_is_no_real_number_or_not_the_one_written_is_refused(odd, tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **GRU | {"weight_hh_l0": ODD[odd]})
    if odd == "a changed bit":
        content = bytearray(path.read_bytes())
        content[content.index(GRU["weight_hh_l0"].tobytes()) + 5] ^= 1
        path.write_bytes(content)
    if odd == "two of one name":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("weight_hh_l0.npy", archive.read("weight_hh_l0.npy"))
    with pytest.raises(UserError, match=r"a\.npz"):
        read(path)
