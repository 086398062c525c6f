"""Fixed points against closed forms, an exact count, independent computations, and what is known to fool searches."""

import math

import mpmath
import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab import io, schema
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.diagnostics.fixed_points.rounds import share_bound, unseen_share
from dynlab.diagnostics.modes import modes
from dynlab.errors import UserError
from dynlab.systems import create, from_function
from dynlab.systems.antisymmetric import AntisymmetricFlow
from dynlab.systems.textbook import LinearMap
from problems import eigenvalue_distance, made, vanilla


def scalar(f):
    return from_function(f, state_size=1)


def test_the_antisymmetric_nets_one_point_lies_far_outside_the_box(monkeypatch):
    """h* = −M⁻¹(Vx + b), where the Jacobian is I + ε M."""
    system = made("antisymmetric", 3, input_size=2, state_size=64, gamma=0.001)
    monkeypatch.setattr(AntisymmetricFlow, "known_equilibrium", lambda *_: None)
    ds = fixed_points(system, at=[1.0, -1.0], starts=64)
    M, V = system.flow.M.detach(), system.flow.V.detach()
    expected = -torch.linalg.solve(M, V @ torch.tensor([1.0, -1.0], dtype=torch.float64)).numpy()
    assert np.linalg.norm(expected) > 30  # random starts in a box of half-width 1 have norms of 5
    assert np.linalg.norm(ds["fixed_point_state"].values - expected) < 1e-9 * np.linalg.norm(expected)
    assert ds["status"].item() == "fixed point"
    multipliers = 1 + system.step_size * np.linalg.eigvals(M.numpy())
    assert eigenvalue_distance(ds["eigenvalue"].values[0], multipliers) < 1e-12


@pytest.mark.parametrize("dimension", [0, 1, 3])
def test_an_affine_map_has_one_affine_set_of_fixed_points(dimension):
    """h ← c + S diag(1, …, 1, μ, …) S⁻¹ (h − c): the points c + S e_1 … S e_d stay, whatever starts are drawn."""
    generator = np.random.default_rng(100 * dimension)
    S = generator.standard_normal((5, 5))
    multipliers = np.where(np.arange(5) < dimension, 1.0, generator.uniform(-1.5, 0.9, 5))
    W = torch.as_tensor(S @ np.diag(multipliers) @ np.linalg.inv(S))
    c = torch.as_tensor(generator.standard_normal(5))
    ds = fixed_points(from_function(lambda h, x: c + (h - c) @ W.mT, state_size=5), starts=32)
    assert ds["status"].values.tolist() == ["degenerate" if dimension else "fixed point"]
    assert ds["dimension"].item() == dimension
    assert ds["starts"].item() == 32
    across = np.linalg.inv(S)[dimension:] @ (ds["fixed_point_state"].values[0] - c.numpy())
    assert np.abs(across).max() < 1e-9


ROOTLESS = [lambda h, x: h + 1e-13, lambda h, x: h + 1.0, lambda h, x: h + 0.1 * ((h - 0.3).square() + 1e-11)]


@pytest.mark.parametrize("step", ROOTLESS)
def test_where_there_is_no_fixed_point_none_is_found_however_small_the_residual(step):
    ds = fixed_points(scalar(step), starts=32)
    assert ds.sizes[schema.FIXED_POINT] == 0
    assert not ds["converged"].values.any()


def test_a_ring_is_one_set_beside_the_origin():
    def spiral(h, x):
        return h + 0.1 * h * (1 - h.square().sum(-1, keepdim=True))

    ds = fixed_points(from_function(spiral, state_size=2))
    assert ds["status"].values.tolist() == ["fixed point", "degenerate"]
    np.testing.assert_allclose(np.linalg.norm(ds["fixed_point_state"].values, axis=1), [0, 1], atol=1e-12)
    # along the ring 1, across it 1 − 0.2
    assert eigenvalue_distance(ds["eigenvalue"].values[1], [1, 0.8]) < 1e-12
    assert ds["undecided_directions"].values.tolist() == [0, 1]


def test_a_saturated_gate_makes_no_fixed_points():
    """With 1 − z = 1e-16 or 0 every state has a residual of rounding, and none but the candidate is a fixed point."""
    system = create("gru", input_size=1, hidden_size=4).double().requires_grad_(False)
    for parameter in system.parameters():
        parameter.zero_()
    system.bias_ih[:] = torch.tensor([0.0, 40.0, 0.3]).double().repeat_interleave(4)
    starts = np.random.default_rng(0).uniform(-1, 1, (32, 4))
    moved = system.step(torch.as_tensor(starts), torch.zeros(1, dtype=torch.float64)).detach().numpy() - starts
    assert np.abs(moved).max() < 1e-15
    ds = fixed_points(system, starts=starts)
    # the one true point is where the ungated residual h − candidate vanishes
    np.testing.assert_allclose(ds["fixed_point_state"].values, [[math.tanh(0.3)] * 4], atol=1e-12)


def test_every_point_of_a_chaotic_net_is_verified():
    ds = fixed_points(vanilla(2.5 / math.sqrt(10) * np.random.default_rng(2).standard_normal((10, 10))))
    points = ds.isel(fixed_point=ds["status"].values == "fixed point")
    assert points.sizes["fixed_point"] >= 3
    assert points["residual"].values.max() <= 1e-12
    assert points["fsolve_distance"].values.max() <= 1e-8
    # tanh is odd: with every root its mirror image is one
    states = points["fixed_point_state"].values
    assert all(np.linalg.norm(states + state, axis=1).min() < 1e-7 for state in states)
    assert not ds["converged"].values[ds["assignment"].values < 0].any()
    np.testing.assert_array_equal(ds["starts"].values, np.bincount(ds["assignment"].values[ds["assignment"] >= 0]))


def test_the_ghost_of_a_fold_is_a_slow_point():
    """h + 0.1 (h² + 1e-3) has no fixed point; q = ½ (0.1 (h² + 1e-3))² is least at 0, where it is 5e-9."""
    system = scalar(lambda h, x: h + 0.1 * (h.square() + 1e-3))
    ds = fixed_points(system, starts=32, slow_points=1e-8)
    assert ds["status"].values.tolist() == ["slow point"]
    assert abs(ds["fixed_point_state"].item()) < 1e-4
    assert ds["residual"].item() ** 2 / 2 == pytest.approx(5e-9, rel=1e-3)
    assert not ds["converged"].values.any()
    assert (ds["outcome"].values == "slow point").sum() == ds["starts"].item() > 0
    assert np.isnan(ds["fsolve_distance"].item())
    assert fixed_points(system, starts=32, slow_points=1e-9).sizes["fixed_point"] == 0


def test_parameters_that_change_with_time_are_held_at_a_step():
    system = made("ernn", input_size=2, state_size=6, length=3, rank=None, activation="tanh")
    with torch.no_grad():
        system.eta.copy_(torch.tensor([[0.1, 0.2, 0.4]]))
    by_step = [fixed_points(system, starts=8, at_step=t) for t in (0, 2, -1)]
    assert [schema.settings(ds)["at_step"] for ds in by_step] == [0, 2, 2]
    # K = 1: h = h + η F(h), so η moves no fixed point, and scales 1 − λ
    np.testing.assert_allclose(by_step[0]["fixed_point_state"], by_step[1]["fixed_point_state"], atol=1e-12)
    slow, fast = (1 - ds["eigenvalue"].values[0] for ds in by_step[:2])
    assert eigenvalue_distance(4 * slow, fast) < 1e-12


def test_the_scalar_tanh_has_three_roots_each_with_its_proof():
    ds = fixed_points(vanilla([[2.0]]), certify=True)
    assert ds["kind"].values.tolist() == ["stable node", "stable node", "unstable node"]
    assert ds["starts"].values.sum() == ds.sizes[schema.SAMPLE] >= 256
    proved = ["certified", "proved_stable", "proved_unstable_directions"]
    assert [ds[name].values.tolist() for name in proved] == [[1, 1, 1], [1, 1, 0], [0, 0, 1]]
    with mpmath.workdps(30):
        root = mpmath.findroot(lambda h: mpmath.tanh(2 * h) - h, 0.95)
        points = ds["fixed_point_state"].values[:, 0], ds["certificate_radius"].values, [-root, root, 0]
        slope = 2 * (1 - root**2)
        values = ds["eigenvalue"].values[:, 0].real, ds["eigenvalue_radius"].values[:, 0], [slope, slope, 2]
        for found, radii, truth in (points, values):
            for each, radius, true in zip(found.tolist(), radii, truth, strict=True):
                assert abs(each - true) <= radius < 1e-14


@pytest.mark.parametrize(
    "system, reason",
    [
        (scalar(lambda h, x: torch.special.i1(4 * h) / torch.special.i0(4 * h)), "not among dynlab's operations"),
        (LinearMap([[1.0, 0.0], [0.0, 0.5]]), "singular"),
    ],
)
def test_what_cannot_be_proved_is_data_with_its_reason(system, reason, tmp_path):
    ds = fixed_points(system, starts=8, certificates=tmp_path / "proofs")
    assert not (tmp_path / "proofs").exists()
    assert set(ds["certified"].values.tolist()) == {0}
    assert set(ds["proved_stable"].values.tolist()) == {-1}
    assert all(reason in text for text in ds["certificate_reason"].values.tolist())
    assert np.isnan(ds["certificate_radius"].values).all()
    assert io.open(io.save(ds, tmp_path / "points.nc")).identical(ds)


@pytest.mark.parametrize("place, words", [("file/below", "another"), ("link", "is a symbolic link")])
def test_certificates_are_refused_where_no_folder_can_be_made_and_through_a_symbolic_link(place, words, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    with pytest.raises(UserError, match=words):
        fixed_points(create("logistic"), starts=2, certificates=tmp_path / place)
    assert not list((tmp_path / "folder").iterdir())


@pytest.mark.parametrize("at", ["rest", "mean"])
def test_a_layer_within_a_model_is_held_at_what_the_model_feeds_it(at):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.gru = torch.nn.Linear(4, 3), torch.nn.GRU(3, 6, batch_first=True)

        def forward(self, x):
            return self.gru(torch.tanh(self.encoder(x)))[0]

    model, batch = Model().double(), torch.randn(5, 9, 4, dtype=torch.float64)
    ds = fixed_points(dl.from_module(model, batch=batch), at=at)
    fed = torch.tanh(model.encoder(batch)).mean(dim=(0, 1)) if at == "mean" else torch.tanh(model.encoder.bias)
    np.testing.assert_allclose(schema.settings(ds)["input"], fed.detach(), rtol=1e-14)
    alone = fixed_points(dl.from_module(model.gru), at=fed.detach().numpy())
    np.testing.assert_allclose(ds["fixed_point_state"], alone["fixed_point_state"], atol=1e-12)


@pytest.mark.parametrize("name", ["box_bounds", "energy", "tangent_map", "pseudospectrum", "bifurcation", "basins"])
def test_every_diagnostic_holds_the_mean_of_the_recorded_inputs(name):
    system = create("antisymmetric", input_size=2, state_size=2, gamma=0.3, step_size=0.1)
    system.recorded_inputs = np.random.default_rng(0).standard_normal((3, 7, 2))
    if name == "box_bounds":
        pytest.importorskip("flint")
    arguments = {"box_bounds": {"box": 1.0, "samples": 2}, "energy": {"steps": 2}, "tangent_map": {"point": [0, 0]}}
    arguments["bifurcation"] = {"parameter": "input[0]", "lowest": 0.0, "highest": 1e-3, "searches": 1, "values": 0}
    arguments["basins"] = {"grid": 2, "steps": 10, "follow": False}
    ds = getattr(dl, name)(system, at="mean", **arguments.get(name, {}))
    np.testing.assert_allclose(schema.settings(ds)["input"], system.recorded_inputs.mean(axis=(0, 1)), rtol=1e-14)


def listed(ds):
    return np.sort(ds["fixed_point_state"].values[ds["status"].values == "fixed point"][:, 0])


@pytest.mark.parametrize("beyond", [3e-9, 1e-3])
def test_beside_a_pitchfork_there_are_three_points_however_close(beyond):
    ds = fixed_points(scalar(lambda h, x: torch.tanh((1 + beyond) * h)), starts=32)
    with mpmath.workdps(40):
        slope = 1 + mpmath.mpf(1 + beyond) - 1
        root = float(mpmath.findroot(lambda h: mpmath.tanh(slope * h) - h, mpmath.sqrt(3 * beyond)))
    np.testing.assert_allclose(listed(ds), [-root, 0, root], atol=1e-4 * root)


def test_the_flip_flop_has_27_points_for_every_command():
    system = dl.load("gru-flipflop")
    ds = fixed_points(system, starts=128)
    assert ds.sizes["fixed_point"] == 27
    assert (ds["stable"].values == 1).sum() == 8
    assert float(ds["unseen_share_bound"]) < 0.03
    np.testing.assert_array_equal(modes(system, starts=128)["fixed_point_state"], ds["fixed_point_state"])


def test_the_bound_on_what_is_unseen_covers():
    """Starts that end outside the list with a known probability: the bound fails in at most 5 % of the trials."""
    generator = np.random.default_rng(0)
    for share in (0.002, 0.2):
        ended = generator.binomial(256, share, 500)
        assert np.mean([share_bound(int(new), 256, 1) < share for new in ended]) <= 0.05
    assert unseen_share(np.array([1, 1, 5, 0]), 10) == 0.2


@pytest.mark.parametrize("apart, steep", [(1e-6, 1e4), (1e-8, 1e6)])
def test_of_two_steep_roots_each_is_listed_once(apart, steep):
    """h + k (h − a)(h − a − d): between the roots the residual is k d²/4, below the tolerance, and J − I is 0."""
    ds = fixed_points(scalar(lambda h, x: h + steep * (h - 0.3) * (h - 0.3 - apart)))
    assert np.abs(listed(ds) - [0.3, 0.3 + apart]).max() < 1e-14
    order = np.argsort(ds["fixed_point_state"].values[:, 0])
    wrong = np.abs(ds["eigenvalue"].values[order, 0] - [1 - steep * apart, 1 + steep * apart])
    assert (wrong <= ds["eigenvalue_error"].values[order, 0]).all()
    assert ds["stable"].values[order].tolist() == [1, 0]
