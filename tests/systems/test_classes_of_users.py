"""Maps and flows that a user writes as classes of their own, and what is wrong with some."""

import numpy as np
import pytest
import torch

import dynlab as dl
from dynlab.errors import UserError


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
