import mpmath
import numpy as np
import pytest
import torch
from products import driven_by

from dynlab import schema
from dynlab.diagnostics.spectrum import spectrum
from dynlab.systems import Euler, create, from_function
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


@pytest.mark.parametrize("condition, dtype", [(1.0, "float32"), (1e6, "float64")])
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
    first_order = 8 * 6 * np.finfo(dtype).eps * np.abs(matrix).max() * ds["condition"].values[0, 0]
    gap = np.sort(np.abs(found[:, None] - found), axis=1)[:, 1]
    apart = first_order < gap / 100
    assert apart.all() or condition * np.finfo(dtype).eps > 1e-11
    assert (error[apart] <= first_order[apart]).all()


@pytest.mark.parametrize("bias", [-0.1, 0.0])
def test_a_radius_at_a_kink_is_not_known(bias):
    """At rest modReLU lets nothing through below its border; if b = 0 no slope is known."""
    system = create("scornn", input_size=1, state_size=2)
    with torch.no_grad():
        system.b.fill_(bias)
    ds = spectrum(system, np.array([[[0.0]] * 3 + [[2.0]] * 3]))
    assert schema.known(ds, "spectral_radius").values[0].tolist() == [bias < 0] * 3 + [True] * 3
    assert bias >= 0 or (ds["spectral_radius"].values[0, :3] == 0).all()
