"""Scalar code of small states: the step and the Jacobian that torch computes."""

import numpy as np
import pytest
import torch

from dynlab.program.compiled import compiled
from dynlab.program.derived import derived
from dynlab.program.differentiation import jacobian
from dynlab.systems import create, from_function, frozen

pytest.importorskip("numba")
WEIGHTS = torch.tensor([[1.0, 2.0], [0.5, -1.0], [0.3, 0.7]]).double()
MADE = {
    "henon": lambda: create("henon"),
    "lorenz": lambda: create("lorenz"),
    "gated": lambda: create("gru", input_size=1, hidden_size=2),
    "stack": lambda: create("lstm", input_size=1, hidden_size=1, num_layers=2),
    "repeated": lambda: from_function(lambda h, x: torch.tanh(h[[0, 1, 1]] @ WEIGHTS), 2),
    "one's own": lambda: from_function(lambda h, x: torch.stack([h[1], torch.sin(h[0]) - 0.1 * h[1]]), 2),
}


@pytest.mark.parametrize("name", MADE)
def test_compiled_code_is_the_step_and_its_jacobian(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    system = frozen(MADE[name]())
    given, state = torch.full((system.input_size,), 0.3).double(), np.linspace(-0.4, 0.7, system.state_size)
    found = compiled(derived(system).program.held(given))
    n = system.state_size
    work, value, matrix = np.empty(found.workspace), np.empty(n), np.empty((n, n))
    found.module.step(state, found.numbers, work, value)
    found.module.jacobian(state, found.numbers, work, matrix)
    at = torch.from_numpy(state)
    np.testing.assert_allclose(value, system.evolve(at, given).detach(), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(matrix, jacobian(system, at, given).dense(), rtol=1e-14, atol=1e-15)


def test_one_compilation_with_loops_around_its_step_serves_all_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loops = tmp_path / "loops.py"
    loops.write_text("@njit(cache=True)\ndef twice(h, c, w, out):\n    step(h, c, w, out)\n    step(out, c, w, h)\n")
    held = [derived(frozen(create("henon", a=a))).program.held(torch.zeros(0)) for a in (1.2, 1.4)]
    first, second = (compiled(program, loops) for program in held)
    assert first.module is second.module
    for found, a in ((first, 1.2), (second, 1.4)):
        state = np.array([0.5, 0.1])
        found.module.twice(state, found.numbers, np.empty(found.workspace), np.empty(2))
        x, y = 1 - a * 0.25 + 0.1, 0.15
        np.testing.assert_allclose(state, [1 - a * x**2 + y, 0.3 * x])
