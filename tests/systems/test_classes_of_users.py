"""Maps and flows that a user writes as classes of their own, and what is wrong with some."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.errors import UserError
from dynlab.program.jacobian import Dense


class OneState(dl.Flow):
    def __init__(self):
        super().__init__(2, 0)

    def velocity(self, state, input, t=0):
        return torch.stack([-state[1], state[0]])


class WithoutT(dl.Map):
    def __init__(self):
        super().__init__(2, 0)

    def step(self, state, input):
        return state / 2


class Nothing(dl.Map):
    def __init__(self):
        super().__init__(2, 0)

    def step(self, state, input, t=0):
        state / 2


class Unfit(dl.Map):
    """Its matrix is another size's, which is seen once it has a state that is not 0."""

    def __init__(self):
        super().__init__(2, 0)

    def step(self, state, input, t=0):
        return state @ torch.ones(3, 3, dtype=state.dtype) if state.any() else state


CLASSES = {
    OneState: "returned shape (2, 2) for states of shape (32, 2)",
    WithoutT: "is called as step(state, input, t)",
    Nothing: "returned NoneType",
    Unfit: "fails in its step",
}


@pytest.mark.parametrize("own", CLASSES)
def test_a_class_that_cannot_be_called_is_refused_in_a_sentence(own):
    system = own()
    length = {"seconds": 1.0} if isinstance(system, dl.Flow) else {"steps": 10}
    with pytest.raises(UserError, match="with any dimensions in front") as refused:
        dl.lyapunov(system, initial_state=[1.0, 0.5], **length)
    assert CLASSES[own] in str(refused.value)


def test_a_class_as_it_should_be():
    class Half(dl.Map):
        def __init__(self):
            super().__init__(2, 0)

        def step(self, state, input, t=0):
            return state / 2

    found = dl.lyapunov(Half(), steps=20, initial_state=[1.0, 0.5])["exponent"].values
    np.testing.assert_allclose(found, -np.log(2))


class Steep(dl.Map):
    """h ← tanh 2h, whose closed form has `factor` times its slope near 0."""

    def __init__(self, factor):
        super().__init__(1, 0)
        self.factor = factor

    def step(self, state, input, t=0):
        return torch.tanh(2 * state)

    def closed_form_jacobian(self, state, input, t=0):
        slope = 2 / torch.cosh(2 * state) ** 2
        return Dense(torch.where(state.abs() < 0.1, self.factor * slope, slope).unsqueeze(-1))


@pytest.mark.parametrize("factor", [0.25, 0.5])
def test_a_closed_form_that_is_wrong_near_a_point_decides_nothing_there(factor):
    found = dl.fixed_points(Steep(factor))
    at_zero = int(np.abs(found["fixed_point_state"].values[:, 0]).argmin())
    assert found["stable"].values[at_zero] == -1
    still = np.zeros((1, 5, 0))
    of_steps = dl.spectrum(Steep(factor), still)
    assert (np.abs(of_steps["eigenvalue"] - 2) <= of_steps["eigenvalue_error"]).all()
    along = dl.gradient(Steep(factor), still)
    assert np.isnan(along["log_norm"].values[0, 0])
    assert "hides how fast nearby states part" in dl.lyapunov(Steep(factor), initial_state=[0.0], steps=50).verdict


def test_a_closed_form_that_is_right_is_believed():
    found = dl.fixed_points(Steep(1.0))
    assert sorted(found["stable"].values.tolist()) == [0, 1, 1]
    along = dl.gradient(Steep(1.0), np.zeros((1, 5, 0)))
    assert along["log_norm"].values[0, 0] == pytest.approx(5 * np.log(2), abs=1e-14)
