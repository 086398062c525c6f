"""Pseudospectra against closed forms of 2 × 2 matrices, against singular values, and against Kreiss's theorem."""

import mpmath
import numpy as np
import pytest
import scipy.linalg
import torch

import dynlab as dl
from dynlab.diagnostics.pseudospectrum.border import kreiss_constant
from dynlab.diagnostics.pseudospectrum.powers import exponential_norms, power_norms
from dynlab.errors import UserError
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.resolvent import Resolvent
from dynlab.systems.textbook import LinearMap

SHEAR = [[-1.0, 10.0], [0.0, -2.0]]


def norm_of_triangle(a, b, d):
    """‖[[a, b], [0, d]]‖₂."""
    sum_of_squares = a * a + b * b + d * d
    return np.sqrt((sum_of_squares + np.sqrt(np.maximum(sum_of_squares**2 - 4 * (a * d) ** 2, 0))) / 2)


def jordan(c):
    return LinearMap([[0.9, c], [0.0, 0.9]])


@pytest.mark.parametrize("n", [3, 33])
@pytest.mark.parametrize("kind", ["random", "triangular", "orthogonal", "zero"])
def test_smallest_singular_values(n, kind):
    generator = np.random.default_rng(n)
    matrix = generator.standard_normal((n, n)) / np.sqrt(n)
    matrix = {
        "random": matrix,
        "triangular": np.triu(matrix),
        "orthogonal": np.linalg.qr(matrix)[0],
        "zero": 0 * matrix,
    }[kind]
    points = generator.uniform(-2, 2, 60) + 1j * generator.uniform(-2, 2, 60)
    found = Resolvent(matrix, max_memory=2**16, seed=0).smallest(
        points
    )  # so little memory that there are several blocks
    exact = np.linalg.svd(points[:, None, None] * np.eye(n) - matrix, compute_uv=False)[:, -1]
    np.testing.assert_allclose(found.value, exact, rtol=1e-9, atol=1e-13)
    assert found.converged.all()


@pytest.mark.parametrize("c", [0.01, 1.0, 4.0, 100.0])
def test_the_jordan_block_is_known_in_closed_form(c):
    ds = dl.pseudospectrum(jordan(c), grid=31, steps=60)
    z = ds["x"].values + 1j * ds["y"].values[:, None]
    distance = np.abs(z - 0.9)
    exact = 2 * distance**2 / (np.sqrt(c**2 + 4 * distance**2) + c)
    np.testing.assert_allclose(ds["smallest_singular_value"], exact, rtol=1e-9, atol=1e-14)
    k = np.arange(61)
    powers = k * np.log(0.9) + np.arcsinh(k * c / 1.8)
    np.testing.assert_allclose(ds["log_power_norm"], powers, atol=1e-12)
    assert (np.abs(ds["log_power_norm"] - powers) <= ds["log_power_norm_error"] + 1e-15).all()
    assert float(ds["transient_growth"]) == pytest.approx(np.exp(powers.max()), rel=1e-12)
    # the resolvent is largest on the positive real axis: one dimension, by another method
    with mpmath.workdps(30):

        def quotient(r):
            d = r - mpmath.mpf(0.9)
            return (r - 1) * (mpmath.sqrt(c**2 + 4 * d**2) + c) / (2 * d**2)

        line = [1 + mpmath.mpf(10) ** (mpmath.mpf(e) / 50) for e in range(-300, 100)]
        best = float(max(map(quotient, line)))
    assert float(ds["kreiss_constant"]) >= max(1.0, best) * (1 - 1e-9)
    assert float(ds["kreiss_constant"]) <= max(1.0, best) * (1 + 1e-3)  # the line's spacing


def test_the_shear_as_a_flow():
    ds = dl.pseudospectrum(dl.create("linear", matrix=SHEAR), grid=11, steps=200)
    assert float(ds["numerical_abscissa"]) == pytest.approx((-3 + np.sqrt(101)) / 2, rel=1e-14)
    t = ds["time"].values
    exact = norm_of_triangle(np.exp(-t), 10 * (np.exp(-t) - np.exp(-2 * t)), np.exp(-2 * t))
    np.testing.assert_allclose(np.exp(ds["log_power_norm"]), exact, rtol=1e-11)
    assert float(ds["transient_growth"]) == pytest.approx(2.56349289, rel=1e-8)
    assert 1 < float(ds["kreiss_constant"]) <= exact.max()
    assert "grows to" in ds.attrs["verdict"]


@pytest.mark.parametrize("seed", range(3))
def test_kreiss_matrix_theorem(seed):
    """K ≤ sup ‖A^k‖ ≤ e n K: the first half holds of every lower bound, the second says that this one is not lax."""
    n = 6
    matrix = np.triu(np.random.default_rng(seed).standard_normal((n, n)) * 2, 1) + np.diag(np.linspace(-0.9, 0.95, n))
    found, _ = kreiss_constant(matrix, eigenvalues(matrix), Resolvent(matrix, max_memory=2**24, seed=0), False)
    largest = float(np.exp(power_norms(matrix, 400).log_norm.max()))
    assert found <= largest * (1 + 1e-9)
    assert largest <= np.e * n * found


SKEWED = [
    0.9999 * np.array([[1, 1e3], [0, 1]]) @ np.array([[0.6, -0.8], [0.8, 0.6]]),
    np.array([[0.1]]),
    np.array([[0.999, 1e6], [0, 0.998]]),
    np.array([[0.5, 1e8], [0, 0.9]]),
    np.diag([1e3] * 11, 1) + np.diag([1e-3] * 11, -1),
    np.array([[2.0, 5e3, 1e-7], [3e-4, -1.0, 2e5], [1e2, 7e-6, 0.3]]),
]


@pytest.mark.parametrize("matrix", SKEWED, ids=range(len(SKEWED)))
def test_the_norms_of_powers_are_within_their_errors(matrix):
    """Against powers in 60 digits, of matrices whose entries differ in size: none is drowned."""
    found = power_norms(matrix, 60)
    with mpmath.workdps(60):
        one = mpmath.matrix(matrix.tolist())
        for k in (1, 7, 30, 60):
            largest = mpmath.svd_r(one**k, compute_uv=False)[0]
            assert abs(float(mpmath.log(largest) - float(found.log_norm[k]))) <= found.error[k] < 1e-11


@pytest.mark.parametrize(
    "matrix, duration",
    [(np.diag(np.ones(n - 1), 1), t) for n, t in ((5, 1000.0), (8, 30.0))]
    + [(10 * np.diag(np.ones(7), 1) - np.eye(8), 20.0)],
)
def test_the_norms_of_exponentials_are_within_their_errors(matrix, duration):
    """Far from normal, small entries of e^A decide how later powers grow."""
    found = exponential_norms(matrix, duration, 10)
    with mpmath.workdps(80):
        one = mpmath.expm(mpmath.matrix(matrix.tolist()) * (mpmath.mpf(duration) / 10), method="taylor")
        power = mpmath.eye(len(matrix))
        for k in range(1, 11):
            power = power * one
            if np.isfinite(found.log_norm[k]):
                exact = mpmath.log(mpmath.svd_r(power, compute_uv=False)[0])
                assert float(abs(exact - mpmath.mpf(float(found.log_norm[k])))) <= found.error[k]
    assert np.isfinite(found.log_norm[1:]).all()


@pytest.mark.parametrize("flow", [False, True])
def test_the_kreiss_constant_stays_a_lower_bound_where_rounding_drowns_the_resolvent(flow):
    """A = (b − g) I + N, exactly in float64, N² = 0, ‖N‖ = 5: K ≤ 1 + 5/(4g), since ‖(zI − A)⁻¹‖ ≤ 1/d + 5/d²."""
    g = 2.0**-30
    matrix = [[2 - g + (not flow), 4], [-1, -2 - g + (not flow)]]
    ds = dl.pseudospectrum(dl.create("linear", matrix=matrix) if flow else LinearMap(matrix), grid=3)
    assert 1e6 < float(ds["kreiss_constant"]) <= 1 + 5 / (4 * g)


@pytest.mark.parametrize(
    "matrix, steps, sentence",
    [
        ([[1 - 1e-9, 0.0], [0.0, 0.5]], 100, "The spectral radius of the Jacobian A at 0 is 1 − 1e−09: A is stable"),
        ([[0.0, -1.0], [1.0, 0.0]], 100, "never exceeds 1"),
        ([[1e10, 1.0], [0.0, 1e-10]], 100, "grows to e^2302.6 at k = 100, the last computed"),
        ([[0.9, 4.0], [0.0, 0.9]], 5, "grows to 13.15 at k = 5, the last computed."),
        (
            [[0.9, 4.0], [0.0, 0.9]],
            60,
            "A is stable. ‖Aᵏ‖ grows to 15.51 at k = 9 before it decays. A change of norm 0.0025 can make A unstable; "
            "with orthogonal eigenvectors it would take 0.1.",
        ),
        ([[-0.9, 40.0], [0.0, 0.9]], 50, "grows to 40.02 at k = 1"),
    ],
)
def test_the_verdict(matrix, steps, sentence):
    assert sentence in dl.pseudospectrum(LinearMap(matrix), grid=3, steps=steps).attrs["verdict"]


def test_a_flow_that_grows_only_between_the_times_of_the_dataset_is_seen_to_grow():
    """The shear's norm peaks at 2.5635 at t = 0.66 s; the Dataset has 0 and 50 s."""
    ds = dl.pseudospectrum(dl.create("linear", matrix=SHEAR), grid=3, steps=1, seconds=50.0)
    t = np.linspace(0.6, 0.7, 10001)
    exact = norm_of_triangle(np.exp(-t), 10 * (np.exp(-t) - np.exp(-2 * t)), np.exp(-2 * t))
    assert float(ds["transient_growth"]) == pytest.approx(exact.max(), rel=1e-8)
    assert float(ds["transient_time"]) == pytest.approx(t[exact.argmax()], abs=1e-3)
    assert "grows to at least 2.563 at t = 0.66" in ds.attrs["verdict"]


@pytest.mark.parametrize("scale", [1e-5])
@pytest.mark.parametrize("skew", [1e3, 1e9])
def test_a_flow_is_followed_for_its_slowest_time_constants_however_skewed_it_is(skew, scale):
    """[[−1, s], [0, −2]]: e^{tA} = [[e^−t, s (e^−t − e^−2t)], [0, e^−2t]], largest, s/4, at t = ln 2."""
    ds = dl.pseudospectrum(dl.create("linear", matrix=[[-scale, skew * scale], [0, -2 * scale]]), grid=3)
    assert 8 - 1e-9 < scale * float(ds["time"][-1]) < 8 + 2 * np.log(skew)
    assert float(ds["log_power_norm"][-1]) < 0
    assert float(ds["transient_growth"]) == pytest.approx(skew / 4, rel=1e-5)
    assert scale * float(ds["transient_time"]) == pytest.approx(np.log(2), rel=1e-4)
    assert "before it decays" in ds.attrs["verdict"]
    t = scale * ds["time"].values[1:]
    exact = norm_of_triangle(np.exp(-t), skew * (np.exp(-t) - np.exp(-2 * t)), np.exp(-2 * t))
    error = np.abs(ds["log_power_norm"].values[1:] - np.log(exact))
    known = np.isfinite(error)
    assert known[0]
    assert (error[known] <= ds["log_power_norm_error"].values[1:][known] + 1e-14).all()


@pytest.mark.parametrize("size, memory, needed", [(2048, 256, "864 MiB"), (512, 40, "54 MiB")])
def test_what_needs_too_much_memory_is_refused_before_anything_is_allocated(size, memory, needed):
    with pytest.raises(UserError, match=f"{size:,} units needs about {needed}"):
        dl.pseudospectrum(LinearMap(np.eye(size, dtype=np.float32).tolist()), grid=5, max_memory=memory * 2**20)


def test_of_a_normal_matrix_the_resolvent_is_the_distance_to_the_spectrum():
    matrix = [[0.3, -0.4, 0], [0.4, 0.3, 0], [0, 0, -0.7]]
    ds = dl.pseudospectrum(LinearMap(matrix), grid=15)
    z = ds["x"].values + 1j * ds["y"].values[:, None]
    distance = np.abs(z[..., None] - np.linalg.eigvals(np.array(matrix))).min(axis=-1)
    np.testing.assert_allclose(ds["smallest_singular_value"], distance, atol=1e-13)
    border = ds["numerical_range"].values  # the triangle that the eigenvalues span
    assert border.real.min() == pytest.approx(-0.7)
    assert np.abs(border.imag).max() == pytest.approx(0.4)


def test_powers_that_rounding_drowns_are_not_reported():
    angle = 0.3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    matrix = turn @ np.array([[1e-3, 1e6], [0, 1e-3]]) @ turn.T
    found = power_norms(matrix, 12)
    with mpmath.workdps(80):
        exact = mpmath.matrix(matrix.tolist())
        logs = [float(mpmath.log(mpmath.svd_r(exact**k, compute_uv=False)[0])) for k in range(1, 13)]
    known = np.isfinite(found.log_norm[1:])
    assert not known.all()
    assert (np.abs(found.log_norm[1:] - logs)[known] <= found.error[1:][known]).all()


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"grid": 1}, "at least 2"),
        ({"grid": 5000}, "take a --grid of at most 4,096"),
        ({"max_memory": 1000.0}, "--max-memory"),
        ({"steps": 0}, "at least 1"),
        ({"extent": -1.0}, "positive"),
        ({"seconds": 1.0}, "seconds is a flow's"),
        ({"state": [1.0]}, "2 finite numbers"),
        ({"state": [np.nan, 0.0]}, "2 finite numbers"),
    ],
)
def test_bad_input(change, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.pseudospectrum(jordan(1.0), **change)


def test_a_large_stack_is_as_its_jacobian_taken_as_one_matrix():
    """264 states: by blocks, Lanczos and a coarser grid, against all singular values and eigenvalues of the whole."""
    torch.manual_seed(1)
    layers = torch.nn.LSTM(3, 44, 3)
    with torch.no_grad():
        for feed in (layers.weight_ih_l1, layers.weight_ih_l2):
            feed.mul_(8)  # a stable network that grows first
    network, n = dl.from_module(layers).double(), 264
    ds = dl.pseudospectrum(network, steps=12, at=[1.0, -1.0, 0.5])
    assert ds["smallest_singular_value"].shape == (51, 51)
    assert "The window has 51 points in each direction" in ds.attrs["verdict"]
    state, shown = torch.zeros(n, dtype=torch.float64), torch.tensor([1.0, -1.0, 0.5], dtype=torch.float64)
    matrix = torch.autograd.functional.jacobian(lambda h: network.step(h, shown, 0), state).numpy()

    def smallest(z):
        return np.linalg.svd(z * np.eye(n) - matrix, compute_uv=False)[-1]

    for row, column in ((0, 0), (25, 25), (30, 40), (50, 3)):
        exact = smallest(ds["x"].values[column] + 1j * ds["y"].values[row])
        assert float(ds["smallest_singular_value"][row, column]) == pytest.approx(exact, rel=1e-8, abs=1e-12)
    powers = [np.linalg.norm(np.linalg.matrix_power(matrix, k), 2) for k in range(13)]
    assert (np.abs(ds["log_power_norm"] - np.log(powers)) <= ds["log_power_norm_error"] + 1e-12).all()
    for number in (0, 11, 30, 40):
        turned = np.exp(-2j * np.pi * number / 60) * matrix
        support = np.linalg.eigvalsh((turned + turned.conj().T) / 2)[-1]
        touching = np.exp(-2j * np.pi * number / 60) * ds["numerical_range"].values[number]
        assert touching.real == pytest.approx(support, rel=1e-9)
    kreiss, z = float(ds["kreiss_constant"]), complex(ds["kreiss_point"])
    assert 1 < kreiss <= (abs(z) - 1) / smallest(z) * (1 + 1e-9)
    nearby = [(abs(w) - 1) / smallest(w) for w in z * np.exp(np.linspace(-0.02, 0.02, 9))]
    assert max(nearby) <= kreiss * (1 + 1e-4)


def banded(n):
    return 0.3 * (np.diag(-np.ones(n - 1), -1) + sum(np.diag(np.ones(n - k), k) for k in range(4)))


@pytest.mark.parametrize("matrix", [banded(12), np.diag([1.0, -2, 0.5]), np.eye(5, k=1), [[1, 9], [-3, 2]]])
def test_the_numerical_radius_lies_within_its_error_at_every_angle(matrix):
    A = np.array(matrix, dtype=float)
    ds = dl.pseudospectrum(LinearMap(A.tolist()), grid=3, steps=2)
    radius, error = float(ds["numerical_radius"]), float(ds["numerical_radius_error"])
    turned = [np.exp(1j * angle) * A for angle in np.linspace(0, np.pi, 1801)]
    seen = max(np.linalg.eigvalsh((each + each.conj().T) / 2)[-1] for each in turned)
    assert seen <= radius + error
    assert radius <= seen * (1 + 1e-3)
    assert error <= 2e-4 * radius


@pytest.mark.parametrize("flow", [False, True])
def test_on_a_kink_no_power_is_known(flow):
    """At 0 the map ReLU(1.5 h) has the slopes 0 and 1.5, the flow ReLU(1.5 h) − h the slopes −1 and 0.5."""
    layer = torch.nn.RNN(1, 1, nonlinearity="relu", bias=False).double()
    torch.nn.init.constant_(layer.weight_hh_l0, 1.5)
    own = Relaxing(1, 0) if flow else dl.from_module(layer)
    ds = dl.pseudospectrum(own, [0.0], grid=11)
    assert abs(1.5 - flow - ds["eigenvalue"].values[0]) <= ds["eigenvalue_error"].values[0]
    assert np.isnan(ds["log_power_norm"].values[1:]).all()
    assert "whether A is stable is undecided" in ds.attrs["verdict"]
    assert "rounding or a kink hides how far" in ds.attrs["verdict"]
    away = dl.pseudospectrum(own, [0.1], grid=11)
    assert away["log_power_norm"].values[-1] > 0
    assert "kink" not in away.attrs["verdict"]


class Relaxing(dl.Flow):
    """h' = ReLU(1.5 h) − h."""

    def velocity(self, state, input, t=0):
        return torch.relu(1.5 * state) - state


def test_the_close_up_is_of_the_same_resolvent_and_is_there_where_the_window_shows_too_little():
    ds = dl.pseudospectrum(LinearMap([[0.97, 0.1], [0.0, 0.5]]), grid=41, steps=9)
    line = np.linspace(-1, 1, ds.sizes["close_x"])
    z = complex(ds["instability_point"]) + float(ds["close_up_half_width"]) * (line + 1j * line[:, None])
    exact = np.linalg.svd(z[..., None, None] * np.eye(2) - [[0.97, 0.1], [0.0, 0.5]], compute_uv=False)[..., -1]
    np.testing.assert_allclose(ds["close_smallest_singular_value"], exact, rtol=1e-9, atol=1e-15)
    assert z.real.min() < 0.97
    assert z.real.max() > 1
    wide = dl.pseudospectrum(LinearMap([[0.5, 0.1], [0.0, 0.4]]), grid=41, steps=9)
    assert np.isnan(wide["close_up_half_width"])
    assert np.isnan(wide["close_smallest_singular_value"]).all()
    assert np.isnan(dl.pseudospectrum(LinearMap([[1.5]]), grid=5, steps=9)["instability_distance"])


def rotations(radii, angles):
    """A normal matrix whose eigenvalues are r e^(±iφ)."""
    turns = [
        r * np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for r, a in zip(radii, angles, strict=True)
    ]
    return scipy.linalg.block_diag(*turns)


@pytest.mark.parametrize("nearest", [0.3, 1e-6])
@pytest.mark.parametrize("apart", [1e-2])
def test_of_pits_almost_as_deep_beside_the_border_the_deepest_is_found(nearest, apart):
    """The distance of a normal A to the border is that of its nearest eigenvalue, among others `apart` as far off."""
    distances = nearest * (1 + apart * np.array([3, 1, 0, 2, 5, 4, 7, 6]))
    angles = np.array([0.2, 0.21, 1.2345, 1.9, 2.0, 2.7, 3.0, 0.9])
    ds = dl.pseudospectrum(LinearMap(rotations(1 - distances, angles)), grid=5, steps=2)
    assert float(ds["instability_distance"]) == pytest.approx(nearest, rel=1e-6 * apart, abs=1e-14)
    assert complex(ds["instability_point"]) == pytest.approx(np.exp(1.2345j), abs=1e-6)
