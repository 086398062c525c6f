"""A .npz file of arrays with a state dict's names is a checkpoint, of which nothing but numbers is read."""

import zipfile

import numpy as np
import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.errors import UserError


def arrays(module, prefix=""):
    return {f"{prefix}{name}": value.numpy() for name, value in module.state_dict().items()}


MODULES = {
    "rnn": nn.RNN(2, 3).double(),
    "gru": nn.GRU(2, 3, num_layers=2),
    "lstm": nn.LSTM(2, 3, proj_size=2),
    "lstm, both ways": nn.LSTM(2, 3, bidirectional=True),
    "rnn cell": nn.RNNCell(2, 3),
}


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kind", MODULES)
def test_the_archive_is_the_same_network_as_the_state_dict(kind, write, tmp_path):
    weights = {f"module.encoder.{name}": value for name, value in MODULES[kind].state_dict().items()}
    torch.save(weights, tmp_path / "a.pt")
    write(tmp_path / "a.npz", **arrays(MODULES[kind], "module.encoder."))
    said, other = describe(tmp_path / "a.npz"), describe(tmp_path / "a.pt")
    assert said["systems"] == other["systems"]
    assert (said["format"], said["parameters"]) == ("numpy", other["parameters"])
    for each in said["systems"]:
        ours, theirs = (read(tmp_path / f"a.{end}", layer=each["layer"]).system.state_dict() for end in ("npz", "pt"))
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("kind, order", [("<f4", "C"), (">f8", "F"), ("<f2", "F")])
def test_numbers_of_any_precision_and_order_of_bytes_are_read(kind, order, tmp_path):
    given = {name: np.asarray(np.round(64 * one) / 64, kind, order=order) for name, one in arrays(nn.GRU(2, 3)).items()}
    np.savez(tmp_path / "a.npz", **given)
    found = dict(read(tmp_path / "a.npz").system.named_parameters())["weight_hh"]
    assert found.element_size() == given["weight_hh_l0"].itemsize
    assert found.tolist() == given["weight_hh_l0"].tolist()


class Marks:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_what_is_no_number_is_left_alone_and_not_unpickled(tmp_path):
    objects = np.array([Marks(tmp_path / "mark"), None], dtype=object)
    np.savez(tmp_path / "a.npz", **arrays(nn.GRU(2, 3)), config=objects, note=np.array("x"))
    assert read(tmp_path / "a.npz").system.state_size == 3
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("odd", ["objects", "texts", "complex", "long doubles", "two of one name", "a changed bit"])
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_weight_that_is_no_real_number_or_not_the_one_written_is_refused(odd, tmp_path):
    given = arrays(nn.GRU(2, 3))
    others = {
        "objects": np.array([Marks(tmp_path / "mark")] * 2, dtype=object),
        "texts": np.full((9, 3), "1.0"),
        "complex": given["weight_hh_l0"] * 1j,
        "long doubles": np.zeros((9, 3), np.longdouble),
    }
    np.savez(tmp_path / "a.npz", **given | {"weight_hh_l0": others.get(odd, given["weight_hh_l0"])})
    content = bytearray((tmp_path / "a.npz").read_bytes())
    if odd == "a changed bit":
        content[content.index(given["weight_hh_l0"].tobytes()) + 5] ^= 1
        (tmp_path / "a.npz").write_bytes(content)
    if odd == "two of one name":
        with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
            archive.writestr("weight_hh_l0.npy", archive.read("weight_hh_l0.npy"))
    with pytest.raises(UserError, match=r"a\.npz"):
        read(tmp_path / "a.npz")
    assert not (tmp_path / "mark").exists()
