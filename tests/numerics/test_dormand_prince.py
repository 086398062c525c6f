"""Adaptive steps of many solutions at once against closed forms, whatever the unit of time."""

import numpy as np
import pytest
import torch

from dynlab.numerics import dormand_prince


@pytest.mark.parametrize("speed", [1e-3, 1.0, 1e3])
def test_harmonic_oscillators_keep_their_radius_and_their_extrema_are_it(speed):
    matrix = speed * torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    states = torch.tensor([[1.0, 0.0], [0.0, 3.0]], dtype=torch.float64)

    def field(h):
        return h @ matrix.T

    solutions = dormand_prince.begin(field, states, matrix.expand(2, 2, 2))
    tops = []
    for _ in range(200):
        solutions, top = dormand_prince.step(field, torch.ones(2, dtype=torch.float64), solutions)
        tops.append(top)
    np.testing.assert_allclose(solutions[0].norm(dim=-1), [1.0, 3.0], rtol=1e-4)
    found = torch.stack(tops).abs()
    assert torch.isfinite(found).any(dim=0).all()
    for number, radius in enumerate((1.0, 3.0)):
        each = found[:, number]
        np.testing.assert_allclose(each[torch.isfinite(each)], radius, rtol=1e-3)


def test_the_extremum_of_a_cubic_is_exact():
    # y = s − 2 s³/3 on [0, 1] has its maximum at √½
    first, slope = torch.zeros(1), torch.ones(1)
    top = dormand_prince.extremum(first, first + 1 / 3, slope, slope - 2)
    assert top.item() == pytest.approx(np.sqrt(0.5) * 2 / 3, abs=1e-6)
