import mpmath
import numpy as np
import pytest
import threadpoolctl
import torch
from automatic import automatic_jacobian
from products import driven_by
from torch import nn

from dynlab import schema
from dynlab.diagnostics.end_to_end import end_to_end
from dynlab.diagnostics.gradient import gradient
from dynlab.diagnostics.spectrum import spectrum
from dynlab.program.differentiation import jacobian
from dynlab.systems import Euler, create, from_function
from dynlab.systems.planar import planar_system
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer
from dynlab.trajectories.simulation import simulate
from problems import LINEAR, eigenvalue_distance


@pytest.mark.parametrize("kind", LINEAR)
def test_eigenvalues_of_linear_flows(kind):
    matrix, truth = LINEAR[kind]
    system = Euler(create("linear", matrix=matrix), 0.125)
    ds = spectrum(system, np.zeros((3, 0)), times=1)
    condition = ds["condition"].values.max() if kind != "improper node" else 1e8  # (1e-16)^(1/2) of a defective pair
    tolerance = 1e-9 + 1e-15 * condition
    rates, values = ds["flow_eigenvalue"].values[0, 0], ds["eigenvalue"].values[0, 0]
    assert eigenvalue_distance(rates, truth) < tolerance
    assert values == pytest.approx(1 + 0.125 * rates, abs=1e-15)
    assert float(ds["spectral_abscissa"][0, 0]) == pytest.approx(np.real(truth).max(), abs=tolerance)
    assert float(ds["spectral_radius"][0, 0]) == pytest.approx(np.abs(1 + 0.125 * np.array(truth)).max(), abs=tolerance)
    assert (np.diff(np.abs(values)) <= 0).all()


def test_condition_and_departure_by_hand():
    # (a c; 0 b): unit eigenvectors (1, 0) and (c, b−a)/√(c²+(a−b)²), so 1/|yᴴx| = √(1 + (c/(a−b))²), for both alike
    a, b, c = 0.9, 0.4, 7.0
    ds = driven_by(spectrum, [[[[a, c], [0, b]]]])
    assert ds["condition"].values[0, 0] == pytest.approx(np.full(2, np.hypot(1, c / (a - b))), rel=1e-13)
    # JJᵀ − JᵀJ = (c², c (b−a); c (b−a), −c²)
    truth = np.sqrt(2 * c**4 + 2 * c**2 * (a - b) ** 2) / (a**2 + b**2 + c**2)
    assert float(ds["departure_from_normality"][0, 0]) == pytest.approx(truth, rel=1e-13)


def test_normal_matrices_are_well_conditioned():
    rotation = np.array([[0.6, -0.8, 0], [0.8, 0.6, 0], [0, 0, 0.5]])
    ds = driven_by(spectrum, [[rotation]])
    assert ds["eigenvalue"].values[0, 0] == pytest.approx([0.6 + 0.8j, 0.6 - 0.8j, 0.5], abs=1e-15)
    assert ds["condition"].values[0, 0] == pytest.approx(np.ones(3), abs=1e-14)
    assert float(ds["departure_from_normality"][0, 0]) < 1e-15


def test_pairs_stay_together_where_moduli_are_equal():
    block = np.array([[0.0, -1.0], [1.0, 0.0]])
    matrix = np.kron(np.eye(3), block)
    values = driven_by(spectrum, [[matrix]])["eigenvalue"].values[0, 0]
    assert values == pytest.approx([1j, -1j] * 3)
    values = driven_by(spectrum, np.random.default_rng(0).standard_normal((2, 3, 9, 9)))["eigenvalue"].values
    complex_ones = np.abs(values.imag) > 0
    first = (values.imag > 0).nonzero()
    assert (values[first[0], first[1], first[2] + 1] == values[first].conj()).all()
    assert complex_ones.sum() == 2 * len(first[0]) > 0


def test_antisymmetric_real_parts_lie_between_their_bounds():
    gamma = 0.02
    torch.manual_seed(3)
    system = create("antisymmetric", input_size=4, state_size=20, step_size=0.1, gamma=gamma)
    inputs = np.random.default_rng(0).standard_normal((2, 30, 4))
    ds = spectrum(system, inputs, times=30)
    states = [np.zeros((2, 20))]
    slopes = []
    # the flow's Jacobian is diag(1 − tanh²) M, whose slopes are found from M's diagonal −γ
    for t in range(30):
        at = torch.from_numpy(states[-1]).float(), torch.from_numpy(inputs[:, t]).float()
        with torch.no_grad():
            matrix = automatic_jacobian(system.flow, *at).dense().numpy()
            slopes.append(np.diagonal(matrix, axis1=-2, axis2=-1) / -gamma)
            states.append(system.step(*at).numpy())
    slopes = np.stack(slopes, axis=1)
    real = ds["flow_eigenvalue"].values.real
    assert (real <= -gamma * slopes.min(axis=-1, keepdims=True) + 1e-6).all()  # 1e-6: the slopes are float32's
    assert (real >= -gamma * slopes.max(axis=-1, keepdims=True) - 1e-6).all()
    assert ds["spectral_abscissa"].attrs["units"] == "1/s"


LAYERS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@pytest.mark.parametrize("kind", LAYERS)
def test_two_layers_of_torch_by_autograd(kind):
    torch.manual_seed(4)
    module = LAYERS[kind](3, 5, num_layers=2, batch_first=True).double()
    inputs = torch.randn(1, 6, 3, dtype=torch.float64)
    ds = spectrum(torch_layer(module), inputs.numpy(), times=6)
    parts = 2 if kind == "lstm" else 1

    def run(start, x):
        chunks = tuple(start.reshape(parts, 2, 1, 5))
        last = module(x, chunks if kind == "lstm" else chunks[0])[1]
        return torch.cat(last).reshape(-1) if kind == "lstm" else last.reshape(-1)

    state = torch.zeros(10 * parts, dtype=torch.float64)
    for t in range(6):
        x = inputs[:, t : t + 1]
        jacobian = torch.autograd.functional.jacobian(lambda h, x=x: run(h, x), state).numpy()
        tolerance = 1e-9 + ds["condition"].values[0, t].max() * 1e-14
        assert eigenvalue_distance(ds["eigenvalue"].values[0, t], np.linalg.eigvals(jacobian)) < tolerance
        state = run(state, x).detach()


def test_a_defective_eigenvalue_is_ill_conditioned():
    ds = driven_by(spectrum, [[[[0.5, 1.0], [0.0, 0.5]]]])
    assert (ds["condition"].values > 1e15).all()


def test_zero_and_diverged_jacobians_are_flagged():
    ds = spectrum(from_function(lambda h, x: h**3, state_size=1), np.zeros((2, 9, 0)), initial_state=[[10.0], [0.0]])
    assert np.isnan(ds["eigenvalue"].values[0, -1]).all()
    assert (ds["eigenvalue"].values[1] == 0).all()
    assert np.isnan(ds["departure_from_normality"].values[1]).all()
    assert set(schema.flags(ds)) >= {"eigenvalue", "condition", "spectral_radius", "departure_from_normality"}


def test_the_users_threads_are_left_alone():
    def threads():
        return [(pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()]

    before, torch_threads = threads(), torch.get_num_threads()
    matrices = np.random.default_rng(0).standard_normal((1, 8, 20, 20))
    for diagnostic in (spectrum, end_to_end, gradient):
        driven_by(diagnostic, matrices)
        assert (threads(), torch.get_num_threads()) == (before, torch_threads)


@pytest.mark.parametrize("gamma, decays", [(0.15, True), (0.0, False)])
def test_a_flow_is_said_to_decay_where_its_error_leaves_every_real_part_below_0(gamma, decays):
    system = planar_system([[-gamma, -2.0], [2.0, -gamma]])
    ds = spectrum(system, np.zeros((4, 0)), times=2)
    assert (ds["flow_eigenvalue"].real + ds["flow_eigenvalue_error"] < 0).all() == decays
    assert ("the flow is stable" in ds.attrs["verdict"]) == decays


def test_the_verdict():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    ds = driven_by(spectrum, [[np.diag([2.0, 0.1]), turn, np.diag([0.5, 0.2])]])
    assert ds.attrs["verdict"] == (
        "Over 3 steps, the spectral radius of ∂h_t/∂h_{t−1} is 1 in the median (range 0.5 to 2). It exceeds 1 in "
        "33.3 % of the 3 Jacobians; in 1 that is undecided."
    )


SLACK = 8  # of a bound on rounding: what it may exceed n roundings of the largest entry by


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_the_error_of_an_eigenvalue_bounds_what_rounding_does_to_it(condition, dtype):
    """Against 50 digits: the matrix as it is in float64, which float32 rounds."""
    generator = np.random.default_rng(5)
    first, second = (np.linalg.qr(part)[0] for part in generator.standard_normal((2, 6, 6)))
    vectors = first @ np.diag(np.geomspace(1, condition, 6)) @ second
    matrix = vectors @ np.diag(generator.uniform(-1, 1, 6)) @ np.linalg.inv(vectors)
    with mpmath.workdps(50):
        exact = np.array([complex(z) for z in mpmath.eig(mpmath.matrix(matrix.tolist()), left=False, right=False)])
    system = from_function(lambda h, x: h @ torch.tensor(matrix.T).to(h.dtype), state_size=6)
    ds = spectrum(system, np.zeros((1, 0)), dtype=dtype)
    found, error = ds["eigenvalue"].values[0, 0], ds["eigenvalue_error"].values[0, 0]
    assert (np.abs(found[:, None] - exact).min(axis=1) <= error).all()
    first_order = SLACK * 6 * np.finfo(dtype).eps * np.abs(matrix).max() * ds["condition"].values[0, 0]
    gap = np.sort(np.abs(found[:, None] - found), axis=1)[:, 1]
    apart = first_order < gap / 100
    assert apart.all() or condition * np.finfo(dtype).eps > 1e-11
    assert (error[apart] <= first_order[apart]).all()


def test_beyond_the_largest_number_no_jacobian_is_known():
    """h ← ReLU(1e200 h − 1) from 0.1: the third state is infinite, and its slope neither 0 nor 1e200."""
    layer = nn.RNN(1, 1, nonlinearity="relu").double()
    for weights, value in zip(layer.parameters(), (0.0, 1e200, -1.0, 0.0), strict=True):
        nn.init.constant_(weights, value)
    for system in (torch_layer(layer), from_function(lambda h, x: torch.relu(1e200 * h - 1), 1)):
        ds = spectrum(system, np.zeros((5, system.input_size)), initial_state=[0.1])
        assert np.isnan(ds["eigenvalue"].values[0, 2:]).all()
        assert "2 finite ones of 5 Jacobians" in ds.attrs["verdict"]


def test_the_error_of_a_defective_eigenvalue_is_finite():
    """W₊: to first order infinite; a double eigenvalue is known to the root of the error."""
    turned = torch.tensor([[2.96, 0.72], [-1.28, 1.04]], dtype=torch.float64)  # by an angle whose cosine is 0.8
    system = from_function(lambda h, x: h @ turned, state_size=2)
    ds = spectrum(system, np.zeros((1, 0)))
    assert (ds["eigenvalue_error"].values < 1e-5).all()
    assert (ds["eigenvalue_error"].values > 1e-9).all()


def test_a_function_whose_jacobian_is_triangular_has_its_diagonal_as_eigenvalues():
    """Its zeros are no rounding, and a double eigenvalue is as well known as the entries of the diagonal."""
    ds = spectrum(from_function(lambda h, x: h @ h.new_tensor([[2.0, 0.0], [-2.0, 2.0]]), 2), np.zeros((1, 0)))
    np.testing.assert_allclose(ds["eigenvalue"].values, 2.0, rtol=1e-14)
    assert (ds["eigenvalue_error"].values < 1e-12).all()


@pytest.mark.parametrize(
    "scale, said",
    [(1.0, "exceeds 1 in none of the 8 Jacobians; in all that is undecided"), (1 + 1e-9, "exceeds 1 in all")],
)
def test_the_verdict_counts_no_radius_that_its_error_does_not_separate_from_1(scale, said):
    rotation = scale * np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]
    system = from_function(lambda h, x: h @ h.new_tensor(rotation.T), state_size=6)
    assert said in spectrum(system, np.zeros((8, 0))).attrs["verdict"]


@pytest.mark.parametrize("excess, said", [(3e-15, "in all that is undecided"), (3e-13, "exceeds 1 in all")])
def test_what_storing_an_orthogonal_matrix_leaves_of_it_is_no_growth(excess, said):
    """The eigenvalues of a diagonal matrix are its entries; of 40 rows 40 roundings are left to storing."""
    matrix = (1 + excess) * np.diag(np.resize([1.0, -1.0], 40))
    ds = spectrum(LinearMap(matrix.tolist()), np.zeros((1, 0)))
    assert (ds["eigenvalue_error"] < 1e-14).all()
    assert said in ds.attrs["verdict"]


def test_where_the_state_is_large_fewer_steps_are_linearised_and_it_is_said(monkeypatch):
    monkeypatch.setattr("dynlab.diagnostics.spectrum.WORK", 100.0)
    shrinking = from_function(lambda h, x: h / 2, state_size=2)  # 8 for each Jacobian of each of two samples
    few = spectrum(shrinking, np.zeros((2, 20, 0)))
    assert few["time"].values.tolist() == [1, 5, 9, 12, 16, 20]
    assert "takes more than 6 of the 20 steps" in few.attrs["verdict"]
    asked = spectrum(shrinking, np.zeros((2, 20, 0)), times=6)
    assert "takes more" not in asked.attrs["verdict"]


@pytest.mark.parametrize("layers", [1, 3])
def test_the_departure_from_normality_is_that_of_the_commutator(layers):
    torch.manual_seed(layers)
    system = create("lstm", input_size=2, hidden_size=5, num_layers=layers).double()
    inputs = np.random.default_rng(0).standard_normal((2, 6, 2))
    ds = spectrum(system, inputs, times=2)
    states = simulate(system, inputs)["trajectory"]
    for sample in range(2):
        for number, step in enumerate(ds["time"].values):
            before = torch.as_tensor(states.sel(sample=sample, time=step - 1).values)
            J = jacobian(system, before, torch.as_tensor(inputs[sample, step - 1])).dense().detach().numpy()
            expected = np.linalg.norm(J @ J.T - J.T @ J) / np.linalg.norm(J) ** 2
            np.testing.assert_allclose(ds["departure_from_normality"][sample, number], expected, rtol=1e-12)


def test_without_conditions_the_eigenvalues_and_their_errors_are_the_same():
    torch.manual_seed(0)
    system = create("gru", input_size=2, hidden_size=4, num_layers=2).double()
    inputs = np.random.default_rng(0).standard_normal((2, 6, 2))
    whole, fewer = (spectrum(system, inputs, times=2, conditions=conditions) for conditions in (True, False))
    for name in ("eigenvalue", "eigenvalue_error", "spectral_radius"):
        np.testing.assert_array_equal(fewer[name], whole[name])
    assert "condition" not in fewer


@pytest.mark.parametrize("bias", [-0.1, 0.0, 0.1])
def test_a_radius_at_a_kink_or_a_jump_is_not_known(bias):
    """At rest modReLU lets nothing through below its border; if b = 0 no slope is known, if b > 0 it jumps."""
    system = create("scornn", input_size=1, state_size=2)
    with torch.no_grad():
        system.b.fill_(bias)
    ds = spectrum(system, np.array([[[0.0]] * 3 + [[2.0]] * 3]))
    assert schema.known(ds, "spectral_radius").values[0].tolist() == [bias < 0] * 3 + [True] * 3
    assert bias >= 0 or (ds["spectral_radius"].values[0, :3] == 0).all()
    assert ("50 % of the Jacobians where it is known" in ds.attrs["verdict"]) == (bias >= 0)
