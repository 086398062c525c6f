"""Tangent vectors along solutions of a flow, against SciPy's solver, and what they cost."""

import re

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

import dynlab as dl
from dynlab.diagnostics.lyapunov.variational import Solution, loops_of
from dynlab.errors import UserError
from dynlab.systems import frozen
from problems import Field

# x'' = −x − 2xy, y'' = −y − x² + y²
HENON_HEILES = Field(4, lambda s, x, y, p, q: (p, q, -x - 2 * x * y, -y - x * x + y * y))
STARTS = np.array([[0.1, 0.1, 0.3, 0.2], [0.0, 0.2, 0.1, -0.3]])


def by_scipy(start, span):
    """The state and ∂h(span)/∂h(0), with the Jacobian written by hand."""

    def rate(_, values):
        (x, y, p, q), V = values[:4], values[4:].reshape(4, 4)
        J = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-1 - 2 * y, -2 * x, 0, 0], [-2 * x, -1 + 2 * y, 0, 0]])
        return np.concatenate([[p, q, -x - 2 * x * y, -y - x * x + y * y], (J @ V).ravel()])

    together = np.concatenate([start, np.eye(4).ravel()])
    found = solve_ivp(rate, (0, span), together, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return found[:4], found[4:].reshape(4, 4)


@pytest.fixture(params=["compiled", "in Python"])
def loops(request, monkeypatch):
    if request.param == "in Python":
        monkeypatch.setattr("dynlab.diagnostics.lyapunov.variational.compiled", lambda *_: None)
    else:
        pytest.importorskip("numba")
    return loops_of(frozen(HENON_HEILES))


def test_tangent_vectors_are_those_of_another_solver(loops):
    for begin in STARTS:
        solution = Solution(loops, begin, np.eye(4), 7.0, 1e8)
        solution.to(7.0, orthonormal=False)
        expected, truth = by_scipy(begin, 7.0)
        np.testing.assert_allclose(solution.state, expected, rtol=0, atol=1e-7)
        np.testing.assert_allclose(solution.vectors, truth, rtol=0, atol=1e-6)
        assert abs(solution.totals()[-1]) < 1e-12  # it preserves volume
        frames = Solution(loops, begin, np.eye(4), 7.0, 1e8)
        frames.to(7.0)
        diagonal = np.abs(np.diag(np.linalg.qr(truth)[1]))
        np.testing.assert_allclose(frames.log_growth, np.log(diagonal), atol=1e-6)
        assert np.abs(frames.log_growth.sum()) < 1e-8
        np.testing.assert_allclose(frames.vectors.T @ frames.vectors, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(
    "rate, start, ends",
    [
        (lambda s, h: (h**2,), 0.1, 10.0),  # 1/(10 − t)
        (lambda s, h: (-torch.sqrt(h) - 0.1,), 0.5, 2 * (0.5**0.5 - 0.1 * np.log(1 + 0.5**0.5 / 0.1))),  # √ of h < 0
    ],
)
def test_a_solution_that_ends_is_cut_there(rate, start, ends, monkeypatch):
    monkeypatch.setattr("dynlab.diagnostics.lyapunov.variational.compiled", lambda *_: None)
    ds = dl.lyapunov(Field(1, rate), seconds=30.0, initial_state=[start])
    assert np.isnan(ds["exponent"]).all()
    assert float(re.search(r", at ([\d.]+) s", ds.attrs["verdict"])[1]) == pytest.approx(ends, rel=1e-3)


@pytest.mark.parametrize("ask, settings", [(dl.simulate, {"times": [0.0, 1.5]}), (dl.lyapunov, {"seconds": 5.0})])
def test_a_stiff_flow_ends_in_the_same_sentence(monkeypatch, ask, settings):
    for name in ("trajectories.simulation.MOST_EVALUATIONS", "diagnostics.lyapunov.variational.MOST_EVALUATIONS"):
        monkeypatch.setattr(f"dynlab.{name}", 2_000)
    monkeypatch.setattr("dynlab.diagnostics.lyapunov.variational.compiled", lambda *_: None)
    with pytest.raises(UserError, match=r"has taken 2,0.. evaluations to get to .*: it is stiff"):
        ask(Field(2, lambda s, x, y: (-1e4 * (x - y), -y)), initial_state=[0.0, 1.0], **settings)
