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
@pytest.mark.parametrize("prefix", ["", "module.encoder."])
@pytest.mark.parametrize("kind", MODULES)
def test_the_archive_is_the_same_network_as_the_state_dict(kind, prefix, write, tmp_path):
    module = MODULES[kind]
    weights = {f"{prefix}{name}": value for name, value in module.state_dict().items()}
    torch.save(weights, tmp_path / "a.pt")
    write(tmp_path / "a.npz", **arrays(module, prefix))
    said, other = describe(tmp_path / "a.npz"), describe(tmp_path / "a.pt")
    assert said["systems"] == other["systems"]
    assert (said["format"], said["parameters"]) == ("numpy", other["parameters"])
    for each in said["systems"]:
        systems = [read(tmp_path / f"a.{end}", layer=each["layer"]).system for end in ("npz", "pt")]
        ours, theirs = (one.state_dict() for one in systems)
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("kind", ["<f4", ">f4", ">f8", "<f2"])
def test_numbers_of_any_precision_and_order_of_bytes_are_read(kind, order, tmp_path):
    given = {
        name: np.asarray(np.round(64 * value) / 64, kind, order=order) for name, value in arrays(nn.GRU(2, 3)).items()
    }
    np.savez(tmp_path / "a.npz", **given)
    found = dict(read(tmp_path / "a.npz").system.named_parameters())["weight_hh"]
    assert found.element_size() == given["weight_hh_l0"].itemsize
    assert found.tolist() == given["weight_hh_l0"].tolist()


def test_the_read_out_of_an_archive_is_found(tmp_path):
    linear = nn.Linear(3, 2)
    np.savez(tmp_path / "a.npz", **arrays(nn.GRU(2, 3), "rnn."), **arrays(linear, "fc."))
    found = read(tmp_path / "a.npz")
    assert (found.layer, found.readout_name) == ("rnn", "fc")
    assert torch.equal(found.readout.weight, linear.weight)


class Marks:
    """Makes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_what_is_no_number_is_left_alone_and_not_unpickled(tmp_path):
    objects = np.array([Marks(tmp_path / "mark"), None], dtype=object)
    np.savez(tmp_path / "a.npz", **arrays(nn.GRU(2, 3)), config=objects, note=np.array("x"))
    found = read(tmp_path / "a.npz")
    assert found.facts == dict.fromkeys(("config", "note"), "no numbers: not read")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("odd", ["objects", "texts", "complex"])
def test_a_weight_that_is_no_real_number_is_refused(odd, tmp_path):
    given = arrays(nn.GRU(2, 3))
    given["weight_hh_l0"] = {
        "objects": np.array([Marks(tmp_path / "mark")] * 2, dtype=object),
        "texts": np.full((9, 3), "1.0"),
        "complex": given["weight_hh_l0"] * 1j,
    }[odd]
    np.savez(tmp_path / "a.npz", **given)
    with pytest.raises(UserError, match=r"a\.npz must hold real numbers in 'weight_hh_l0', got"):
        read(tmp_path / "a.npz")
    assert not (tmp_path / "mark").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_two_arrays_of_one_name_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays(nn.GRU(2, 3)))
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("weight_hh_l0.npy", archive.read("weight_hh_l0.npy"))
    with pytest.raises(UserError, match="two arrays with the name 'weight_hh_l0'"):
        read(tmp_path / "a.npz")


def test_of_a_damaged_number_the_checksum_tells(tmp_path):
    given = arrays(nn.GRU(2, 3))
    np.savez(tmp_path / "a.npz", **given)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[content.index(given["weight_hh_l0"].tobytes()) + 5] ^= 1
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.npz cannot be read as an archive of weights: .*CRC"):
        read(tmp_path / "a.npz")


def test_numbers_that_torch_has_not_are_named(tmp_path):
    np.savez(tmp_path / "a.npz", **arrays(nn.GRU(2, 3)) | {"weight_hh_l0": np.zeros((9, 3), np.longdouble)})
    with pytest.raises(UserError, match=r"a\.npz must hold real numbers in 'weight_hh_l0', got .*: save it as float64"):
        read(tmp_path / "a.npz")
