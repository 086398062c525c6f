"""How far two networks are apart: closed forms of linear ones, copies in other bases."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.systems import from_function
from problems import made


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("delays", [1, 4])
def test_a_rotated_copy_is_at_distance_0(delays):
    system, turn = (
        made("vanilla", input_size=2, state_size=12),
        torch.from_numpy(np.linalg.qr(noise(12, 12, seed=1))[0]),
    )
    rotated = from_function(lambda h, x: system.step(h @ turn, x) @ turn.mT, 12, 2)
    ds = dl.compare(system, rotated, noise(16, 60, 2), delays=delays)
    assert float(ds["distance"]) < 1e-6  # 1e-3 is asked for; white coordinates of little variance magnify rounding
    assert float(ds["angle"]) < 1e-6
    assert float(ds["p_value"]) == 1


def test_of_scalar_linear_networks_it_is_the_difference_of_their_factors():
    one, other = (from_function(lambda h, x, a=a: a * h + x, 1, 1) for a in (0.5, 0.9))
    ds = dl.compare(one, other, noise(8, 4000, 1))
    np.testing.assert_allclose(ds["eigenvalue"].values[:, 0].real, [0.5, 0.9], atol=0.01)
    np.testing.assert_allclose(ds["distance"], 0.4, atol=0.015)
    np.testing.assert_allclose(ds["distance_bound"], ds["distance"], rtol=1e-12)
    np.testing.assert_allclose(ds["explained"], [0.25, 0.81], atol=0.02)  # of a stationary one the factor squared
    assert float(ds["p_value"]) == 1 / 128
