"""Cells that dynlab has never seen: traced, differentiated and proved from `step` alone; and traces that would lie."""

import pytest
import torch
import torchrecurrent
from torch import nn

from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.program import NoProgram
from dynlab.program.derived import derived
from dynlab.program.differentiation import jacobian_and_error
from dynlab.systems import from_function, frozen

INPUTS, UNITS = 3, 6
CELLS = "CFN DSGU IndRNN LEM MUT1 MultiplicativeLSTM NAS".split()  # noqa: SIM905


class Attending(nn.Module):
    """A cell that attends over a fixed memory of eight entries."""

    def __init__(self):
        super().__init__()
        self.keys, self.values = (nn.Parameter(torch.randn(8, UNITS)) for _ in range(2))
        self.read = nn.Linear(INPUTS, UNITS)

    def forward(self, h, x):
        query = torch.tanh(h + self.read(x))
        shares = torch.softmax(torch.einsum("...i,ki->...k", query, self.keys) / UNITS**0.5, dim=-1)
        return 0.5 * h + 0.5 * torch.einsum("...k,ki->...i", shares, self.values)


class TwoTimeScales(nn.Module):
    """A fast half that reads a slow half, as a state of two parts."""

    def __init__(self):
        super().__init__()
        self.fast, self.slow = nn.Linear(INPUTS + UNITS, UNITS // 2), nn.Linear(UNITS, UNITS // 2)

    def forward(self, state, x):
        h, s = state
        new = torch.tanh(self.fast(torch.cat([h, s, x], -1)))
        return new, s + 0.05 * (nn.functional.softplus(self.slow(torch.cat([new, s], -1))) - s)


def made(name):
    torch.manual_seed(5)
    if name == "two time scales":
        return from_function(TwoTimeScales().double(), (UNITS // 2, UNITS // 2), INPUTS)
    if name == "attention":
        return from_function(Attending().double(), UNITS, INPUTS)
    cell = getattr(torchrecurrent, f"{name}Cell")(INPUTS, UNITS).double()
    for parameter in cell.parameters():
        nn.init.normal_(parameter, std=0.4)
    out = cell(torch.randn(1, INPUTS).double())
    sizes = tuple(part.shape[-1] for part in out) if isinstance(out, tuple) else out.shape[-1]
    return from_function(cell, sizes, INPUTS, order="xh")


@pytest.mark.parametrize("name", [*CELLS, "attention", "two time scales"])
def test_a_cell_never_seen_before_has_derivatives_and_proofs(name):
    system = frozen(made(name))
    given = torch.tensor([0.6, -0.4, 0.3]).double()
    h = torch.randn(system.state_size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found, error = jacobian_and_error(system, h, given)
    asked = torch.autograd.functional.jacobian(lambda state: system.step(state, given), h)
    cut = 2e-8 if "SGU" in name else 1e-12  # torch cuts its softplus off at 20, which moves it by 2e-9
    assert ((found - asked).abs() <= error + cut).all()
    assert (error[torch.isfinite(error)] < 1e-9).all()
    ds = fixed_points(system, at=given.tolist(), starts=16, certify=True)
    proved = ds.where(ds["certified"] == 1, drop=True)
    assert proved.sizes["fixed_point"], list(ds["certificate_reason"].values)
    for point, unstable in zip(proved["fixed_point_state"].values, proved["proved_unstable_directions"], strict=True):
        matrix = torch.autograd.functional.jacobian(lambda state: system.step(state, given), torch.tensor(point))
        assert int(unstable) == int((torch.linalg.eigvals(matrix).abs() > 1).sum())


def through_numpy(h, x):
    return torch.tanh(torch.as_tensor(h.detach().numpy() * 2))


def by_value(h, x):
    return torch.tanh(2 * h) if float(h[0].detach()) > 0 else torch.tanh(h)


class Straight(torch.autograd.Function):
    """A function whose stated derivative is another one's."""

    @staticmethod
    def forward(ctx, h):
        return torch.tanh(2 * h)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


@pytest.mark.parametrize(
    "f, sentence",
    [
        (through_numpy, "something else|cannot be traced"),
        (by_value, "decides by the value"),
        (lambda h, x: Straight.apply(h), "derivative by torch is not"),
        (lambda h, x: torch.round(h), "round"),
    ],
    ids=["numpy", "value", "rule", "jump"],
)
def test_a_trace_that_would_lie_is_none(f, sentence):
    system = from_function(f, 2)
    with pytest.raises(NoProgram, match=sentence):
        derived(frozen(system))
