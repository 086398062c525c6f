"""Fixed points where they are hard to count: kinks, open and shut gates, tails, double roots, circles and spheres."""

import math
import re

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from torch import nn
from torch.nn.functional import adaptive_max_pool1d

from dynlab.checkpoints import from_module
from dynlab.diagnostics.fixed_points import fixed_points, places
from dynlab.diagnostics.fixed_points import search as search_module
from dynlab.numerics.continua import Curve
from dynlab.numerics.meeting import meet
from dynlab.systems import Euler, create, from_function
from dynlab.systems.held import Held
from dynlab.systems.textbook import LinearMap
from dynlab.zoo import load


def scalar(g):
    """The map h + g(h) of one number."""
    return from_function(lambda h, x: h + g(h), state_size=1)


def counted(ds):
    """How many fixed points, continua and undecided states there are."""
    status = ds["status"].values.tolist()
    return tuple(status.count(name) for name in ("fixed point", "continuum", "undecided"))


def relu_network(matrix, bias=None):
    W = torch.as_tensor(np.array(matrix, dtype=float))
    rnn = nn.RNN(1, len(W), nonlinearity="relu").double()
    with torch.no_grad():
        for values in rnn.parameters():
            values.zero_()
        rnn.weight_hh_l0.copy_(W)
        if bias is not None:
            rnn.bias_hh_l0.copy_(torch.as_tensor(np.array(bias, dtype=float)))
    return from_module(rnn)


def with_ray(size):
    """A random ReLU network that leaves one positive vector where it is."""
    rng = np.random.default_rng(size)
    v = rng.uniform(0.2, 1, size)
    W = 0.4 * rng.standard_normal((size, size)) / np.sqrt(size)
    return W + np.outer(v - W @ v, v) / (v @ v)


@pytest.mark.parametrize(
    "matrix, dimension",
    [
        ([[1.0]], 1),
        ([[1.0, 0.0], [0.0, 0.5]], 1),
        ([[0.5, 0.5], [0.5, 0.5]], 1),
        ([[0.0, 1.0], [1.0, 0.0]], 1),
        ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], 1),
        ([[1.0, 1.0], [0.0, 0.5]], 1),
        ([[1.0, 0.0], [1.0, 0.0]], 1),
        (np.eye(2), 2),
        (np.eye(20), 20),
        (with_ray(4), 1),
        (with_ray(16), 1),
        (with_ray(64), 1),
    ],
    ids=lambda value: str(len(value)) + "-units" if hasattr(value, "__len__") else "",
)
def test_the_rays_and_faces_of_a_relu_network_are_one_continuum(matrix, dimension):
    ds = fixed_points(relu_network(matrix))
    assert counted(ds) == (0, 1, 0)
    assert ds["continuum_dimension"].values.tolist() == [dimension]
    assert (ds["outcome"].values == "fixed point").all()


def test_a_relu_network_without_such_a_ray_has_the_origin_alone():
    rng = np.random.default_rng(0)
    for size in (1, 4, 16):
        ds = fixed_points(relu_network(0.3 * rng.standard_normal((size, size))))
        assert counted(ds) == (1, 0, 0)
        assert not ds["fixed_point_state"].values.any()


def lstm_unit(weights, biases):
    lstm = nn.LSTM(1, 1).double()
    with torch.no_grad():
        for values in lstm.parameters():
            values.zero_()
        lstm.weight_hh_l0[:, 0] = torch.tensor(weights, dtype=torch.float64)
        lstm.bias_hh_l0.copy_(torch.tensor(biases, dtype=torch.float64))
    return from_module(lstm)


def lstm_roots(weights, biases):
    """h of all fixed points: with c = i g/(1 − f) put in, the roots of one equation."""

    def f(h):
        p_i, p_f, p_g, p_o = (w * h + b for w, b in zip(weights, biases, strict=True))
        with np.errstate(over="ignore"):
            c = np.tanh(p_g) * (1 + np.exp(p_f)) / (1 + np.exp(-p_i))
            return np.tanh(c) / (1 + np.exp(-p_o)) - h

    grid = np.linspace(-1, 1, 400_001) + 1.3e-7
    values = f(grid)
    changes = np.flatnonzero(values[1:] * values[:-1] < 0)
    return [brentq(f, grid[k], grid[k + 1], xtol=1e-15) for k in changes]


@pytest.mark.parametrize("forget", [2.0, 15.0, 20.0, 25.0, 34.0, 40.0, 60.0])
@pytest.mark.parametrize("candidate", [4.0, -4.0])
def test_an_lstm_with_its_forget_gate_open_has_the_points_of_one_equation(forget, candidate):
    weights, biases = [2.0, -3.0, candidate, 1.0], [0.1, forget, 0.2, -0.3]
    ds = fixed_points(lstm_unit(weights, biases))
    truth = lstm_roots(weights, biases)
    assert counted(ds) == (len(truth), 0, 0)
    np.testing.assert_allclose(sorted(ds["fixed_point_state"].values[:, 0]), truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("forget", [5.0, 40.0, 60.0])
@pytest.mark.parametrize("seed", range(2))
def test_of_random_lstms_every_point_is_decided_however_far_its_memory(forget, seed):
    generator = np.random.default_rng(seed)
    weights, biases = 3 * generator.standard_normal(4), 0.3 * generator.standard_normal(4)
    biases[1] = forget
    ds = fixed_points(lstm_unit(weights, biases), starts=64)
    truth = lstm_roots(weights, biases)
    assert counted(ds) == (len(truth), 0, 0)
    np.testing.assert_allclose(sorted(ds["fixed_point_state"].values[:, 0]), truth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("forget", [20.0, 40.0])
def test_no_point_of_an_lstm_is_at_a_kink_however_far_other_memories_are(forget):
    """At some of its saddles one memory is of order 1, where another is of the order e^forget."""
    torch.manual_seed(2)
    system = create("lstm", input_size=1, hidden_size=4).double()
    with torch.no_grad():
        system.bias_ih[4:8] = forget
    ds = fixed_points(system, starts=64)
    assert ds.sizes["fixed_point"] > 1
    assert not any("kink" in kind for kind in ds["kind"].values)


TAILS = {
    "exp(-h)": lambda h: torch.exp(-h),
    "exp(-h²)": lambda h: torch.exp(-h * h),
    "1e-3/(1 + h²)": lambda h: 1e-3 / (1 + h * h),
    "e^-40 cosh h": lambda h: np.exp(-40) * torch.cosh(h),
    "1 - tanh(20 h)": lambda h: 1 - torch.tanh(20 * h),
}


@pytest.mark.parametrize("tail", TAILS.values(), ids=TAILS.keys())
def test_a_positive_displacement_that_falls_below_rounding_is_no_continuum(tail):
    ds = fixed_points(scalar(tail))
    points, continua, undecided = counted(ds)
    assert (points, continua) == (0, 0)
    assert undecided <= 2
    assert (ds["stable"].values == -1).all()


@pytest.mark.parametrize("g", [lambda h: h**2, lambda h: h**4, lambda h: h**5, lambda h: -(h**3)])
def test_a_degenerate_point_at_0_is_no_matter_of_rounding(g):
    ds = fixed_points(scalar(g))
    assert counted(ds) == (1, 0, 0)
    assert ds["stable"].values.tolist() == [-1]
    assert abs(ds["fixed_point_state"].values[0, 0]) < 1e-7


def test_the_logistic_map_at_its_first_bifurcation_stays_at_0():
    ds = fixed_points(create("logistic", r=1.0))
    assert counted(ds) == (1, 0, 0)
    assert ds["fixed_point_state"].values.tolist() == [[0.0]]


@pytest.mark.parametrize("beyond, count", [(0.0, 1), (1e-10, 3), (1e-6, 3)])
def test_the_pitchfork_of_lorenz(beyond, count):
    ds = fixed_points(Euler(create("lorenz", rho=1 + beyond), 1e-3))
    assert counted(ds) == (count, 0, 0)
    aside = np.sqrt(8 / 3 * beyond)
    np.testing.assert_allclose(np.ptp(ds["fixed_point_state"].values[:, 0]), 2 * aside, rtol=1e-3, atol=1e-12)


def test_a_double_root_where_rounding_hides_it_is_undecided_and_so_is_its_kind():
    ds = fixed_points(scalar(lambda h: (h - 0.3) ** 2))
    assert counted(ds) == (0, 0, 1)
    assert ds["stable"].values.tolist() == [-1]


def test_roots_of_a_fast_oscillation_are_verified_one_by_one():
    starts = np.pi / 1000 * (np.arange(-20, 20) + 0.2)
    ds = fixed_points(scalar(lambda h: 1e-6 * torch.sin(1e3 * h)), starts=starts[:, None])
    places = ds["fixed_point_state"].values[:, 0] * 1000 / np.pi
    np.testing.assert_allclose(places, np.round(places), atol=1e-9)
    assert len(np.unique(np.round(places))) == len(places) == 40
    assert ds["fsolve_distance"].values.max() < 1e-8


@pytest.mark.parametrize("far", [1e10, 1e30])
def test_a_bend_far_away_is_seen_where_the_map_is_large_at_0(far):
    ds = fixed_points(scalar(lambda h: 0.1 * (h * h / far - far)))
    assert "affine" not in ds.attrs["verdict"]


@pytest.mark.parametrize("size, parts, dimensions", [(2, 1, [1]), (3, 1, [2]), (4, 2, [1, 1, 2])])
def test_spheres_of_fixed_points_and_their_products(size, parts, dimensions):
    def f(h, x):
        spheres = h.chunk(parts, -1)
        return torch.cat([p * (1 - 0.1 * (p.square().sum(-1, keepdim=True) - 1)) for p in spheres], dim=-1)

    ds = fixed_points(from_function(f, state_size=size))
    assert counted(ds) == (1, len(dimensions), 0)
    assert sorted(ds["continuum_dimension"].values.tolist()) == [0, *dimensions]


@pytest.mark.parametrize("steep", [1e9, 1e12])
def test_a_function_of_one_number_has_a_point_between_two_stable_ones_however_steep(steep):
    ds = fixed_points(from_function(lambda h, x: torch.tanh(steep * h - 0.3 * steep), state_size=1), starts=16)
    np.testing.assert_allclose(sorted(ds["fixed_point_state"].values[:, 0]), [-1, 0.3, 1], atol=1e-8)


@pytest.mark.parametrize("steep", [1e20, 1e200])
def test_beside_a_steep_face_a_flat_one_is_not_hidden_by_its_rounding(steep):
    """ReLU(k h − 1) has the fixed points 0 and 1/(k − 1) in each coordinate, and no continuum."""
    ds = fixed_points(from_function(lambda h, x: torch.relu(steep * h - 1), state_size=2), starts=16)
    assert counted(ds)[1] == 0


@pytest.mark.parametrize("slope, bias", [(1e3, 500.0), (800.0, 400.0), (1e6, 3e5), (3.0, 0.5)])
def test_between_two_stable_points_of_one_steep_unit_lies_a_third(slope, bias):
    ds = fixed_points(tanh_unit(slope, bias))
    assert ds["stable"].values.tolist() == [1, 1, 0]
    np.testing.assert_allclose(ds["fixed_point_state"].values[2, 0], -bias / (slope - 1), atol=0.1 * bias / slope)


def test_points_that_must_exist_and_were_not_found_are_named(monkeypatch):
    """A search that is stopped after its first round knows from the indices of a bounded map's points what it lacks."""
    monkeypatch.setattr(search_module, "MOST_ROUNDS", 1)
    said = []
    for seed in range(4):
        ds = fixed_points(load("gru-flipflop"), starts=2, seed=seed)
        index_sum = int(np.sign(np.prod(1 - ds["eigenvalue"].values, axis=1).real).sum())
        said.append(index_sum != 1)
        assert ("At least" in ds.attrs["verdict"]) == said[-1]
        assert not said[-1] or f"At least {abs(1 - index_sum)} point" in ds.attrs["verdict"]
    assert any(said)


def tanh_unit(slope, bias):
    rnn = nn.RNN(1, 1).double()
    with torch.no_grad():
        for values in rnn.parameters():
            values.zero_()
        rnn.weight_hh_l0.fill_(slope)
        rnn.bias_hh_l0.fill_(bias)
    return from_module(rnn)


@pytest.mark.parametrize("f", [lambda h, x: torch.sign(h) / 2, lambda h, x: h / 2 + torch.floor(h) / 2])
def test_at_a_jump_nothing_is_decided_by_a_jacobian(f):
    ds = fixed_points(from_function(f, state_size=1))
    at_jump = np.round(2 * ds["fixed_point_state"].values[:, 0]) == 2 * np.round(ds["fixed_point_state"].values[:, 0])
    assert at_jump.any()
    assert (ds["stable"].values[at_jump] == -1).all()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_root_at_a_jump_is_listed_and_not_counted(size):
    """Of sign(h) (abs(h)/2 + 0.1) each coordinate stays at ±0.2, and at 0 alone, which nothing beside it tends to."""
    ds = fixed_points(from_function(lambda h, x: torch.sign(h) * (h.abs() / 2 + 0.1), state_size=size))
    points, status = ds["fixed_point_state"].values, ds["status"].values
    at_jump = (np.abs(points) < 0.1).any(axis=1)
    assert (status == np.where(at_jump, "at a jump", "fixed point")).all()
    assert (~at_jump).sum() == 2**size
    assert at_jump.any()
    assert "of the map" in ds.attrs["verdict"]
    assert (ds["fsolve_residual"].values[~at_jump] < 1e-12).all()


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("half", [1e-13, 1e-10, 1e-7, 1e-3])
def test_a_map_that_jumps_over_the_state_has_no_fixed_point(half, size):
    """It leads from below 0.1 to above it and back: the two halves of the jump are a cycle of two."""
    above, below = (lambda h: h / 2 + 0.05 - half), (lambda h: h / 2 + 0.05 + half)
    for beyond in (lambda h: h > 0.1, lambda h: 0.3 * h - 0.03 > 0):  # rounding may decide the second
        ds = fixed_points(
            from_function(lambda h, x, beyond=beyond: torch.where(beyond(h), above(h), below(h)), state_size=size)
        )
        assert not (ds["status"].values == "fixed point").any()
        assert (ds["stable"].values == -1).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("height", [np.float64(2.1), 2.1])  # of a product with NumPy's number rounding is not followed
def test_a_map_that_jumps_over_a_slanted_plane_has_no_fixed_point(height, seed):
    """Across it f leads from either side to the other, and along it to p."""
    p = torch.tensor([65.78877461, -46.3938326, 194.97573709, -37.60449114], dtype=torch.float64)
    w = torch.tensor([0.6393, 0.7225, -0.1047, -0.2416], dtype=torch.float64)
    w = torch.nn.functional.normalize(w, dim=0)

    def f(h, x):
        across = ((h - p) * w).sum(-1, keepdim=True)
        side = torch.where(across < 0, torch.ones_like(across), -torch.ones_like(across))
        return p + (h - p - across * w) / 2 + w * (-0.45 * across + height * (side - 0.042))

    ds = fixed_points(from_function(f, state_size=4), starts=64, seed=seed)
    assert not (ds["status"].values == "fixed point").any()


@pytest.mark.parametrize(
    "f, counted, jumps",
    [
        (lambda h, x: torch.where(h > 0, -1.0 + 0 * h, 1.0 + 0 * h), [], []),
        (lambda h, x: torch.remainder(2 * h, 1.0), [0.0], [1.0]),
        (lambda h, x: torch.remainder(3 * h, 1.0), [0.0, 0.5], [1.0]),
    ],
)
def test_the_two_sides_of_a_jump_are_listed_once_or_not_at_all(f, counted, jumps):
    """Of h -> 2 h mod 1 only 0 is fixed; below 1 it comes near 1, at which it is 0."""
    ds = fixed_points(from_function(f, state_size=1))
    points, status = ds["fixed_point_state"].values[:, 0], ds["status"].values
    assert points[status == "fixed point"] == pytest.approx(counted, abs=1e-12)
    assert points[status != "fixed point"] == pytest.approx(jumps, abs=1e-7)


@pytest.mark.parametrize("size, radius", [(1, 1e-3), (6, 0.3)])
def test_a_map_that_is_affine_but_for_a_ball_about_its_root_has_no_fixed_point(size, radius):
    """Inside the ball it leads out of it by more than it shrinks; nothing that is looked at first lies there."""

    def f(h, x):
        d = h - math.e
        return math.e + d / 2 + (d.norm(dim=-1, keepdim=True) < radius).to(h.dtype)

    ds = fixed_points(from_function(f, state_size=size), starts=24)
    assert not (ds["status"].values == "fixed point").any()


def at_a_cone(width):
    def f(h, x):
        along, across = h[..., :1], h[..., 1:]
        return torch.cat([along / 2, across / 2 + 3 * torch.relu(across - width * along.abs())], -1)

    return f


@pytest.mark.parametrize(
    "f, size",
    [
        *[(at_a_cone(width), 2) for width in (20.0, 1e4)],
        *[(lambda h, x: h / 2 + 3 * torch.relu(h.amin(-1, keepdim=True)), size) for size in (2, 4, 32)],
        *[(lambda h, x: torch.where((h > 0).all(-1, keepdim=True), 3 * h, h / 2), size) for size in (2, 4, 32)],
    ],
)
def test_a_kink_that_is_a_narrow_cone_is_seen(f, size):
    """Every random direction shrinks by half; the cone's own grows."""
    assert (fixed_points(from_function(f, state_size=size))["stable"].values == -1).all()


WEDGES = [  # the least of a and b where both are positive, else 0
    lambda a, b: torch.relu(torch.minimum(a, b)),
    lambda a, b: torch.relu(-torch.cat([-a, -b], -1).amax(-1, keepdim=True)),
    lambda a, b: torch.cat([torch.cat([a, b], -1).sort(-1)[0][..., :1], 0 * a], -1).sort(-1)[0][..., 1:],
    lambda a, b: torch.cat([torch.relu(a), torch.relu(b), 0 * a], -1).median(-1, keepdim=True)[0],
    lambda a, b: torch.where((a > 0) & (b > 0), torch.where(a < b, a, b), torch.zeros_like(a)),
    lambda a, b: torch.where((a * b > 0) & (a > 0), torch.minimum(a, b), torch.zeros_like(a)),
    lambda a, b: torch.relu(torch.relu(a) - torch.relu(a - b)),
    lambda a, b: (half := torch.minimum(a, b) / 2) + torch.hypot(half, 0 * a),
    lambda a, b: (half := torch.minimum(a, b) / 2) + torch.linalg.vector_norm(half, dim=-1, keepdim=True),
    lambda a, b: -torch.max_pool1d(torch.cat([-torch.relu(a), -torch.relu(b)], -1).unsqueeze(-2), 2).squeeze(-2),
    lambda a, b: -adaptive_max_pool1d(torch.cat([-torch.relu(a), -torch.relu(b)], -1).unsqueeze(-2), 1).squeeze(-2),
]


@pytest.mark.parametrize("angle", [1e-3, 1e-2])
@pytest.mark.parametrize("wedge", WEDGES)
def test_a_kink_that_is_a_narrow_wedge_is_seen_however_it_is_written(wedge, angle):
    """Between the planes a = 0 and b = 0 f grows along their middle, by 3.5 a step."""
    first = torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
    second = -math.cos(angle) * first + math.sin(angle) * torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    middle = torch.nn.functional.normalize(first + second, dim=0)

    def f(h, x):
        a, b = ((h * w).sum(-1, keepdim=True) for w in (first, second))
        return h / 2 + 3 / math.sin(angle / 2) * wedge(a, b) * middle

    ahead = f(1e-3 * middle[None], None)[0]
    torch.testing.assert_close(ahead, 3.5e-3 * middle)
    ds = fixed_points(from_function(f, state_size=3), starts=16)
    at_zero = np.linalg.norm(ds["fixed_point_state"].values, axis=1) < 1e-9
    assert ds["stable"].values[at_zero].tolist() == [-1]


@pytest.mark.parametrize(
    "f",
    [
        lambda h, x: h / 2 + torch.relu(h) ** 2,
        lambda h, x: h / 2 + 0.1 * h * h.abs(),
        lambda h, x: torch.where(h.abs() < 1e-4, h / 2, torch.sin(h) / 2 + (h - torch.sin(h)) / 2),
    ],
)
def test_switches_that_nothing_turns_on_leave_what_is_smooth_decided(f):
    ds = fixed_points(from_function(f, state_size=3))
    at_zero = (ds["fixed_point_state"].values == 0).all(axis=1)
    assert ds["stable"].values[at_zero].tolist() == [1]


def test_two_discs_of_fixed_points_are_found_without_an_error():
    def f(h, x):
        beyond = torch.relu(h.norm(dim=-1) - 1) * torch.relu((h - torch.tensor([3.0, 0.0]).to(h)).norm(dim=-1) - 1)
        return h - torch.tanh(beyond).unsqueeze(-1) * torch.tensor([0.5, 0.3]).to(h)

    assert "continuum" in fixed_points(from_function(f, state_size=2), starts=4).attrs["verdict"]


def test_what_is_smooth_in_a_unit_of_its_own_is_at_no_jump():
    ds = fixed_points(from_function(lambda h, x: 3.2 * h * (1 - h / 1e-200), state_size=1))
    assert ds["status"].values.tolist() == ["fixed point"]


def test_a_function_of_the_users_own_is_affine_only_where_it_was_looked_at():
    """Its bump is 1e-9 wide: no state that is looked at lies on it."""
    ds = fixed_points(from_function(lambda h, x: 0.5 * h + 3.2 * torch.exp(-(((h - 3) * 1e9) ** 2)), state_size=1))
    assert "affine wherever it was looked at" in ds.attrs["verdict"]


@pytest.mark.parametrize("unit", [1e-7, 1e-14, 1e-150, 1e-300])
def test_a_map_in_another_unit_has_the_same_points_in_that_unit(unit):
    ds = fixed_points(from_function(lambda h, x: unit * torch.tanh(2 * h / unit), state_size=1))
    same = fixed_points(from_function(lambda h, x: torch.tanh(2 * h), state_size=1))
    np.testing.assert_allclose(ds["fixed_point_state"].values / unit, same["fixed_point_state"].values, rtol=1e-14)
    assert ds["kind"].values.tolist() == same["kind"].values.tolist()
    said, otherwise = (each.attrs["verdict"].partition(", with coordinates drawn within") for each in (ds, same))
    assert said[0] == otherwise[0]


def test_a_root_far_away_among_saturated_units_is_verified():
    torch.manual_seed(1)
    system = create("antisymmetric", input_size=1, state_size=3, gamma=1e-6, step_size=0.1)
    with torch.no_grad():
        for values in system.parameters():
            values.copy_(torch.randn_like(values))
    assert counted(fixed_points(system)) == (1, 0, 0)


def planar(f, factor=0.1):
    """The map h − factor (f₁, f₂)(h₁, h₂), whose fixed points are the roots of f."""
    return from_function(lambda h, x: h - factor * torch.stack(f(h[..., 0], h[..., 1]), -1), state_size=2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (x * y**2, y * x**2),  # both axes
        lambda x, y: (x * y, 0 * x),
        lambda x, y: (x * y * (x - y), 0 * x),  # three lines
        lambda x, y: (x * ((x**2 + y**2) ** 2 - x**2 + y**2) / 2, y * ((x**2 + y**2) ** 2 - x**2 + y**2) / 2),
    ],
    ids=["axes", "axes, another f", "three lines", "lemniscate"],
)
def test_curves_of_fixed_points_that_cross_are_one_continuum(f):
    """What they share is no isolated point, though f' vanishes there in every direction."""
    assert counted(fixed_points(planar(f))) == (0, 1, 0)


def off_circle(x, y, center, radius):
    return (x - center) ** 2 + y**2 - radius**2


@pytest.mark.parametrize(
    "f, count",
    [
        (lambda x, y: (y - x) * (y + 2 * x) / (1 + x**2 + y**2), 1),
        (lambda x, y: y * off_circle(x, y, 1, 1) / (1 + x**2 + y**2), 1),
        (lambda x, y: off_circle(x, y, -1, 1) * off_circle(x, y, 1, 1) / 10, 1),
        (lambda x, y: off_circle(x, y, 0, 1) * off_circle(x, y, 0.5, 0.5), 1),
        (lambda x, y: off_circle(x, y, 0, 1) * off_circle(x, y, 0.3, 0.699), 2),
        (lambda x, y: off_circle(x, y, 0, 1) * off_circle(x, y, 0, 1.01), 2),
    ],
    ids=["oblique lines", "a line through a circle", "touching", "touching from inside", "0.001 apart", "0.01 apart"],
)
def test_curves_of_fixed_points_that_meet_are_one_continuum_and_those_that_only_come_close_are_two(f, count):
    ds = fixed_points(planar(lambda x, y: (f(x, y), 0 * x)), starts=16)
    assert counted(ds) == (0, count, 0)


@pytest.mark.parametrize(
    "center, radius, alone, count", [(0.5, 1.0, 1, 1), (0.5, 0.5, 0, 1), (0.0, 1.01, 1, 2), (0.0, 1.001, 1, 2)]
)
def test_circles_that_meet_are_one_continuum_whatever_the_field_is_elsewhere(center, radius, alone, count):
    """h − g(h) h: the origin is a fixed point too, alone or on the second circle."""

    def g(x, y):
        return off_circle(x, y, 0, 1) * off_circle(x, y, center, radius)

    ds = fixed_points(planar(lambda x, y: (g(x, y) * x, g(x, y) * y)), starts=64)
    assert counted(ds) == (alone, count, 0)


@pytest.mark.parametrize(
    "g, count",
    [
        (lambda x, y: (x**2 / 4 + 100 * y**2 - 1) / 20, 1),
        (lambda x, y: (y - 1) * off_circle(x, y, 0, 1) / (1 + x**2 + y**2), 1),
        (lambda x, y: (y - 1.01) * off_circle(x, y, 0, 1) / (1 + x**2 + y**2), 2),
        (lambda x, y: ((x - 0.3) ** 2 + y**2) ** 2 - (x - 0.3) ** 2 + y**2, 1),
    ],
    ids=["ellipse of aspect 20", "circle and tangent", "circle and line beside it", "lemniscate off the origin"],
)
@pytest.mark.parametrize("seed", range(2))
def test_the_number_of_curves_does_not_hang_on_the_seed(g, count, seed):
    ds = fixed_points(planar(lambda x, y: (g(x, y), 0 * x)), starts=16, seed=seed)
    assert counted(ds) == (0, count, 0)


@pytest.mark.parametrize(
    "surface, axis, count",
    [
        (lambda x, y, z: z, 0.0, 1),
        (lambda x, y, z: x**2 + y**2 + z**2 - 1, 0.0, 1),
        (lambda x, y, z: x**2 + y**2 + z**2 - 1, 2.0, 2),
        (lambda x, y, z: x**2 + y**2 - 1, 0.0, 2),
    ],
    ids=["plane and normal", "sphere and diameter", "sphere and line beside it", "cylinder and axis"],
)
def test_a_line_through_a_surface_is_one_continuum_with_it_and_a_line_beside_it_another(surface, axis, count):
    def step(h, _):
        x, y, z = h.unbind(-1)
        g = surface(x, y, z)
        return h - 0.1 * torch.stack([(x - axis) * g, y * g, 0 * z], -1)

    assert counted(fixed_points(from_function(step, state_size=3), starts=16)) == (0, count, 0)


@pytest.mark.parametrize(
    "f, count, open_ends",
    [
        (lambda x, y: x * y - 1, 2, True),
        (lambda x, y: x * y - 1e-4, 2, True),
        (lambda x, y: x**2 - y**2 - 0.01, 2, True),
        (lambda x, y: y**2 - x**3 + x, 2, False),  # an oval and a branch
        (lambda x, y: y**2 - x**2 * (x + 1), 1, False),  # a loop and its ends
        (lambda x, y: (x**2 + y**2) ** 2 - 2 * (x**2 - y**2) + 0.9, 2, False),  # Cassini's ovals
        (lambda x, y: (x / 1000) ** 2 + y**2 - 1, 1, False),
        (lambda x, y: (x / 1e5) ** 2 + y**2 - 1, 2, True),  # one, and its ends are too far to be seen
    ],
)
def test_branches_of_a_curve_are_counted_at_the_defaults(f, count, open_ends):
    ds = fixed_points(planar(lambda x, y: (f(x, y), 0 * x)))
    assert counted(ds)[:2] == (0, count)
    assert ("both go on farther than they were followed, where they may meet" in ds.attrs["verdict"]) == open_ends


@pytest.mark.parametrize(
    "f, factor, count",
    [
        (lambda x, y: y * x**2 - 1, 0.3, 2),  # both branches go up side by side
        (lambda x, y: y * x**4 - 1, 0.3, 2),
        (lambda x, y: x * y - 1, 3e5, 2),
        (lambda x, y: x * y - 1e-8, 0.3e4, 2),
        (lambda x, y: (x / 1e-4) ** 2 + (y / 1e-4) ** 2 - 1, 0.3e-4, 1),  # its unit makes a thin ellipse of it
        (lambda x, y: (x**2 + y**2) / 1e-2 - 1e-2, 0.3, 1),
        (lambda x, y: (x**2 + y**2) / 1e-3 - 1e-3, 0.3, 1),
        (lambda x, y: (x - 1000) ** 2 + y**2 - 1, 0.3, 1),
    ],
)
def test_steep_small_and_far_curves_are_counted_as_what_they_are(f, factor, count):
    ds = fixed_points(planar(lambda x, y: (f(x, y), 0 * x), factor))
    assert counted(ds)[:2] == (0, count)


@pytest.mark.parametrize("moved, least, seed", [((0.1, 0.07), 0.5, 0), ((0.1, 0.07), 1e-3, 1), ((1e-3, 0.2), 0.01, 2)])
def test_where_rounding_is_larger_in_one_coordinate_a_curve_is_one_all_the_same(moved, least, seed):
    """xy = c, at states with x near 0 and y in the hundreds: y's rounding moves x, and with it f in x."""
    step = planar(lambda x, y: (moved[0] * (x * y - least), moved[1] * (x * y - least)), 1.0)
    assert counted(fixed_points(step, seed=seed)) == (0, 2, 0)


def test_a_curve_about_a_degenerate_point_is_told_from_it():
    def centred(x, y):
        return (x**2 + y**2) * (x**2 + y**2 - 1e-4) * 3e4

    ds = fixed_points(planar(lambda x, y: (centred(x, y), 0 * x)))
    assert counted(ds) == (1, 1, 0)
    unit = 1e-3  # a curve at x ≥ unit, and 0 alone
    ds = fixed_points(planar(lambda x, y: (unit * ((y / unit) ** 2 - (x / unit) ** 2 * (x / unit - 1)), 0 * x)))
    assert counted(ds) == (1, 1, 0)
    assert np.abs(ds["fixed_point_state"].values[ds["status"].values == "fixed point"]).max() == 0


def test_two_double_roots_beside_each_other_are_not_one():
    ds = fixed_points(scalar(lambda h: -3e3 * h**2 * (h - 0.01) ** 2))
    np.testing.assert_allclose(np.sort(ds["fixed_point_state"].values[:, 0]), [0, 0.01], atol=1e-7)


@pytest.mark.parametrize(
    "g", [lambda h: torch.relu(abs(h) - 1) ** 2, lambda h: torch.relu(h) ** 2, lambda h: torch.relu(abs(h) - 0.01) ** 2]
)
def test_an_interval_that_f_leaves_by_and_by_is_a_continuum(g):
    ds = fixed_points(scalar(lambda h: -0.3 * g(h)))
    assert counted(ds) == (0, 1, 0)
    assert ds["continuum_dimension"].values.tolist() == [1]


@pytest.mark.parametrize(
    "f, dimension",
    [
        (lambda x, y: torch.relu(abs(x) - 1) ** 2 + y**2, 1),
        (lambda x, y: torch.relu(x) ** 2 + y**2, 1),
        (lambda x, y: torch.relu(x**2 + y**2 - 1) ** 2, 2),
    ],
    ids=["segment", "half-line", "disc"],
)
def test_so_is_a_segment_a_half_line_and_a_disc(f, dimension):
    ds = fixed_points(planar(lambda x, y: (f(x, y), 0 * x), 0.3))
    assert counted(ds) == (0, 1, 0)
    assert ds["continuum_dimension"].values.tolist() == [dimension]


@pytest.mark.parametrize(
    "g", [lambda h: h**51, lambda h: torch.exp(-1 / (h * h + 1e-300)), lambda h: torch.tanh(h) ** 9]
)
def test_a_smooth_function_that_rounding_hides_is_no_interval(g):
    assert counted(fixed_points(scalar(lambda h: -0.1 * g(h))))[1] == 0


def test_sheets_of_a_hyperboloid_are_not_told_as_one():
    """A walk that steps from one to the other would join them; surfaces are never known to be apart."""
    ds = fixed_points(
        from_function(
            lambda h, x: (
                h
                + torch.tensor([0.3, 0, 0], dtype=torch.float64)
                * (h[..., 2:] ** 2 - (h[..., :2] ** 2).sum(-1, True) - 1)
            ),
            3,
        )
    )
    assert ds.attrs["verdict"].startswith("At least 1 continuum of fixed points: 2 pieces")


@pytest.mark.parametrize(
    "surface, starts",
    [
        (lambda h: h[..., 2:], [[1.0, 2.0, 0.0], [0.0, 0.0, 1.0], [2.0, 1.0, 0.0]]),
        (lambda h: (h**2).sum(-1, keepdim=True) - 1, [[0.6, 0.0, 0.8], [0.0, 0.0, 3.0], [0.0, 0.8, -0.6]]),
    ],
    ids=["plane and normal", "sphere and diameter"],
)
def test_a_line_and_the_surface_that_it_meets_are_a_surface(surface, starts):
    only = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    ds = fixed_points(from_function(lambda h, x: h * (1 - 0.1 * only * surface(h)), state_size=3), starts=starts)
    assert ds.continuum_dimension.values.tolist() == [2]
    assert "1 continuum of fixed points, a plane or surface" in ds.attrs["verdict"]


@pytest.mark.parametrize("apart", [1e-2, 1e-5])
def test_parallel_lines_are_two_however_far_out_they_are_walked_along(apart):
    starts = [[x, y] for x in (-300.0, 2.0, 5.0) for y in (0.0, apart)]
    found = planar(lambda x, y: (y * (y - apart), y * (y - apart)))
    assert counted(fixed_points(found, starts=starts)) == (0, 2, 0)
    along = np.stack([np.random.default_rng(5).uniform(-1000, 1000, 20), np.full(20, apart)], axis=1)
    assert counted(fixed_points(found, starts=along)) == (0, 1, 0)


@pytest.mark.parametrize(
    "f, starts, count",
    [
        (lambda x, y: x * y - 1, [[1.0, 1.0], [2.0, 0.5], [-1.0, -1.0]], 2),  # both branches of a hyperbola
        (lambda x, y: y * (x * y - 1), [[1.0, 1.0], [2.0, 0.5], [-1.0, -1.0], [4.0, 0.0]], 3),  # and its asymptote
        (lambda x, y: (y - 1) * (y - 1e-4 * x), [[9000.0, 1.0], [5000.0, 0.5]], 1),  # lines that cross at (10⁴, 1)
    ],
)
def test_rounding_of_one_coordinate_far_out_does_not_end_a_continuum_in_another(f, starts, count):
    assert counted(fixed_points(planar(lambda x, y: (f(x, y), f(x, y))), starts=starts)) == (0, count, 0)


@pytest.mark.parametrize("apart, told", [(1e-2, True), (1e-5, True), (2e-7, False), (1e-9, False)])
def test_two_parallel_lines_are_two_where_the_function_between_them_says_so(apart, told):
    """y (y − a)/10 is a²/40 between them, which the rounding of a state of size 1 hides below a = 3e-7."""
    lines = [np.array([[0.0, height], [1.0, height]]) for height in (0.0, apart)]
    one, other = (Curve(states, np.array([[1.0, 0.0]] * 2), False, True) for states in lines)
    found = planar(lambda x, y: (y * (y - apart), 0 * x))
    sought = places.equations(Held(found, torch.zeros(0, dtype=torch.float64), 0))
    assert meet(sought, one, other) in ([False] if told else [True, None])


def test_a_curve_without_end_is_walked_along_for_a_while_only(monkeypatch):
    monkeypatch.setattr("dynlab.diagnostics.fixed_points.places.MOST_WORK", 1000.0)
    ds = fixed_points(planar(lambda x, y: (0 * x, y - torch.sin(20 * x))), starts=8)
    assert counted(ds)[0] == 0
    assert counted(ds)[1] > 0
    assert ds.attrs["verdict"].startswith("At least 1 continuum of fixed points")


def test_what_is_not_looked_at_once_the_work_is_spent_is_said(monkeypatch):
    """Far out a gate of the function shuts to the last digit, and F(h) − h is rounding: there is no end of such states.

    The cell as a module says so by a formula, which a function has not.
    """
    monkeypatch.setattr("dynlab.diagnostics.fixed_points.places.MOST_WORK", 1000.0)
    torch.manual_seed(0)
    cell = nn.GRUCell(2, 3).double()
    ds = fixed_points(from_function(cell, order="xh", state_size=3, input_size=2))
    truth = fixed_points(from_module(cell), starts=16)["fixed_point_state"].values
    found = ds["fixed_point_state"].values[ds["status"].values == "fixed point"]
    np.testing.assert_allclose(found, truth, atol=1e-12)
    assert "were not looked at" in ds.attrs["verdict"]
    assert "not looked at" in ds["outcome"].values


def test_walks_that_are_not_finished_make_no_sure_count(monkeypatch):
    monkeypatch.setattr("dynlab.numerics.continua.MOST_STEPS", 12)

    def g(x, y):
        return off_circle(x, y, -1.5, 1) * off_circle(x, y, 1.5, 1) / 10

    ds = fixed_points(planar(lambda x, y: (g(x, y), 0 * x)), starts=4)
    assert ds.attrs["verdict"].startswith("At least 1 continuum of fixed points")


@pytest.mark.parametrize(
    "f",
    [lambda x, y: (x**3, y**3), lambda x, y: (x**3 - 3 * x * y**2, y**3 - 3 * x**2 * y)],
    ids=["cubes", "z³ and its conjugate"],
)
def test_a_root_of_third_order_is_one_point(f):
    assert counted(fixed_points(planar(f))) == (1, 0, 0)


@pytest.mark.parametrize("power", [2, 3, 4, -4])
def test_a_multiple_root_of_a_power_is_one_point_anywhere(power):
    """F(z) = z + (z − c)ⁿ/10, and with the conjugate."""

    def step(h, x):
        z = torch.complex(h[..., 0] - 0.2, h[..., 1] + 0.1)
        w = z**power if power > 0 else z.conj() ** -power
        return h + torch.stack([w.real, w.imag], dim=-1) / 10

    ds = fixed_points(from_function(step, state_size=2), starts=16)
    assert counted(ds) == (1, 0, 0)
    np.testing.assert_allclose(ds["fixed_point_state"].values, [[0.2, -0.1]], atol=1e-3)


def test_on_a_continuum_of_a_matrix_to_rounding_one_multiplier_is_1():
    ds = fixed_points(LinearMap([[1 - 2**-50, 1.0], [0.0, 0.5]]))
    assert counted(ds) == (0, 1, 0)
    assert ds["stable"].item() == -1


@pytest.mark.parametrize("matrix", [[[1.0]], np.eye(2), [[1.0, 0.0], [0.0, 0.5]], [[0.0, 1.0], [1.0, 0.0]], np.eye(20)])
def test_at_the_edge_of_stability_no_point_is_said_to_be_missing(matrix):
    """‖tanh(W h)‖ < ‖h‖ but at 0, whose index is +1 though det(I − W) is 0."""
    W = torch.as_tensor(np.array(matrix))
    system = from_module(nn.RNN(1, len(W)).double())
    with torch.no_grad():
        for name, values in system.named_parameters():
            values.copy_(W) if name == "weight_hh" else values.zero_()
    ds = fixed_points(system)
    assert counted(ds) == (1, 0, 0)
    assert "missing" not in ds.attrs["verdict"]
    assert "index_sum" not in ds


@pytest.mark.parametrize("f", [lambda h: torch.exp(h) - 1, lambda h: torch.expm1(h)], ids=["exp(h) − 1", "expm1"])
def test_cancellation_in_a_users_function_makes_no_fixed_points(f):
    """e^h − 1 > h but at 0: where h²/2 drowns in the rounding of exp(h), there is no root beside 0."""
    ds = fixed_points(from_function(lambda h, x: f(h), state_size=1))
    assert counted(ds)[0] <= 1
    assert (ds["stable"].values == -1).all()
    assert (np.abs(ds["fixed_point_state"].values) < 1e-7).all()


@pytest.mark.parametrize("apart", [1e-6, 1e-4, 1e-2])
def test_a_root_between_two_near_ones_is_found(apart):
    ds = fixed_points(scalar(lambda h: -h * (h - apart) * (h - 2 * apart)))
    found = np.sort(ds["fixed_point_state"].values.ravel())
    np.testing.assert_allclose(found, [0, apart, 2 * apart], atol=1e-4 * apart)
    assert int((ds["stable"] == 1).sum()) == 2


@pytest.mark.parametrize("factor, inside", [(2, []), (3, [0.5]), (5, [0.25, 0.5, 0.75])])
def test_a_limit_at_a_jump_is_no_fixed_point(factor, inside):
    """Of factor · h mod 1 on [0, 1): k/(factor − 1) stays, and 1, which it tends to from below, goes to 0."""
    ds = fixed_points(from_function(lambda h, x: (factor * h) % 1, state_size=1))
    told = ds["fixed_point_state"].values.ravel()[ds["status"].values == "fixed point"]
    np.testing.assert_allclose(np.sort(told), [0, *inside], atol=1e-12)


@pytest.mark.parametrize(
    "f",
    [lambda h: torch.log(1 + h), lambda h: (1 + h) ** 2 - 1 - h, lambda h: torch.sqrt(1 + 2 * h) - 1],
    ids=["log(1 + h)", "(1 + h)² − 1 − h", "√(1 + 2h) − 1"],
)
def test_a_double_root_of_a_function_that_cancels_is_one_point(f):
    """Each is h + O(h²) from one side: one semi-stable fixed point, 0."""
    ds = fixed_points(from_function(lambda h, x: f(h), state_size=1))
    assert counted(ds)[0] <= 1
    assert (ds["stable"].values == -1).all()


def test_lines_of_double_roots_that_cross_are_no_surface():
    ds = fixed_points(planar(lambda x, y: ((x * y) ** 2, 0 * x)), starts=16)
    assert counted(ds)[0] == 0
    assert "of dimension 1" in ds.attrs["verdict"] or "a line or curve" in ds.attrs["verdict"]


def test_the_verdict_says_where_random_starts_are_drawn_from():
    """h − 0.3 sin³ h has a fixed point at every kπ: those beyond the starts are not claimed to be few."""
    ds = fixed_points(scalar(lambda h: -0.3 * torch.sin(h) ** 3))
    reach = float(ds.attrs["verdict"].partition("within ±")[2].partition(". At")[0])
    assert np.abs(ds["fixed_point_state"].values).max() <= max(reach, np.pi)
    assert 0 < reach < 2 * np.pi


@pytest.mark.parametrize("radius", [0.1, 0.03, 1e-3, 1e-6])
def test_a_small_circle_of_fixed_points_away_from_the_origin(radius):
    center = torch.tensor([3.0, -2.0], dtype=torch.float64)

    def f(h, x):
        y = (h - center) / radius
        return center + radius * y * (1.5 - 0.5 * (y * y).sum(-1, keepdim=True))

    found = fixed_points(from_function(f, state_size=2))
    states = found.fixed_point_state.values[found.status.values == "continuum"]
    assert len(states) == 1
    np.testing.assert_allclose(np.linalg.norm(states - center.numpy(), axis=1), radius, rtol=1e-6)


@pytest.mark.parametrize("length", [lambda h: h.abs().sum(-1, keepdim=True), lambda h: h.abs().amax(-1, keepdim=True)])
def test_the_sides_of_a_square_of_fixed_points_are_one_continuum(length):
    found = fixed_points(from_function(lambda h, x: h * (1.3 - 0.3 * length(h)), state_size=2))
    assert (found.status.values == "continuum").sum() == 1


@pytest.mark.parametrize("size", [1e-12, 1e-13])
def test_points_that_rounding_does_not_tell_apart_are_not_counted_twice(size):
    """z(1.5 − |z|²/2) + e (z̄² − z) has seven fixed points: 0, and about |z| = 1 where sin 3θ = 0."""

    def step(h, x):
        re, im = h.unbind(-1)
        slow = torch.stack([re * re - im * im - re, -2 * re * im - im], dim=-1)
        return h * (1.5 - 0.5 * (h * h).sum(-1, keepdim=True)) + size * slow

    ds = fixed_points(from_function(step, state_size=2))
    said = int(re.search(r"\d+", ds.attrs["verdict"]).group())
    assert 4 <= said <= 7
    assert ds.attrs["verdict"].startswith("At least") == (counted(ds)[0] > said)


@pytest.mark.parametrize(
    "low, high", [(1.0, 1.1), (1.0, 1.03), (1.0, 1.001), (1e3, 1001.0), (-1e-3, 1e-3), (0.0, 1e-6)]
)
def test_a_short_segment_of_fixed_points_is_a_continuum(low, high):
    """Every h from low to high is one, and beside them f' jumps to −1."""
    clipped = from_function(lambda h, x: torch.clamp(h, low, high), state_size=1)
    assert fixed_points(clipped)["status"].values.tolist() == ["continuum"]
    sheared = from_function(
        lambda h, x: torch.stack([torch.clamp(h[..., 0], low, high), h[..., 1] / 2 + h[..., 0]], dim=-1), state_size=2
    )
    assert fixed_points(sheared)["status"].values.tolist() == ["continuum"]


def test_a_small_circle_far_from_0_is_one_continuum_and_its_centre_a_point():
    def step(h, x):
        away = h - torch.tensor([1.0, 0.0], dtype=h.dtype)
        return h + away * (0.1 - 1e5 * away.square().sum(-1, keepdim=True))

    found = fixed_points(from_function(step, state_size=2))
    assert sorted(found["status"].values.tolist()) == ["continuum", "fixed point"]
    point = found["fixed_point_state"].values[found["status"].values == "fixed point"]
    np.testing.assert_allclose(point, [[1.0, 0.0]], atol=1e-9)
