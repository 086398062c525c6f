"""Proofs about fixed points against closed forms, multiprecision roots, and matrices that are nearly undecidable."""

import math

import mpmath
import numpy as np
import pytest
import torch
from certificates import fixed_point
from flint import acb, acb_mat, ctx

from dynlab import schema, zoo
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.numerics.eigenvalues import eigenvalues
from dynlab.numerics.kinds import kind_of
from dynlab.proofs.certify import certify
from dynlab.systems import create, frozen
from dynlab.systems.textbook import LinearMap


def scalar_tanh(u):
    cell = frozen(create("vanilla", input_size=0, state_size=1, bias=False))
    cell.W.fill_(u)
    return cell


def proof(system, point):
    return certify(system.program(torch.zeros(system.input_size).double()), np.asarray(point, dtype=float))


@pytest.mark.parametrize("start", [0.9575040240772687, -0.96, 0.9])
def test_the_proved_ball_of_the_scalar_tanh_holds_the_multiprecision_root(start):
    with mpmath.workdps(60):
        root = mpmath.findroot(lambda h: mpmath.tanh(2 * h) - h, start)
        slope = 2 * (1 - root**2)
        found = proof(scalar_tanh(2.0), [start])
        assert found.certified
        assert abs(root - mpmath.mpf(start)) <= found.radius
        assert found.radius < 0.2
        assert tuple(found.counts) == (0, 1, 0)
        center, radius = found.discs.centers[0], found.discs.radii[0]
        off = abs(mpmath.mpf(center.real.str(50, radius=False)) - slope)
        assert off <= mpmath.mpf(radius.str(20, radius=False)) * 2
        assert float(radius) < 1e-16


def test_the_origin_of_the_scalar_tanh_is_unstable_and_at_slope_1_nothing_is_proved():
    assert tuple(proof(scalar_tanh(2.0), [0.0]).counts) == (1, 0, 0)
    at_pitchfork = proof(scalar_tanh(1.0), [0.0])
    assert not at_pitchfork.certified
    assert "singular" in at_pitchfork.reason
    assert math.isnan(at_pitchfork.radius)
    # 1 + 2^−52: three roots within 3e-8 of each other, and the middle one still proved
    assert tuple(proof(scalar_tanh(1 + 2.0**-52), [0.0]).counts) == (1, 0, 0)


def test_a_rotation_stays_undecided_and_says_so():
    found = proof(frozen(LinearMap([[0.0, -1.0], [1.0, 0.0]])), [0.0, 0.0])
    assert found.certified
    assert tuple(found.counts) == (0, 0, 2)
    assert "undecided: 2 eigenvalues" in found.reason


def test_multiple_and_defective_eigenvalues_are_counted_by_connected_discs():
    size = 4
    jordan = 0.75 * np.eye(size) + np.eye(size, k=1)
    blocks = np.block([[jordan, np.zeros((size, 1))], [np.zeros((1, size)), np.full((1, 1), 1.25)]])
    found = proof(frozen(LinearMap(blocks.tolist())), np.zeros(size + 1))
    assert tuple(found.counts) == (1, size, 0)


def nearly_neutral(seed):
    """A matrix made with an eigenvalue, or a pair, of modulus 1 ± 1e-9, the others of modulus up to 2."""
    generator = np.random.default_rng(seed)
    size = int(generator.integers(2, 6))
    modulus = 1 + generator.choice([-1e-9, 1e-9])
    angle = generator.choice([0.0, np.pi, generator.uniform(0.1, 3.0)])
    blocks = np.diag(generator.uniform(-2, 2, size))
    if angle in (0.0, np.pi):
        blocks[0, 0] = modulus * np.cos(angle)
    else:
        blocks[:2, :2] = modulus * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    spread = np.diag(10 ** generator.uniform(0, generator.choice([1, 3, 6]), size))
    basis = np.linalg.qr(generator.standard_normal((size, size)))[0] @ spread
    basis = basis @ np.linalg.qr(generator.standard_normal((size, size)))[0]
    return basis @ blocks @ np.linalg.inv(basis)


def true_counts(matrix):
    """Outside and inside the unit circle by Arb's own rigorous eigenvalues of the matrix as stored, at 400 bits."""
    with ctx.workprec(400):
        n = len(matrix)
        found = acb_mat(n, n, [acb(float(entry)) for entry in matrix.ravel()]).eig(multiple=True, algorithm="rump")
        moduli = [abs(value) for value in found]
        counts = sum(bool(m > 1) for m in moduli), sum(bool(m < 1) for m in moduli)
    assert sum(counts) == n
    return counts


def condition(matrix):
    """Of the eigenvalue whose modulus is nearest to 1."""
    values, right = np.linalg.eig(matrix)
    conditions = np.linalg.norm(np.linalg.inv(right), axis=1) * np.linalg.norm(right, axis=0)
    return conditions[np.argmin(np.abs(np.abs(values) - 1))]


def test_eigenvalues_a_billionth_off_the_circle_are_never_decided_wrongly_and_nearly_always_decided():
    well_conditioned = []  # whether all of it was proved, and decided without a proof
    for seed in range(60):
        matrix = nearly_neutral(seed)
        outside, inside = true_counts(matrix)
        found = proof(frozen(LinearMap(matrix.tolist())), np.zeros(len(matrix)))
        assert found.counts.outside <= outside
        assert found.counts.inside <= inside
        kind = kind_of(*eigenvalues(matrix)[:2], is_flow=False)
        assert kind.unstable <= outside
        assert len(matrix) - kind.unstable - kind.undecided <= inside
        assert kind.stable in (-1, int(outside == 0))
        if condition(matrix) < 1e4:
            well_conditioned.append([found.counts.undecided == 0, kind.undecided == 0])
    assert len(well_conditioned) > 15
    assert (np.mean(well_conditioned, axis=0) >= 0.95).all()


@pytest.mark.parametrize(
    "name, settings, rounded",
    [("exprnn", {"init": "henaff"}, True), ("antisymmetric", {}, False)],
)
def test_what_the_rounding_of_a_computed_matrix_decides_is_undecided(name, settings, rounded):
    """An orthogonal matrix is neutral by construction, and off the circle by 1e-17 as it was rounded."""
    torch.manual_seed(0)
    system = frozen(create(name, input_size=1, state_size=4, **settings))
    held = torch.tensor([0.25]).double()
    program = system.program(held)
    assert program.is_exact == (not rounded)
    found = certify(program, fixed_point(system, held, torch.full((4,), 0.1)).numpy())
    assert found.certified
    assert found.counts.undecided == (4 if rounded else 0)


@pytest.mark.parametrize("name", ["ernn-har2-k1", "rnn-har2"])
def test_every_fixed_point_of_networks_of_the_zoo_is_proved(name):
    ds = fixed_points(zoo.load(name), starts=6, certify=True)
    told = ds["proved_unstable_directions"].values + ds["proved_stable_directions"].values
    # none of these happens to be undecided
    assert (ds["certified"].values == 1).all()
    assert set(ds["certificate_reason"].values) == {"proved"}
    assert (told == ds.sizes[schema.STATE]).all()
    # and what was estimated in double precision is what is proved
    assert ds["stable"].values.tolist() == ds["proved_stable"].values.tolist()
    assert ds["unstable_directions"].values.tolist() == ds["proved_unstable_directions"].values.tolist()
    # a proved disc is an error bound, too
    assert (ds["eigenvalue_error"].values <= ds["eigenvalue_radius"].values).all()
    assert (ds["eigenvalue_radius"].values < 1e-10).all()
