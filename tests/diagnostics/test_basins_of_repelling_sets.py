"""Sets that repel across a line or plane, with starts exactly on it: their truth is in closed form."""

import math

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.jacobians import jacobian
from dynlab.numerics.flat_orbits import flat_spaces, neighbours_distance, spread
from dynlab.systems.held import Held
from dynlab.systems.within import Within

NO_INPUT = torch.zeros(0, dtype=torch.float64)


def beside(f, g):
    """The unit f(x) beside the unit g(y): chaos in x where f is chaotic, on y = c where g(c) = c."""
    return dl.from_function(lambda h, x: torch.stack([f(h[..., 0]), g(h[..., 1])], -1), state_size=2)


def tripled(x):
    """x → 3 x + 0.1 mod 1, with the exponent ln 3."""
    return torch.remainder(3 * x + 0.1, 1.0)


def found(ds):
    """The kinds of what is no fixed point, whether they are stable, and the largest exponents, sorted."""
    moves = ds["period"].values != 1
    parts = (ds[name].values[moves].tolist() for name in ("kind", "stable", "largest_exponent"))
    return sorted(zip(*parts, strict=True))


def told(*expected):
    return [(kind, stable, pytest.approx(exponent, abs=0.02)) for kind, stable, exponent in expected]


ATTRACTOR, SADDLE, CIRCLE = "chaotic attractor", "unstable chaotic set", "unstable invariant closed curve"


@pytest.mark.parametrize(
    "g, expected, height",
    [
        (
            lambda y: 1.5 * y - 0.5 * y**3,
            [(ATTRACTOR, 1, np.log(3))] * 2 + [(SADDLE, 0, np.log(3))],
            {ATTRACTOR: 1, SADDLE: 0},
        ),
        (lambda y: 2 * y, [(SADDLE, 0, np.log(3))], {SADDLE: 0}),
        (lambda y: 5 * y, [(SADDLE, 0, np.log(5))], {SADDLE: 0}),
        (lambda y: 0.5 * y, [(ATTRACTOR, 1, np.log(3))], {ATTRACTOR: 0}),
        (lambda y: 0.999 * y, [(ATTRACTOR, 1, np.log(3))], {ATTRACTOR: 0}),
        # ±1 in turn: slopes −1.5 there and −0.75 at 0, then −0.5 and −1.25
        (
            lambda y: -(0.75 * y + 0.25 * y**3),
            [(ATTRACTOR, 1, np.log(3)), (SADDLE, 0, np.log(3))],
            {ATTRACTOR: 0, SADDLE: 1},
        ),
        (
            lambda y: -(1.25 * y - 0.25 * y**3),
            [(ATTRACTOR, 1, np.log(3)), (SADDLE, 0, np.log(3))],
            {ATTRACTOR: 1, SADDLE: 0},
        ),
        # each y is that of another set, and none attracts
        (lambda y: y, [], {}),
    ],
)
def test_chaos_on_a_line_attracts_where_the_slope_across_does(g, expected, height):
    ds = dl.basins(beside(tripled, g), grid=5, extent=1)
    assert found(ds) == told(*expected)
    chaotic = [kind for kind, _, _ in expected]
    lies_at = ds["attractor_state"].values[np.isin(ds["kind"], chaotic), 1]
    kinds = ds["kind"].values[np.isin(ds["kind"], chaotic)]
    np.testing.assert_allclose(np.abs(lies_at), [height[kind] for kind in kinds], atol=1e-3)


def test_a_set_that_repels_has_no_basin():
    ds = dl.basins(beside(lambda x: 4 * x * (1 - x), lambda y: 2 * y), grid=41, extent=1)
    assert found(ds) == told((SADDLE, 0, np.log(2)))
    assert "1 unstable chaotic set, which has no basin" in ds.attrs["verdict"]
    assert "attractor" not in ds.attrs["verdict"]


@pytest.mark.parametrize(
    "coupling, repels", [(0.1, True), (0.3, False)], ids=["0.49 + ln 0.8 > 0", "0.49 + ln 0.4 < 0"]
)
def test_equal_states_of_coupled_logistic_maps(coupling, repels):
    def step(h, x):
        moved = 3.9 * h * (1 - h)
        return (1 - coupling) * moved + coupling * moved.flip(-1)

    ds = dl.basins(dl.from_function(step, state_size=2), states=[[0.2, 0.3], [0.8, 0.6]], grid=9, extent=0.9)
    there = np.ptp(ds["attractor_state"].values, axis=1) < 1e-12
    kinds = ds["kind"].values[there & (ds["period"].values == 0)]
    assert kinds.tolist() == [SADDLE if repels else ATTRACTOR]


def test_newtons_method_for_minus_one_on_the_real_line():
    """x → (x − 1/x)/2 is cot θ → cot 2θ, with the exponent ln 2; ±i attract all else."""

    def step(h, x):
        z = torch.complex(h[..., 0], h[..., 1])
        z = z - (z * z + 1) / (2 * z)
        return torch.stack([z.real, z.imag], -1)

    ds = dl.basins(dl.from_function(step, state_size=2), grid=21, extent=1.9)
    assert found(ds) == [(SADDLE, 0, pytest.approx(np.log(2), abs=0.05))]
    np.testing.assert_allclose(ds["attractor_state"].values[:2], [[0, -1], [0, 1]], atol=1e-12)


@pytest.mark.parametrize("up, kind", [(2.0, SADDLE), (0.5, ATTRACTOR)])
def test_henons_attractor_in_a_plane(up, kind):
    def step(h, x):
        return torch.stack([1 - 1.4 * h[..., 0] ** 2 + h[..., 1], 0.3 * h[..., 0], up * h[..., 2]], -1)

    plane = np.array([[0.1, 0.1, 0], [-0.1, 0.1, 0], [0.2, -0.1, 0]])
    ds = dl.basins(dl.from_function(step, state_size=3), states=plane, grid=4, extent=0.3)
    assert found(ds) == [(kind, int(up < 1), pytest.approx(max(0.4192, np.log(up)), abs=0.02))]


def test_where_chaos_is_only_across_a_line_it_is_not_claimed():
    """On y = 0 the accumulation of period doublings, with the exponent 0."""
    slow = 3.569945671870945
    ds = dl.basins(
        beside(lambda x: slow * x * (1 - x), lambda y: 2 * y), states=[[0.1, 0], [0.9, 0]], grid=3, extent=0.9
    )
    assert not any("chao" in kind for kind in ds["kind"].values)


def test_a_set_that_repels_from_a_bent_line_is_undecided():
    """y = x² repels with the slope 1.5, and starts on it stay there to the last bit."""

    def step(h, x):
        moved = tripled(h[..., 0])
        return torch.stack([moved, moved * moved + 1.5 * (h[..., 1] - h[..., 0] * h[..., 0])], -1)

    ds = dl.basins(dl.from_function(step, state_size=2), grid=9, extent=1)
    assert found(ds) == []
    assert "an orbit that starts beside them leaves what they are on" in ds.attrs["verdict"]


@pytest.mark.parametrize("g, stable", [(lambda y: 2 * y, 0), (lambda y: y / 2, 1)])
def test_a_cycle_with_starts_exactly_on_it(g, stable):
    """x → −x (1.5 − 0.5 x²) has ±1 as its cycle, with the slope 0 twice, and 0 as its fixed point, with −1.5."""
    ds = dl.basins(beside(lambda x: -x * (1.5 - 0.5 * x**2), g), grid=5, extent=1)
    kinds = dict(zip(ds["kind"].values, ds["stable"].values, strict=True))
    assert kinds[f"{'stable' if stable else 'unstable'} period-2 orbit"] == stable
    assert not any("chao" in kind or "family" in kind for kind in kinds)


def circle(a, b, turn=2.0):
    """r → r (1.25 − 0.25 r²) and a turn: the circle of radius 1 with the slope 1/2 across it in its plane."""
    k = 1.25 - 0.25 * (a * a + b * b)
    c, s = math.cos(turn), math.sin(turn)
    return (a * c - b * s) * k, (a * s + b * c) * k


IN_PLANE = np.random.default_rng(0).uniform(-0.7, 0.7, (40, 3)) * [1, 1, 0]
ON_CIRCLE = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])


@pytest.mark.parametrize("conserves", [False, True], ids=["on the circle", "everywhere"])
@pytest.mark.parametrize("states", [IN_PLANE, ON_CIRCLE], ids=["in its plane", "around it"])
def test_starts_that_come_to_one_circle_are_no_family_where_volume_is_kept(states, conserves):
    """The volume's change 2 · 1/2 is 1 on the circle; with z → z/(k (k + r k′)) it is 1 everywhere."""

    def step(h, x):
        a, b, c = h.unbind(-1)
        k = 1.25 - 0.25 * (a * a + b * b)
        up = c / (k * (k - 0.5 * (a * a + b * b))) if conserves else 2 * c
        return torch.stack([*circle(a, b), up], -1)

    ds = dl.basins(dl.from_function(step, state_size=3), states=states, grid=4, extent=0.6)
    assert found(ds) == told((CIRCLE, 0, np.log(2)))
    radius = np.linalg.norm(ds["attractor_state"].values, axis=1)
    np.testing.assert_allclose(radius, 1, atol=1e-9)
    assert "family" not in ds.attrs["verdict"]


def test_a_torus_that_repels_in_a_fifth_direction():
    def step(h, x):
        a, b, c, d, e = h.unbind(-1)
        return torch.stack([*circle(a, b, 2**0.5), *circle(c, d, 3**0.5), 2 * e], -1)

    plane = np.random.default_rng(0).normal(size=(4, 5)) * [0.4, 0.4, 0.4, 0.4, 0]
    ds = dl.basins(dl.from_function(step, state_size=5), states=plane, grid=2)
    assert found(ds) == told(("unstable invariant torus", 0, np.log(2)))


def test_families_in_a_plane_that_neighbours_leave_are_as_chaotic_as_they_are_within():
    """A turn in a plane, and beside it 2 and 1/2: volume is kept, nothing attracts in the plane, nothing is chaotic."""

    def step(h, x):
        a, b, c, d = h.unbind(-1)
        turned = a * math.cos(1) - b * math.sin(1), a * math.sin(1) + b * math.cos(1)
        return torch.stack([*turned, 2 * c, d / 2], -1)

    plane = np.random.default_rng(0).uniform(-1, 1, (40, 4)) * [1, 1, 0, 0]
    ds = dl.basins(dl.from_function(step, state_size=4), states=plane, grid=5, extent=1)
    assert found(ds) == told(("family of volume-preserving orbits", -1, 0))


@pytest.mark.parametrize("slope, distance", [(0.5, 0.5**20), (1.0, 1.0), (2.0, 2.0**20)])
def test_how_far_from_its_space_a_neighbour_is(slope, distance):
    line = np.random.default_rng(0).uniform(-1, 1, (1, 100)) * np.array([0.6, 0.8])[:, None]
    visited = np.stack([line.T.reshape(100, 2), np.random.default_rng(1).normal(size=(100, 2))])
    spaces = flat_spaces(visited, np.ones(2))
    assert spaces.dimensions.tolist() == [1, -1]
    across = np.array([-0.8, 0.6])

    def follow(states):
        along = states - np.outer(states @ across, across)
        return (along + slope**20 * np.outer(states @ across, across))[:, None]

    measured = neighbours_distance(spaces, visited[:, 0], follow, 0)
    assert measured[0] == pytest.approx(1e-8 * distance, rel=1e-6)
    assert np.isnan(measured[1])
    assert spaces.hold(np.array([[1.2, 1.6], [1.2, 1.61]]), [0]).tolist() == [True, False]


@pytest.mark.parametrize("period", range(2, 9))
def test_states_of_an_orbit_are_taken_in_no_rhythm(period):
    """Else an orbit on several lines in turn seems to lie on one of them."""
    places = spread(20_000)
    assert places[0] == 0
    assert set(places % period) == set(range(period))


@pytest.mark.parametrize("unit", [1.0, torch.tensor([2.0, 0.5, 4.0], dtype=torch.float64)])
@pytest.mark.parametrize("name", ["vanilla", "feedback"])
def test_a_map_within_a_space_has_the_derivative_of_its_own_step(name, unit):
    torch.manual_seed(0)
    held = Held(dl.create(name, input_size=0, state_size=3).double().requires_grad_(False), NO_INPUT, 0, unit)
    axes = torch.from_numpy(np.linalg.qr(np.random.default_rng(0).normal(size=(3, 2)))[0].T.copy())
    within = Within(held, torch.tensor([0.1, 0.2, -0.3], dtype=torch.float64), axes)
    state = torch.tensor([0.3, -0.2], dtype=torch.float64)
    exact = jacobian(within, state, NO_INPUT).dense()
    automatic = torch.func.jacrev(lambda s: within.step(s, NO_INPUT))(state)
    np.testing.assert_allclose(exact, automatic, atol=1e-13)
