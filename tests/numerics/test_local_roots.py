"""Of a continuum beside roots of high order the dimension is that of the continuum alone."""

import numpy as np
import pytest
import torch

from dynlab.numerics.isolation import Equations
from dynlab.numerics.local_roots import CONTINUUM, ROOT, local_roots


def sphere(h):
    """Vanishes at 0 and on the unit sphere."""
    off = 1 - h.square().sum(-1, keepdim=True)
    eye = torch.eye(h.shape[1], dtype=h.dtype)
    return h * off / 10, (off[..., None] * eye - 2 * h[:, :, None] * h[:, None, :]) / 10


def cubes(h):
    return -(h**3), torch.diag_embed(-3 * h**2)


def layers_at_the_edge(h):
    """Vanishes at 0 alone, to the order 3ⁿ."""
    seen = h + torch.cat([torch.zeros_like(h[:, :1]), h[:, :-1]], dim=1)
    slope = 1 / torch.cosh(seen) ** 2
    below = torch.diag(torch.ones(h.shape[1] - 1, dtype=h.dtype), -1)
    return torch.tanh(seen) - h, torch.diag_embed(-(torch.tanh(seen) ** 2)) + slope[:, :, None] * below


def beside(turned, *parts):
    """What these functions of so many coordinates each are, beside one another, in other coordinates."""
    widths = [width for _, width in parts]

    def value(h, rows=None):
        split = (h @ turned).split(widths, dim=1)
        return torch.cat([f(some)[0] for (f, _), some in zip(parts, split, strict=True)], dim=1) @ turned.T

    def matrix(h, rows=None):
        split = (h @ turned).split(widths, dim=1)
        each = [f(some)[1] for (f, _), some in zip(parts, split, strict=True)]
        return turned @ torch.stack([torch.block_diag(*blocks) for blocks in zip(*each, strict=True)]) @ turned.T

    return Equations(value, matrix)


@pytest.mark.parametrize(
    "width, part, dimension",
    [(2, (cubes, 1), 1), (2, (layers_at_the_edge, 2), 1), (2, (layers_at_the_edge, 3), 1), (3, (cubes, 1), 2)],
    ids=["circle, order 3", "circle, order 9", "circle, order 27", "sphere, order 3"],
)
def test_directions_in_which_a_root_is_of_high_order_are_no_dimensions(width, part, dimension):
    generator = np.random.default_rng(dimension)
    size = width + part[1]
    turned = torch.as_tensor(np.linalg.qr(generator.standard_normal((size, size)))[0])
    on_sphere = generator.standard_normal(width)
    root = np.concatenate([on_sphere / np.linalg.norm(on_sphere), np.zeros(part[1])])
    near = local_roots(beside(turned, (sphere, width), part), turned @ torch.as_tensor(root))
    assert near.kinds == [CONTINUUM]
    assert len(near.directions) == dimension
    assert float((near.directions @ turned)[:, width:].abs().max()) < 1e-2


@pytest.mark.parametrize("layers, hidden", [(2, 0.0), (3, 0.7)])
def test_two_roots_of_high_order_side_by_side_are_one_root(layers, hidden):
    """Of order 27 f is below its rounding, and searches end, as far away as 0.7."""
    part = (layers_at_the_edge, layers)
    origin = torch.zeros(2 * layers, dtype=torch.float64)
    near = local_roots(beside(torch.eye(len(origin), dtype=torch.float64), part, part), origin)
    assert near.kinds == [ROOT]
    assert near.reach > hidden
