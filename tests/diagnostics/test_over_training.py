"""A diagnostic over a run, on systems whose modulus is known at every step; what is missing is no number."""

import numpy as np
import pytest

import dynlab as dl
from dynlab import io
from dynlab.systems.textbook import LinearMap
from problems import vanilla


def linear(modulus):
    return dl.from_function(lambda h, x: modulus * h, state_size=2)


RUN = {300: linear(1.5), 0: linear(0.5), 100: linear(1.0)}


def test_every_step_has_its_own_truth_in_order():
    ds = dl.over_training("spectrum", RUN, np.zeros((7, 0)), times=2)
    assert ds["step"].values.tolist() == [0, 100, 300]
    assert ds["eigenvalue"].dims == ("step", "sample", "time", "mode")
    np.testing.assert_array_equal(ds["spectral_radius"].values[:, 0, 0], [0.5, 1.0, 1.5])
    gradient = dl.over_training("gradient", RUN, np.zeros((7, 0)))
    np.testing.assert_allclose(gradient["log_norm"].sel(time=1)[:, 0], 6 * np.log([0.5, 1.0, 1.5]), rtol=1e-12)
    exponents = dl.over_training("lyapunov", RUN, steps=50)
    np.testing.assert_allclose(exponents["exponent"].values[:, 0, 0], np.log([0.5, 1.0, 1.5]), atol=1e-14)


def test_fixed_points_that_are_not_there_are_no_numbers():
    """One below the pitchfork, three above it: at 0 the multiplier is g, at the others below 1."""
    ds = dl.over_training("fixed-points", {0: vanilla([[0.5]]), 10: vanilla([[2.0]])}, starts=32)
    assert ds["present"].values.tolist() == [[1, 0, 0], [1, 1, 1]]
    for name in ("residual", "eigenvalue", "stable"):  # no −1, which would say undecided
        assert np.isnan(ds[name].values[0, 1:]).all()
    assert ds["kind"].values[0, 1:].tolist() == ["not there", "not there"]
    assert sorted(ds["stable"].values[1].tolist()) == [0, 1, 1]
    assert abs(ds["eigenvalue"].values[0, 0, 0]) == pytest.approx(0.5)
    assert np.abs(ds["eigenvalue"].values[1]).max() == pytest.approx(2.0)
    assert io.NOT_FINITE not in io.as_document(ds)["flags"].values()


def test_each_checkpoint_has_its_own_window_of_the_complex_plane():
    """[[g, 1], [0, g]]: eigenvalue g, the numerical range is the disc of radius ½ about it; unstable beyond 1."""
    run = {step: LinearMap([[g, 1.0], [0.0, g]]) for step, g in ((0, 0.25), (10, 0.75), (20, 1.25))}
    ds = dl.over_training("pseudospectrum", run, grid=5, steps=30)
    np.testing.assert_allclose(ds["spectral_radius"], [0.25, 0.75, 1.25], atol=1e-14)
    np.testing.assert_allclose(ds["numerical_abscissa"], [0.75, 1.25, 1.75], atol=1e-12)
    assert np.isinf(ds["kreiss_constant"].values[2])
    assert "x" not in ds.coords
    alone = [dl.pseudospectrum(system, grid=5, steps=30)["x"] for system in run.values()]
    np.testing.assert_array_equal(ds["x_at_step"], alone)
