"""Cells of other libraries under torch's names: refused where the file tells, else read with a sentence on it."""

import inspect

import pytest
import torch
from torch import nn

from dynlab.checkpoints import describe, read
from dynlab.errors import UserError

torchrecurrent = pytest.importorskip("torchrecurrent")
NAMES = [name for name in torchrecurrent.__all__ if inspect.isclass(getattr(torchrecurrent, name, None))]
# Their weights have the names and shapes of a cell of torch's: no file of weights tells them apart.
ALIKE = {
    **dict.fromkeys(("ATR", "AntisymmetricRNN", "MiRU2", "SGRN"), "RNN"),
    **dict.fromkeys(("MUT2", "MUT3", "OriginalLSTM", "TGRU", "TLSTM"), "GRU"),
    **dict.fromkeys(("IntersectionRNN", "tauGRU"), "LSTM"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_refused_or_says_that_its_names_alone_are_read(name, tmp_path):
    torch.manual_seed(0)
    made = getattr(torchrecurrent, name)(4, 4)  # of one width, as IntersectionRNN's must be
    torch.save(made.state_dict(), tmp_path / "a.pt")
    like = ALIKE.get(name.removesuffix("Cell"))
    if like is None:
        with pytest.raises(UserError, match="ive its class with --system"):
            read(tmp_path / "a.pt")
        return
    sentence = f"a.pt is read as torch.nn.{like} by its names"
    assert read(tmp_path / "a.pt").assumed.startswith(sentence)
    assert describe(tmp_path / "a.pt")["read_as"][0].startswith(sentence)
    torch.save(made, tmp_path / "whole.pt")
    with pytest.raises(UserError, match=r"is a torchrecurrent\.\w+\.\w+\.\w+Cell, whose step the file does not"):
        read(tmp_path / "whole.pt")


class Own(nn.GRU):
    """A subclass, which may compute something else."""


@pytest.mark.parametrize("make, said", [(nn.GRUCell, False), (nn.GRU, False), (Own, True)])
def test_a_whole_module_of_torchs_own_class_needs_no_sentence(make, said, tmp_path):
    torch.save(make(2, 3), tmp_path / "a.pt")
    assert ("by its names, though its class is" in read(tmp_path / "a.pt").assumed) == said
    assert bool(read(tmp_path / "a.pt").assumed) == said


def test_an_antisymmetric_matrix_is_none_of_a_cell_of_torchs(tmp_path):
    cell = nn.RNNCell(2, 5)
    with torch.no_grad():
        cell.weight_hh.copy_(cell.weight_hh - cell.weight_hh.T)
    torch.save(cell.state_dict(), tmp_path / "a.pt")
    with pytest.raises(UserError, match="antisymmetric to the last digit"):
        read(tmp_path / "a.pt")


def test_the_cell_of_the_slides_is_read_by_its_names(tmp_path):
    """Its forward, with γ = 0: hx + 0.01 tanh(x V' + hx (W' − W) + b)."""
    torch.manual_seed(1)
    W, V, b = torch.randn(4, 4), torch.randn(4, 3), torch.randn(4)
    weights = {"cell.weight_ih": V, "cell.weight_hh": W, "cell.bias": b, "fc.weight": torch.randn(2, 4)}
    torch.save(weights, tmp_path / "a.pt")
    found = read(tmp_path / "a.pt", layer="cell")
    assert torch.equal(found.readout.weight, weights["fc.weight"])
    x, hx = torch.randn(2, 3), torch.randn(2, 4)
    hy = hx + 0.01 * torch.tanh(torch.mm(x, V.t()) + torch.mm(hx, W.t() - W) + b)
    torch.testing.assert_close(found.system.step(hx, x), hy)
    assert found.system.name == "antisymmetric"
    assert found.assumed.startswith("a.pt is read as the slides' ASNNCell by its names")
    assert describe(tmp_path / "a.pt")["systems"][0]["config"]["step_size"] == 0.01
