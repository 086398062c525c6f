"""A diagnostic over a run, on systems whose modulus is known at every step; what is missing is no number."""

import json

import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import io, schema
from dynlab.errors import UserError
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap

MODULI = {300: 1.5, 0: 0.5, 100: 1.0}


def linear(modulus, size=2):
    return dl.from_function(lambda h, x: modulus * h, state_size=size)


def run():
    return {step: linear(modulus) for step, modulus in MODULI.items()}


def scalar_tanh(gain):
    """h ← tanh(g h): one fixed point for g ≤ 1, three beyond, by the slope at 0."""
    return dl.from_function(lambda h, x: torch.tanh(gain * h), state_size=1)


def vanilla(weight):
    """h ← tanh(W h) with one unit."""
    system = create("vanilla", input_size=1, state_size=1).double().requires_grad_(False)
    system.W.fill_(weight)
    system.b.fill_(0.0)
    return system


def test_every_step_has_its_own_truth_in_order():
    ds = dl.over_training("spectrum", run(), np.zeros((7, 0)), times=2)
    assert ds["step"].values.tolist() == [0, 100, 300]
    assert ds["eigenvalue"].dims == ("step", "sample", "time", "mode")
    np.testing.assert_array_equal(ds["spectral_radius"].values[:, 0, 0], [0.5, 1.0, 1.5])
    assert "from 0.5 at step 0 to 1.5 at step 300" in ds.attrs["verdict"]
    gradient = dl.over_training("gradient", run(), np.zeros((7, 0)))
    np.testing.assert_allclose(gradient["log_norm"].sel(time=1)[:, 0], 6 * np.log([0.5, 1.0, 1.5]), rtol=1e-12)
    ((curve,),) = [panel["curves"] for panel in json.loads(gradient.attrs["panels"])]
    assert (curve["variable"], curve["isel"], curve["name"]) == ("log_norm", {"time": 1}, "ln ‖∂h_T/∂h_1‖₂")
    exponents = dl.over_training("lyapunov", run(), steps=50)
    np.testing.assert_allclose(exponents["exponent"].values[:, 0, 0], np.log([0.5, 1.0, 1.5]), atol=1e-14)


def test_each_part_is_what_the_diagnostic_gives_for_that_network():
    torch.manual_seed(0)
    networks = {step: dl.from_module(nn.GRU(2, 4)) for step in (1, 5)}
    inputs = np.random.default_rng(0).standard_normal((3, 9, 2))
    ds = dl.over_training("end-to-end", networks, inputs, times=3)
    for step, network in networks.items():
        alone = dl.end_to_end(network, inputs, times=3)
        for name, variable in alone.data_vars.items():
            np.testing.assert_array_equal(ds[name].sel(step=step).values, variable.values)


def test_fixed_points_that_are_not_there_are_no_numbers():
    """One below the pitchfork, three above it: at 0 the multiplier is g, at the others below 1."""
    ds = dl.over_training("fixed-points", {0: scalar_tanh(0.5), 10: scalar_tanh(2.0)}, starts=32)
    assert ds["present"].values.tolist() == [[1, 0, 0], [1, 1, 1]]
    assert np.isnan(ds["residual"].values[0, 1:]).all()
    assert np.isnan(ds["stable"].values[0, 1:]).all()  # not −1, which would say undecided
    assert np.isnan(ds["eigenvalue"].values[0, 1:]).all()
    assert ds["kind"].values[0, 1:].tolist() == ["not there", "not there"]
    assert sorted(ds["stable"].values[1].tolist()) == [0, 1, 1]
    assert abs(ds["eigenvalue"].values[0, 0, 0]) == pytest.approx(0.5)
    assert np.abs(ds["eigenvalue"].values[1]).max() == pytest.approx(2.0)
    assert "number of fixed points found goes from 1 to 3" in ds.attrs["verdict"]
    assert "present is 0" in schema.flags(ds)["residual"]
    document = io.as_document(ds)
    json.dumps(document, allow_nan=False)
    assert io.NOT_FINITE not in document["flags"].values()


def test_each_checkpoint_has_its_own_window_of_the_complex_plane():
    """[[g, 1], [0, g]]: eigenvalue g, the numerical range is the disc of radius ½ about it; unstable beyond 1."""
    run = {step: LinearMap([[g, 1.0], [0.0, g]]) for step, g in ((0, 0.25), (10, 0.75), (20, 1.25))}
    ds = dl.over_training("pseudospectrum", run, grid=5, steps=30)
    np.testing.assert_allclose(ds["spectral_radius"], [0.25, 0.75, 1.25], atol=1e-14)
    np.testing.assert_allclose(ds["numerical_abscissa"], [0.75, 1.25, 1.75], atol=1e-12)
    k = np.arange(31)
    power = [np.linalg.norm([[0.75**j, j * 0.75 ** (j - 1)], [0, 0.75**j]], 2) for j in k]
    assert ds["transient_growth"].values[1] == pytest.approx(max(power), rel=1e-12)
    assert np.isinf(ds["kreiss_constant"].values[2])
    assert schema.flags(ds)["kreiss_constant"].startswith("at step 20: inf")
    assert "x" not in ds.coords
    for step, system in run.items():
        alone = dl.pseudospectrum(system, grid=5, steps=30)
        np.testing.assert_array_equal(ds["x_at_step"].sel(step=step), alone["x"])


def test_basins_on_both_sides_of_a_pitchfork():
    """tanh(g h) of two units: all starts end at 0 below, in the four quadrants' corners above."""
    run = {
        step: dl.from_function(lambda h, x, g=g: torch.tanh(g * h), state_size=2) for step, g in ((0, 0.5), (10, 2.0))
    }
    ds = dl.over_training("basins", run, grid=10, steps=400)
    assert ds["present"].values.tolist() == [[1, 0, 0, 0], [1, 1, 1, 1]]
    np.testing.assert_array_equal(ds["share"].values, [[1, np.nan, np.nan, np.nan], [0.25] * 4])
    assert ds["attractor_class"].values[1].tolist() == ["stable fixed point"] * 4
    assert ds["basin_entropy"].values.tolist() == [0, 0]  # boxes of five starts end at the border of the quadrants
    assert "the number of attractors found goes from 1 to 4" in ds.attrs["verdict"]


def test_time_constants_of_what_decays_and_grows():
    """One mode of modulus g: −1/ln g steps, and beyond 1 doubled after ln 2/ln g."""
    ds = dl.over_training("modes", {step: linear(g, 1) for step, g in ((0, 0.5), (1, 0.8), (2, 1.5))}, starts=4)
    np.testing.assert_allclose(ds["time_constant"].values[:, 0, 0], -1 / np.log([0.5, 0.8, 1.5]), rtol=1e-12)
    np.testing.assert_allclose(ds["doubling_time"].values[2, 0, 0], np.log(2) / np.log(1.5), rtol=1e-12)


def test_where_bifurcations_lie():
    """tanh(p u h): a pitchfork where p u = 1, and none in the range of p where u is small."""
    run = {step: vanilla(u) for step, u in ((0, 0.1), (5, 0.5), (10, 0.8))}
    ds = dl.over_training("bifurcation", run, parameter="W*", lowest=0.5, highest=3.0, values=0, starts=8)
    assert ds["present"].values.tolist() == [[0], [1], [1]]
    assert ds["bifurcation_kind"].values.tolist() == [["not there"], ["pitchfork"], ["pitchfork"]]
    np.testing.assert_allclose(ds["bifurcation_parameter"].values[1:, 0], [2.0, 1.25], atol=1e-8)
    assert "the number of bifurcations found goes from 0 to 1" in ds.attrs["verdict"]


def test_the_result_survives_its_file(tmp_path):
    ds = dl.over_training("fixed-points", {0: scalar_tanh(0.5), 10: scalar_tanh(2.0)}, starts=16)
    read = io.open(io.save(ds, tmp_path / "run.nc"))
    assert set(map(str, read.dims)) <= set(schema.DIMENSIONS)
    np.testing.assert_array_equal(read["present"], ds["present"])
    np.testing.assert_array_equal(read["eigenvalue"], ds["eigenvalue"])


def test_one_that_diverges_is_flagged_at_its_step():
    grows = dl.from_function(lambda h, x: (h + 2) ** 2, state_size=1)
    ds = dl.over_training("gradient", {3: linear(0.5, 1), 8: grows}, np.zeros((30, 0)))
    assert schema.flags(ds)["log_norm"].startswith("at step 8: NaN where")
    assert np.isfinite(ds["log_norm"].values[0]).all()


@pytest.mark.parametrize(
    "networks, sentence",
    [
        ({0: linear(0.5)}, "at least two steps, got 1"),
        ({0: linear(0.5), 1: linear(0.5, size=3)}, "different lengths of mode, 2 and 3"),
    ],
)
def test_what_cannot_be_joined_is_refused(networks, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.over_training("spectrum", networks, np.zeros((4, 0)))


def test_an_unknown_diagnostic_is_suggested():
    with pytest.raises(UserError, match="did you mean 'spectrum'"):
        dl.over_training("spectrun", run(), np.zeros((4, 0)))


def test_the_sentence_names_the_exponent_and_keeps_its_hyphen():
    inputs = np.random.default_rng(0).standard_normal((3, 20, 1))
    networks = {
        k: dl.from_function(lambda h, x, g=g: g * h + x, state_size=1, input_size=1) for k, g in ((0, 0.5), (9, 0.25))
    }
    ds = dl.over_training("lyapunov", networks, inputs)
    assert "finite-time exponent Λ_1 (median) goes from −0.6931 at step 0 to −1.386 at step 9" in ds.attrs["verdict"]
