"""Lyapunov exponents against closed forms, exact identities, published values and a computation in many digits."""

import json
import re

import mpmath
import numpy as np
import pytest
import torch
from automatic import automatic_jacobian
from products import driven_by, random_products

import problems
from dynlab import schema
from dynlab.checkpoints import from_module
from dynlab.diagnostics.covariant_vectors import covariant_vectors
from dynlab.diagnostics.eigenvalue_bounds import eigenvalue_bounds
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.numerics.frame import random_frame
from dynlab.numerics.statistics import BLOCKS, sure
from dynlab.systems import Euler, Flow, create, from_function, frozen
from dynlab.systems.planar import planar_system
from dynlab.systems.textbook import LinearMap
from dynlab.trajectories.simulation import simulate
from dynlab.wording import with_error

ROUNDING = 1e-10  # of sums of exponents, which an exact identity gives; products of condition 1e6 lose some digits

generator = np.random.default_rng


def name_of(ds):
    return "finite_time_exponent" if "finite_time_exponent" in ds else "exponent"


def mean_and_error(ds):
    """Over independent samples, whose spread tells the error of the mean without any blocks."""
    values = ds["exponent"].values
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


# --- Published values and closed forms ---
@pytest.fixture(scope="module")
def henon():
    return lyapunov(create("henon"), steps=5000, initial_state=generator(0).uniform(0, 0.1, (64, 2)))


def test_henon(henon):
    mean, error = mean_and_error(henon)
    assert error[0] < 1e-3
    assert mean[0] == pytest.approx(problems.HENON_LARGEST_EXPONENT, abs=4 * error[0] + 5e-5)  # four digits published
    np.testing.assert_allclose(henon["exponent"].sum("mode"), problems.HENON_EXPONENT_SUM, atol=ROUNDING)
    np.testing.assert_allclose(henon["running_exponent"].sum("mode"), problems.HENON_EXPONENT_SUM, atol=ROUNDING)
    dimension = 1 + problems.HENON_LARGEST_EXPONENT / (problems.HENON_LARGEST_EXPONENT - problems.HENON_EXPONENT_SUM)
    assert float(henon["kaplan_yorke_dimension"].mean()) == pytest.approx(dimension, abs=2e-3)
    np.testing.assert_array_equal(henon["positive_exponent_sum"], henon["exponent"][:, 0])
    # blocks see what the spread between independent samples is: neither far less nor far more
    assert 0.8 < float(henon["standard_error"][:, 0].mean() / henon["exponent"][:, 0].std(ddof=1)) < 2


def test_the_dimension_and_the_entropy_bound_have_errors(henon, lorenz):
    # every block of Hénon has λ₁ + λ₂ = ln b, so that D = 1 − λ₁/λ₂ has the slope (|λ₂| − λ₁)/λ₂² = −ln b/λ₂² in λ₁
    slope = -problems.HENON_EXPONENT_SUM / henon["exponent"][:, 1] ** 2
    error = sure(BLOCKS) * henon["standard_error"][:, 0]
    np.testing.assert_allclose(henon["kaplan_yorke_dimension_error"], slope * error, rtol=1e-9)
    np.testing.assert_allclose(henon["positive_exponent_sum_error"], error, rtol=1e-12)
    for name in ("kaplan_yorke_dimension", "positive_exponent_sum"):
        assert 0.8 < float(henon[f"{name}_error"].mean() / sure(BLOCKS) / henon[name].std(ddof=1)) < 2
        # blocks below 1 s see too much
        assert float(lorenz[f"{name}_error"].mean() / sure(BLOCKS) / lorenz[name].std(ddof=1)) > 0.8
    one = lyapunov(create("lorenz"), seconds=60.0, transient=5.0, initial_state=[1, 1, 20])
    error = float(one["positive_exponent_sum_error"].item())
    with_error(one["positive_exponent_sum"].item(), error, "nat/s", 2)
    assert one["positive_exponent_sum"].item() == one["exponent"][0, 0].item()
    every = lyapunov(create("logistic"), steps=2000, initial_state=[0.3])
    assert every["kaplan_yorke_dimension_error"].item() == 0  # 1 of 1 dimension
    rest = lyapunov(LinearMap([[3.0, 0.0], [0.0, 2.0]]), k=1, steps=100, initial_state=[0.0, 0.0])
    assert np.isnan(rest["kaplan_yorke_dimension_error"].item())
    assert np.isnan(rest["positive_exponent_sum_error"].item())


@pytest.mark.parametrize("steps, transient", [(1, 0), (2, 1), (7, 0), (100, 33), (1001, 1)])
def test_the_sum_is_ln_b_at_every_length(steps, transient):
    ds = lyapunov(create("henon"), steps=steps, transient=transient, initial_state=[0.1, 0.2])
    assert float(ds["exponent"].sum()) == pytest.approx(problems.HENON_EXPONENT_SUM, abs=ROUNDING)
    assert float(ds["mean_log_det"].item()) == pytest.approx(problems.HENON_EXPONENT_SUM, abs=ROUNDING)


def test_logistic():
    ds = lyapunov(create("logistic"), steps=5000, initial_state=generator(1).uniform(0.1, 0.9, (64, 1)))
    mean, error = mean_and_error(ds)
    assert error[0] < 1e-4
    assert mean[0] == pytest.approx(problems.LOGISTIC_EXPONENT, abs=4 * error[0])
    assert (ds["kaplan_yorke_dimension"] == 1).all()


@pytest.fixture(scope="module")
def lorenz():
    starts = generator(2).normal([1, 1, 20], size=(64, 3))
    return lyapunov(create("lorenz"), seconds=18.0, transient=4.0, initial_state=starts)


def test_an_orbit_that_nears_its_fixed_point_by_a_power_of_time_has_no_sign():
    # at r = 3 the multiplier is −1 and the orbit nears its end as t^{−1/2}: λ = 0, every finite mean is below
    ds = lyapunov(create("logistic", r=3.0), steps=5000, initial_state=[0.3])
    assert ds["exponent"].item() < 0
    assert ds["exponent_error"].item() > abs(ds["exponent"].item())


def test_lorenz(lorenz):
    mean, error = mean_and_error(lorenz)
    assert (error < 0.02).all()
    assert np.abs((mean - problems.LORENZ_EXPONENTS) / error).max() < 4
    np.testing.assert_allclose(lorenz["running_exponent"].sum("mode"), problems.lorenz_exponent_sum(), atol=1e-8)
    np.testing.assert_allclose(lorenz["mean_log_det"], problems.lorenz_exponent_sum(), atol=1e-8)
    assert lorenz["exponent"].attrs["units"] == schema.NAT_PER_SECOND
    assert lorenz["time"].attrs["units"] == schema.SECOND
    assert float(lorenz["kaplan_yorke_dimension"].mean()) == pytest.approx(2.062, abs=0.01)  # 2 + 0.9056 / 14.5723


@pytest.mark.parametrize("kind", problems.LINEAR)
def test_a_linear_flow_has_the_real_parts(kind):
    matrix, eigenvalues = problems.LINEAR[kind]
    ds = lyapunov(create("linear", matrix=matrix), seconds=60.0, transient=20.0)
    real = np.sort(np.real(eigenvalues))[::-1]
    # a Jordan block's vectors turn into each other like 1/t, a focus' exponents differ by at most a turn's share
    tolerance = 0.05 if kind in ("improper node", "center") else 1e-7
    np.testing.assert_allclose(ds["exponent"].values[0], real, atol=tolerance)
    assert float(ds["exponent"].sum()) == pytest.approx(np.sum(real), abs=1e-8)


def test_a_linear_map_has_the_logarithms_of_the_moduli():
    random = generator(3)
    vectors = random.standard_normal((6, 6))
    moduli = np.array([1.3, 1.05, 0.9, 0.5, 0.2, 0.01])
    matrix = vectors @ np.diag(moduli * [1, -1, 1, 1, -1, 1]) @ np.linalg.inv(vectors)
    ds = lyapunov(LinearMap(matrix.tolist()), steps=1000, transient=600)
    np.testing.assert_allclose(ds["exponent"].values[0], np.log(moduli), atol=1e-8)
    assert (np.abs(ds["exponent"][0] - np.log(moduli)) <= ds["rounding_bound"][0] + 1e-12).all()


def test_an_orthogonal_map_has_none_but_zeros_and_a_full_dimension():
    matrix = np.linalg.qr(generator(4).standard_normal((8, 8)))[0]
    ds = lyapunov(LinearMap(matrix.tolist()), steps=2000)
    np.testing.assert_allclose(ds["exponent"], 0, atol=1e-15)
    assert ds["kaplan_yorke_dimension"].item() == 8
    assert ds["positive_exponent_sum"].item() == 0
    # nothing blurs an orthogonal frame: it is made orthonormal again where its growth is noted, no more often


# --- Products of chosen matrices ---
@pytest.mark.parametrize("kind", ["random", "recurrent", "euler", "gated"])
@pytest.mark.parametrize("steps, transient", [(1, 0), (3, 2), (17, 5), (50, 0)])
def test_the_sum_is_the_mean_of_ln_det_at_every_length(kind, steps, transient):
    matrices = random_products(kind, 3)[:, :steps]
    ds = driven_by(lyapunov, matrices, transient=transient)
    expected = np.linalg.slogdet(matrices[:, transient:]).logabsdet.mean(axis=1)
    np.testing.assert_allclose(ds[name_of(ds)].sum("mode"), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ds["mean_log_det"], expected, rtol=1e-12)


def in_many_digits(matrices, transient, transposed=False):
    """Modified Gram–Schmidt at every step in 40 digits, begun with the axes."""
    n = len(matrices[0])
    with mpmath.workdps(40):
        Q, sums = [mpmath.matrix([int(i == j) for i in range(n)]) for j in range(n)], [mpmath.mpf(0)] * n
        for t, matrix in enumerate(matrices):
            J = mpmath.matrix((matrix.T if transposed else matrix).tolist())
            Q = [J * q for q in Q]
            for j in range(n):
                for i in range(j):
                    Q[j] = Q[j] - (Q[i].T * Q[j])[0] * Q[i]
                length = mpmath.norm(Q[j])
                Q[j] = Q[j] / length
                sums[j] += mpmath.log(length) if t >= transient else 0
        return np.array([float(each) for each in sums]) / (len(matrices) - transient)


@pytest.fixture(scope="module")
def long_product():
    random = generator(5)
    slopes = 1 - np.tanh(2 * random.standard_normal((400, 5))) ** 2
    return slopes[..., None] * (random.standard_normal((5, 5)) + 0.5 * np.eye(5))


def test_an_independent_computation_in_many_digits(long_product):
    ds = driven_by(lyapunov, long_product[None], transient=250)
    # after 250 steps frames that began elsewhere agree
    expected = np.sort(in_many_digits(long_product, 250))[::-1]
    found = ds["finite_time_exponent"].values[0]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert float(ds["rounding_bound"].max()) < 1e-5


def test_transposes_in_forward_time_are_another_product(long_product):
    wrong = np.sort(in_many_digits(long_product, 250, transposed=True))[::-1]
    right = driven_by(lyapunov, long_product[None], transient=250)["finite_time_exponent"].values[0]
    assert np.abs(wrong - right).max() > 0.02


def test_the_first_k_are_those_of_all(long_product):
    every = driven_by(lyapunov, long_product[None], transient=250)["finite_time_exponent"].values
    some = driven_by(lyapunov, long_product[None], transient=250, k=2, seed=7)["finite_time_exponent"].values
    np.testing.assert_allclose(some, every[:, :2], atol=1e-9)


# --- Singular Jacobians ---
def test_a_dimension_that_is_lost_is_minus_infinity_and_flagged():
    matrices = generator(6).standard_normal((2, 300, 4, 4))
    matrices[0, 200, 1] = 0  # a row of zeros: one dimension is gone
    matrices[0, 250, :, 2] = 0  # a column of zeros: generically it hits a dimension that is left
    ds = driven_by(lyapunov, matrices, transient=10)
    assert np.isneginf(ds["finite_time_exponent"]).sum("mode").values.tolist() == [1, 0]
    assert np.isneginf(ds["mean_log_det"]).values.tolist() == [True, False]
    assert "singular" in schema.flags(ds)["finite_time_exponent"]
    before = lyapunov_of_the_first(matrices[:1], 200)
    np.testing.assert_allclose(
        ds["running_exponent"].sel(time=before["time"][-1])[0], before["running_exponent"][0, -1]
    )


def lyapunov_of_the_first(matrices, steps):
    """The same with the stops of the longer one: 64 of 290 steps, up to the last one at or before `steps`."""
    ds = driven_by(lyapunov, matrices[:, :steps], transient=10)
    longer = 10 + np.round(np.linspace(0, 290, 65)).astype(int)
    common = np.intersect1d(ds["time"].values, longer)
    return ds.sel(time=common)


@pytest.mark.parametrize("active", [1, 3, 5])
def test_relu_leaves_as_many_dimensions_as_units_are_active(active):
    random = generator(7)
    masks = np.zeros((1, 40, 6))
    for t in range(40):
        masks[0, t, random.permutation(6)[: active + (t % 2 if active < 5 else 0)]] = 1
    ds = driven_by(lyapunov, masks[..., None] * random.standard_normal((6, 6)), transient=0)
    assert int(np.isfinite(ds["finite_time_exponent"]).sum()) == active


@pytest.mark.parametrize("small", [1e-100, 1e-200])
def test_a_dimension_that_underflows_in_a_product_is_not_gone(small):
    ds = lyapunov(LinearMap(np.diag([10, 1, small])), steps=300, initial_state=[0, 0, 0.1])
    assert ds["exponent"].values[0, :2] == pytest.approx([np.log(10), 0], abs=1e-9)
    assert not np.isneginf(ds["exponent"]).any()  # its exponent is ln small


def test_what_rounding_drowns_is_not_known_and_not_minus_infinity():
    u, v = generator(8).standard_normal((2, 5, 2))
    ds = driven_by(lyapunov, np.tile(u @ v.T, (1, 100, 1, 1)), transient=40)  # of rank 2, to rounding
    exponent = ds["exponent"].values[0]
    np.testing.assert_allclose(exponent[:2], np.log(np.sort(np.abs(np.linalg.eigvals(v.T @ u)))[::-1]), atol=1e-6)
    assert np.isnan(exponent[2:]).all()
    assert "rounding drowns" in schema.flags(ds)["exponent"]


def test_a_map_to_zero():
    ds = lyapunov(from_function(lambda h, x: 0 * h, state_size=2), steps=20)
    assert np.isneginf(ds["exponent"]).all()
    assert ds["kaplan_yorke_dimension"].item() == 0
    assert ds["positive_exponent_sum"].item() == 0


# --- Orbits that run away ---
def test_a_diverging_orbit_is_cut_and_flagged_and_the_others_stay():
    ds = lyapunov(create("henon"), steps=500, initial_state=[[0.1, 0.1], [3.0, 3.0]])
    alone = lyapunov(create("henon"), steps=500, initial_state=[0.1, 0.1])
    np.testing.assert_allclose(ds["exponent"][0], alone["exponent"][0], atol=1e-10)
    assert np.isnan(ds["exponent"][1]).all()
    assert "leaves |h_i| ≤ 1e+08, the first at step 4, and is cut there" in schema.flags(ds)["exponent"]
    lyapunov(create("henon"), steps=500, initial_state=[3.0, 3.0])


class RunsOut(Flow):
    """h' = −1 − 0 √(h − a): h(t) = h₀ − t, and no velocity below a."""

    def __init__(self, least: float) -> None:
        super().__init__(1, 0)
        self.least = least

    def velocity(self, state, input, t=0):
        return -1 - 0 * torch.sqrt(state - self.least)


@pytest.mark.parametrize("diagnostic", [lyapunov, covariant_vectors])
def test_an_orbit_that_becomes_no_number_is_not_said_to_leave(diagnostic):
    """√(h − 0.1): of h = 0.05 there is none, and from 0.7 it goes to the root ½ + √0.15."""
    root = from_function(lambda h, x: torch.sqrt(h - 0.1), state_size=1)
    diagnostic(root, steps=100, initial_state=[0.05]).attrs["verdict"]
    diagnostic(root, steps=100, initial_state=[[0.05], [0.7]])
    from_function(lambda h, x: torch.sqrt(h.abs()) * (h > 1), state_size=1)  # 0 has no derivative by torch
    fork = from_function(lambda h, x: torch.where(h > 0, 3 * h, torch.sqrt(h)), state_size=1)
    diagnostic(fork, steps=100, initial_state=[[1.0], [-1.0]]).attrs["verdict"]


@pytest.mark.parametrize("least", [0.5, 2.0])
def test_a_flow_that_becomes_no_number_is_not_said_to_leave(least):
    lyapunov(RunsOut(least), seconds=1.0, initial_state=[1.0])
    some = lyapunov(RunsOut(least), seconds=1.0, initial_state=[[1.0], [1e3]])
    assert float(some["exponent"][1, 0]) == 0


def test_what_was_measured_before_the_cut_is_kept():
    system = create("linear", matrix=[[0.5, 0], [0, -1]])
    for ds in (
        lyapunov(system, seconds=40.0, transient=5.0, initial_state=[1.0, 1.0], largest_state=1e6),
        lyapunov(Euler(system, 0.5), steps=100, transient=10, initial_state=[1.0, 1.0], largest_state=1e6),
    ):
        running = ds["running_exponent"].values[0, :, 0]
        cut = float(re.findall(r", at (?:step )?([\d.]+)", schema.flags(ds)["exponent"])[0])
        step = {"s": 1.0, "step": 0.5}[ds["time"].attrs["units"]]
        known = np.isfinite(running)
        assert ds["time"].values[known].max() <= cut
        rate = 0.5 if step == 1.0 else np.log(1.25)
        assert cut == pytest.approx(np.log(1e6) / rate, abs=1.01)  # |h| = e^{rate t}
        assert running[known][-1] == pytest.approx(rate, rel=0.01)
        assert np.isnan(ds["exponent"]).all()


class BlowUp(Flow):
    """h' = h², which is 1/(1 − t) from h = 1: it ends at t = 1."""

    def velocity(self, state, input, t=0):
        return state.square()


def test_a_solution_that_ends_in_finite_time():
    ds = lyapunov(BlowUp(1, 0), seconds=2.0, initial_state=[[1.0], [-1.0]])
    assert np.isnan(ds["exponent"].values).ravel().tolist() == [True, False]
    # from −1 the solution is −1/(1 + t), so the mean of 2 h over 0.2 … 2 s is −2 ln(3 / 1.2) / 1.8
    assert ds["exponent"].values[1, 0] == pytest.approx(-2 * np.log(3 / 1.2) / 1.8, abs=1e-8)


# --- Driven networks ---
def network(gain, size=20):
    torch.manual_seed(0)
    system = create("vanilla", input_size=1, state_size=size).double()
    state = {name: value.clone() for name, value in system.state_dict().items()}
    random = torch.from_numpy(generator(9).standard_normal((size, size))) * gain / np.sqrt(size)
    square = [name for name, value in state.items() if value.shape == (size, size)]
    assert len(square) == 1
    system.load_state_dict(state | {square[0]: random})
    return system


@pytest.mark.parametrize("gain, outcome", [(0.5, "meet"), (4.0, "stay apart")])
def test_the_separation_of_two_orbits_has_the_largest_conditional_exponent(gain, outcome):
    inputs = 0.1 * generator(10).standard_normal((3, 400, 1))
    ds = lyapunov(network(gain), inputs, transient=200)
    assert (ds["echo_state"] == outcome).all()
    # no Jacobian is used for the one, no second orbit for the other; both directions have aligned
    np.testing.assert_allclose(ds["separation_rate"], ds["finite_time_exponent"][:, 0], atol=2e-4)
    single = lyapunov(network(gain), inputs, transient=200, dtype="float32")["separation_rate"]
    # a chaotic orbit in float32 is another one: means over 600 steps each differ by some 0.017
    np.testing.assert_allclose(single.mean(), ds["separation_rate"].mean(), atol=0.07)
    assert np.sign(ds["separation_rate"][0]) == (1 if outcome == "stay apart" else -1)


def test_short_driven_sequences_have_finite_time_exponents_with_errors_between_samples():
    inputs = generator(11).standard_normal((5, 100, 1))
    ds = lyapunov(network(1.0), inputs, k=3)
    values = ds["finite_time_exponent"].values
    np.testing.assert_allclose(ds["standard_error"], np.tile(values.std(axis=0, ddof=1), (5, 1)), rtol=1e-12)
    assert json.loads(ds.attrs["settings"])["transient"] == 10
    assert ds["time"].values[-1] == 100
    one = lyapunov(network(1.0), inputs[:1], k=3)
    assert np.isnan(one["standard_error"]).all()
    long = lyapunov(network(1.0), generator(12).standard_normal((1200, 1)), k=3)
    assert np.isfinite(long["exponent"]).all()
    constant = lyapunov(network(1.0), np.full((100, 1), 0.3), k=3)
    assert "exponent" in constant
    assert "echo_state" not in constant


def test_a_frame_that_has_not_aligned_is_part_of_the_error():
    # Re λ lies within 0.01 of 0: over 60 steps no direction outgrows another, and every frame has its own numbers
    torch.manual_seed(0)
    system = create("antisymmetric", input_size=3, state_size=12, step_size=0.1).double()
    inputs = generator(13).standard_normal((4, 60, 3))
    found = []
    for k, seed in ((1, 0), (1, 1), (4, 0), (12, 0), (12, 3)):
        ds = lyapunov(system, inputs, k=k, seed=seed)
        found.append((ds["mean_exponent"][0].item(), ds["mean_exponent_error"][0].item()))
    low, high = max(value - error for value, error in found), min(value + error for value, error in found)
    assert low <= high  # one number that all of them allow
    assert max(value for value, _ in found) - min(value for value, _ in found) > 5e-4
    # one exponent is one number, however many are asked for
    assert found[0][0] == pytest.approx(found[2][0], abs=1e-12)
    assert found[0] == pytest.approx(found[3], abs=1e-12)
    aligned = lyapunov(network(0.5), inputs[..., :1], transient=40, k=1)
    assert aligned["alignment_error"].max() < 0.05 * abs(aligned["finite_time_exponent"].mean())


# --- Fast ways against QR at every step ---
def qr_at_every_step(system, inputs, k, transient):
    """The same finite-time exponents along the same orbit, by dense Jacobians and LAPACK's QR at every step."""
    states = torch.from_numpy(simulate(system, inputs)["trajectory"].values)
    system, inputs = frozen(system), torch.from_numpy(inputs)
    frame = random_frame(1, system.state_size, k, 0)[0]
    found = np.zeros((len(inputs), k))
    steps = torch.arange(inputs.shape[1])
    jacobians = automatic_jacobian(system, states[:, : len(steps)], inputs, steps).dense().numpy()
    for sample in range(len(inputs)):
        Q = frame
        for t in range(inputs.shape[1]):
            Q, R = np.linalg.qr(jacobians[sample, t] @ Q)
            found[sample] += np.log(np.abs(np.diag(R))) * (t >= transient)
    return found / (inputs.shape[1] - transient)


def told(truth, k):
    """The k exponents that are told of those of a larger frame: the first, and the largest means of the others."""
    if truth.shape[1] == k:
        return truth
    mean = np.ma.masked_invalid(truth[:, 1:]).mean(axis=0).filled(-np.inf)
    return truth[:, [0, *1 + np.argsort(-mean, kind="stable")]][:, :k]


@pytest.mark.parametrize(
    "kind, settings, k, gain",
    [
        ("rnn", {"hidden_size": 12}, 12, 8.0),
        ("rnn", {"hidden_size": 140}, 5, 1.0),
        ("gru", {"hidden_size": 70, "num_layers": 2}, 6, 0.5),
        ("lstm", {"hidden_size": 24, "num_layers": 3}, 7, 8.0),
        ("antisymmetric", {"state_size": 150, "step_size": 0.1}, 4, 1.0),
    ],
)
def test_exponents_are_those_of_qr_at_every_step(kind, settings, k, gain):
    torch.manual_seed(11)
    system = create(kind, input_size=2, **settings).double()
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.mul_(gain)
    inputs = generator(3).standard_normal((2, 40, 2))
    ds = lyapunov(system, inputs, k=k, transient=4)
    truth = told(qr_at_every_step(system, inputs, min(k + 3, system.state_size), 4), k)
    known = np.isfinite(ds["finite_time_exponent"].values)
    off = np.where(known, np.abs(ds["finite_time_exponent"].values - truth), 0)
    assert known[:, 0].all()
    assert (off <= 1e-6).all()
    assert (off <= ds["rounding_bound"].fillna(0) + ROUNDING).all()


def test_of_many_exponents_the_first_ten():
    system = create("rnn", input_size=1, hidden_size=130)
    inputs = generator(3).standard_normal((2, 12, 1))
    ds = lyapunov(system, inputs)
    assert ds.sizes["mode"] == 10
    assert np.isnan(ds["mean_log_det"].values).all()
    assert "determinant" in schema.flags(ds)["mean_log_det"]
    assert (np.diff(ds["mean_exponent"].values[1:]) <= 0).all()
    every = lyapunov(system, inputs, k=130)
    assert every["finite_time_exponent"].values.sum(axis=1) == pytest.approx(every["mean_log_det"].values, rel=1e-9)
    carried = told(every["finite_time_exponent"].values[:, :13], 10)
    assert carried == pytest.approx(ds["finite_time_exponent"].values, abs=1e-7)


def test_k_too_small_for_the_dimension_and_the_entropy():
    system = LinearMap(np.diag([2.0, 1.5, 0.1]).tolist())
    ds = lyapunov(system, steps=200, k=2)
    assert np.isnan(ds["kaplan_yorke_dimension"].item())
    assert np.isnan(ds["positive_exponent_sum"].item())
    every = lyapunov(system, steps=200)
    assert every["kaplan_yorke_dimension"].item() == pytest.approx(2 + np.log(3) / np.log(10))
    assert every["positive_exponent_sum"].item() == pytest.approx(np.log(3))


@pytest.mark.parametrize(
    "system, inputs, settings, sentence",
    [
        ("henon", None, {"k": 3}, "from 1 to the state's 2 dimensions, got 3"),
        ("henon", None, {"k": 0}, "from 1 to the state's 2 dimensions, got 0"),
        ("henon", None, {"k": 1.5}, "k must be a whole number or none, got 1.5"),
        ("henon", None, {"steps": 0}, "steps= is the length"),
        ("henon", None, {"steps": 1.5}, "steps must be a whole number or none, got 1.5"),
        ("henon", None, {"steps": 10, "transient": 10}, "from 0 to below that, got 10"),
        ("henon", None, {"steps": 10, "transient": -1}, "from 0 to below that, got -1"),
        ("henon", None, {"steps": 10, "transient": 1.5}, "whole number of steps"),
        ("henon", None, {"seconds": 10.0}, "seconds= is for a Flow"),
        ("henon", np.zeros((5, 0)), {"steps": 10}, "Give inputs"),
        ("henon", None, {"largest_state": 0.0}, "must be positive"),
        ("lorenz", np.zeros((5, 0)), {}, "A flow is solved without input"),
        ("lorenz", None, {"steps": 10}, "A flow is solved without input"),
        ("lorenz", None, {"seconds": float("inf")}, "seconds= is the length"),
        ("lorenz", None, {"initial_state": [0.0, 1.0]}, "initial state"),
    ],
)
def test_bad_input_is_one_sentence(system, inputs, settings, sentence):
    with pytest.raises(UserError, match=r"^[^\n]*$") as raised:
        lyapunov(create(system), inputs, **settings)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("k", [2, 5, 11])
def test_some_exponents_are_in_decreasing_order_and_the_last_of_them_too(k):
    """Of a map with alike exponents, whose frame takes long to tell them apart."""
    torch.manual_seed(3)
    system = from_module(torch.nn.GRU(2, 12))
    inputs = generator(3).standard_normal((4, 40, 2))
    ds, first = lyapunov(system, inputs, k=k), lyapunov(system, inputs, k=1)
    mean = ds["mean_exponent"].values
    assert mean.shape == (k,)
    assert (np.diff(mean[1:]) <= 0).all()
    assert mean[0] == pytest.approx(first["mean_exponent"].item(), abs=1e-12)
    assert ds["alignment_error"].shape == (4, k)
    np.testing.assert_allclose(ds["running_exponent"][:, -1], ds["finite_time_exponent"], rtol=1e-15)


# --- Motion whose exponents are 0, and starts that share their drift ---
def shear(starts):
    return LinearMap([[1.0, 1.0], [0.0, 1.0]]), {"steps": 2000, "initial_state": np.zeros((starts, 2))}


def saturating(starts):
    system = from_function(lambda h, x: torch.tanh(h), state_size=1)
    return system, {"steps": 2000, "initial_state": np.linspace(0.1, 0.9, starts)[:, None]}


def doubling(starts):
    return create("logistic", r=3.0), {"steps": 2000, "initial_state": np.linspace(0.1, 0.9, starts)[:, None]}


@pytest.mark.parametrize("case", [shear, saturating, doubling])
@pytest.mark.parametrize("starts", [1, 9])
def test_a_power_of_time_has_no_sign_however_many_orbits_share_it(case, starts):
    system, measure = case(starts)
    ds = lyapunov(system, **measure)
    assert (np.abs(ds["mean_exponent"]) <= ds["mean_exponent_error"]).all()
    assert (np.abs(ds["exponent"]) <= ds["exponent_error"]).all()
    inputs = np.zeros((2000, 0))
    bounds = eigenvalue_bounds(system, inputs, max_exponent=0.0, initial_state=measure["initial_state"])
    assert bounds["outcome"].values.tolist() == ["at the bound"]


def test_the_flow_of_a_center_is_not_chaos():
    ds = lyapunov(planar_system(planar_matrix("zero"), "flow"), seconds=50, initial_state=[0.5, 0.5])
    assert (np.abs(ds["exponent"]) <= ds["exponent_error"]).all()


def test_independent_orbits_average_out_and_one_orbit_many_times_does_not():
    starts = generator(14).uniform(0.1, 0.9, (16, 1))
    one, many, same = (
        lyapunov(create("logistic"), steps=2000, initial_state=each)["mean_exponent_error"][0].item()
        for each in (starts[:1], starts, np.repeat(starts[:1], 16, axis=0))
    )
    assert many < one / 2
    assert same == pytest.approx(one, rel=1e-6)


# --- Where an orbit without input goes ---
def tanh_network(matrix):
    weights = torch.tensor(matrix, dtype=torch.float64)
    return from_function(lambda h, x: torch.tanh(h @ weights.mT), state_size=len(matrix), input_size=1)


@pytest.mark.parametrize("inputs", [None, np.zeros((600, 1)), np.zeros((2, 600, 1))])
def test_an_orbit_without_input_leaves_the_unstable_fixed_point_at_0(inputs):
    system = tanh_network([[1.5, 0.2], [0.0, 0.5]])
    ds = lyapunov(system, inputs, steps=600 if inputs is None else None)
    point = 0.858559  # h = tanh(1.5 h), by bisection; the second unit's orbit decays
    off = np.abs(ds["exponent"][0] - np.log([0.5, 1.5 * (1 - point**2)]))
    assert (off <= ds["exponent_error"][0] + 1e-5).all()
    assert (off < 1e-4).all()


def test_a_start_at_an_unstable_fixed_point_is_respected_and_said_first():
    system = tanh_network([[1.5, 0.2], [0.0, 0.5]])
    ds = lyapunov(system, np.zeros((600, 1)), initial_state=[0.0, 0.0])
    np.testing.assert_allclose(ds["exponent"][0], np.log([1.5, 0.5]), atol=1e-9)
    lyapunov(system, np.zeros((600, 1)), initial_state=[[0.0, 0.0], [0.3, 0.1]])


@pytest.mark.parametrize("ahead, behind, rate", [(0.5, 1.7, 0.5), (0.8, 1.3, 0.5), (0.6, 1.5, 0.3)])
@pytest.mark.parametrize("steps", [10_000, 30_000])
def test_an_orbit_that_came_to_a_saddle_has_not_its_exponents(ahead, behind, rate, steps):
    """May and Leonard's cycle of saddles, whose multipliers are e^(r(1 − a)), e^(r(1 − b)) and 1 − r."""
    competition = torch.tensor([[1, ahead, behind], [behind, 1, ahead], [ahead, behind, 1]], dtype=torch.float64)
    system = from_function(lambda h, x: h * torch.exp(rate * (1 - h @ competition.T.to(h))), state_size=3)
    ds = lyapunov(system, initial_state=[0.3, 0.4, 0.5], steps=steps)
    _verdict, own = ds.attrs["verdict"], rate * (1 - ahead)
    assert abs(ds["exponent"][0, 0] - own) <= ds["exponent_error"][0, 0] + 1e-9
    # exponents decrease within their errors
    assert (np.diff(ds["exponent"][0]) <= ds["exponent_error"][0, :-1] + 1e-12).all()


def test_a_system_that_runs_away_from_a_random_start_is_measured_at_0():
    ds = lyapunov(LinearMap([[3.0, 0.0], [0.0, 2.0]]), steps=100)
    assert (np.abs(ds["exponent"][0] - np.log([3, 2])) <= ds["exponent_error"][0]).all()
    np.testing.assert_allclose(ds["exponent"][0], np.log([3, 2]), atol=1e-4)


def test_one_exponent_is_one_number():
    """All exponents, one of them, and the bound that `check` holds the network to, along the same inputs."""
    torch.manual_seed(0)
    system = create("antisymmetric", input_size=3, state_size=12, step_size=0.1).double()
    inputs = generator(15).standard_normal((6, 80, 3))
    every, first = lyapunov(system, inputs), lyapunov(system, inputs, k=1)
    bounds = eigenvalue_bounds(system, inputs, max_exponent=0.0)
    numbers = [(ds["mean_exponent"][0].item(), ds["mean_exponent_error"][0].item()) for ds in (every, first)]
    numbers.append((bounds["measured"].item(), bounds["error"].item()))
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-6)
    assert numbers[2] == numbers[1]


def test_samples_on_two_attractors_have_no_exponent_in_common():
    def tent_or_rest(h, x):
        tent = 1.9 * torch.where(h < 0.5, h, 1 - h).clamp_min(1e-3)
        return torch.where(h > 0, tent, 0.1 * h - 0.1)

    ds = lyapunov(from_function(tent_or_rest, state_size=1), steps=2000, initial_state=[[0.3], [-0.5]])
    np.testing.assert_allclose(ds["exponent"].values[:, 0], np.log([1.9, 0.1]), atol=1e-12)
    reach = ds["mean_exponent_error"].values[0]
    assert (np.abs(ds["exponent"].values[:, 0] - ds["mean_exponent"].values[0]) <= reach * (1 + 1e-12)).all()


def test_an_error_just_above_the_rounding_changes_the_interval_by_a_finite_factor():
    """diag(100, 1e-100) along its second axis: the first exponent is ln 100."""
    A = torch.tensor([[1e2, 0.0], [0.0, 1e-100]], dtype=torch.float64)
    ds = lyapunov(from_function(lambda h, x: h @ A.T, state_size=2), steps=100, initial_state=[0.0, 1.0])
    assert float(ds["exponent"][0, 0]) == pytest.approx(np.log(100), abs=1e-12)


@pytest.mark.parametrize("steps, off", [(1200, 0.01), (2000, 0.01)])
def test_exponents_that_lie_dense_are_within_errors_that_count_how_long_a_frame_turns(steps, off):
    """−0.1 to −0.6 in 160 equal parts: neighbours are told apart after a thousand steps at the earliest."""
    n, true, outside = 160, -np.linspace(0.1, 0.6, 160), []
    for seed in range(8):
        basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
        ds = lyapunov(LinearMap((basis * np.exp(true) @ basis.T).tolist()), steps=steps, k=10, seed=seed)
        outside += (np.abs(ds["exponent"].values[0] - true[:10]) > ds["exponent_error"].values[0]).tolist()
        assert float(ds["exponent_error"].max()) < off
    assert np.mean(outside) <= 0.025  # at most 2 of 80


def test_the_end_at_a_cycle_has_the_exponents_of_its_multipliers():
    """The logistic map at r = 3.5 has a stable cycle of period 4."""
    h = 0.3
    for _ in range(20_000):
        h = 3.5 * h * (1 - h)
    multiplier = 1.0
    for _ in range(4):
        multiplier *= 3.5 * (1 - 2 * h)
        h = 3.5 * h * (1 - h)
    ds = lyapunov(create("logistic", r=3.5), steps=2000, initial_state=[0.5])
    assert ds["exponent"].item() == pytest.approx(np.log(abs(multiplier)) / 4, abs=1e-12)
    assert ds["exponent_error"].item() < 1e-12
    assert "cycle of period 4" in ds.attrs["verdict"]


def test_an_unstable_fixed_point_has_its_own_exponents():
    system = tanh_network([[1.5, 0.2], [0.0, 0.5]])
    ds = lyapunov(system, np.zeros((600, 1)), initial_state=[0.0, 0.0])
    np.testing.assert_allclose(ds["exponent"][0], np.log([1.5, 0.5]), atol=1e-12)
    assert "unstable fixed point at 0" in ds.attrs["verdict"]


def test_a_flows_zero_exponent_is_its_own_direction():
    ds = lyapunov(create("lorenz"), seconds=60.0, transient=5.0, initial_state=[1, 1, 20])
    assert "Λ₂ is 0 (the flow's own direction)" in ds.attrs["verdict"]


def test_a_tail_that_rounding_hides_behind_a_negative_exponent_is_negative():
    u, v = generator(8).standard_normal((2, 5, 2))
    matrix = u @ v.T
    matrix *= 0.5 / np.abs(np.linalg.eigvals(matrix)).max()
    ds = driven_by(lyapunov, np.tile(matrix, (1, 100, 1, 1)), transient=40)
    assert "5 are negative" in ds.attrs["verdict"]


def test_nothing_is_said_round_a_missing_number():
    """Every unit of a ReLU network at W = 1 is off once in most sequences: exponents are −∞ in those."""
    network = torch.nn.RNN(1, 2, nonlinearity="relu", bias=False).double()
    with torch.no_grad():
        network.weight_hh_l0.copy_(torch.eye(2))
        network.weight_ih_l0.fill_(1.0)
    ds = lyapunov(from_module(network), generator(0).standard_normal((16, 200, 1)))
    assert "not known" not in ds.attrs["verdict"]
    assert "nan" not in ds.attrs["verdict"]
