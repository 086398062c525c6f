"""A function or a module of the user's own, as a system that never changes it."""

import mpmath
import numpy as np
import pytest
import torch
from torch import nn

import dynlab as dl
from dynlab import from_module
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.errors import UserError
from dynlab.program.differentiation import jacobian
from dynlab.systems import Euler, Flow, Map, from_function, frozen


class Own(nn.Module):
    """A cell as a user writes one, with dropout."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.dropout = nn.Dropout(0.5)

    def forward(self, state, input):
        return torch.tanh(self.inner(self.dropout(torch.cat([state, input], dim=-1))))


def test_a_module_is_copied_and_put_in_eval_mode_and_float64():
    torch.manual_seed(22)
    module = Own()
    system = frozen(from_function(module, 2, 1))
    h, x = torch.randn(4, 2).double(), torch.randn(4, 1).double()
    matrix, bias = module.inner.weight.detach().double(), module.inner.bias.detach().double()
    expected = torch.tanh(torch.cat([h, x], dim=-1) @ matrix.T + bias)
    torch.testing.assert_close(system.step(h, x), expected, rtol=0, atol=1e-14)
    derivative = (1 - expected.square()).unsqueeze(-1) * matrix[:, :2]
    torch.testing.assert_close(jacobian(system, h, x).dense(), derivative, rtol=0, atol=1e-14)
    assert system.name == "Own"
    assert module.training
    assert module.inner.weight.dtype == torch.float32
    assert module.inner.weight.requires_grad


def test_a_function_around_a_float32_module_says_what_to_do():
    cell = nn.GRUCell(1, 3)
    with pytest.raises(UserError, match="give a module itself"):
        from_function(lambda h, x: cell(x, h), 3, 1)


def test_shapes_that_do_not_fit_are_told_with_the_order_of_the_arguments():
    with pytest.raises(UserError, match=r"called as f\(state, input\) .*\(3,\).*\(2,\).*order='xh'") as told:
        from_function(lambda a, b: b @ b.new_zeros(3, 3) + a @ a.new_zeros(2, 3), 3, 2)
    assert "\n" not in str(told.value)


@pytest.mark.filterwarnings("ignore:__array_wrap__:DeprecationWarning")
def test_a_function_of_numpy_says_that_it_must_be_torchs():
    system = from_function(lambda h, x: np.tanh(h), 2)
    with pytest.raises(UserError, match=r"computes with numpy.*torch\.tanh"):
        jacobian(system, torch.zeros(1, 2).double(), torch.zeros(1, 0).double()).dense()


def test_a_function_that_returns_another_size_is_refused():
    with pytest.raises(UserError, match=r"shape \(\.\.\., 3\), got \(1,\)"):
        from_function(lambda h, x: h[..., :1], 3)


@pytest.mark.parametrize("sizes", [{"state_size": 31, "input_size": 3}, {"state_size": 32}])
def test_sizes_that_a_module_does_not_have_are_refused_when_it_is_given(sizes):
    with pytest.raises(UserError, match=r"GRUCell fails when it is called .* Check state_size and input_size"):
        from_module(nn.GRUCell(3, 32), order="xh", **sizes)


class Swapped(nn.Module):
    """A cell that takes the input first, with state and input of one size."""

    def __init__(self):
        super().__init__()
        self.own = Own()

    def forward(self, x, h):
        return self.own(h, x)


@pytest.mark.parametrize(
    "f, width",
    [(Swapped(), 1), (Swapped().double().eval().forward, 1), (lambda inp, hidden: hidden, 2), (nn.GRUCell(2, 2), 2)],
)
def test_a_function_named_the_other_way_round_is_refused_until_its_order_is_said(f, width):
    with pytest.raises(UserError, match="input before the state: say order='xh'"):
        from_function(f, 2, width)
    assert from_function(f, 2, width, order="xh").order == "xh"
    assert from_function(f, 2, width, order="hx").order == "hx"


def test_names_of_other_fields_are_let_through():
    assert from_function(lambda x, u: x + u, 2, 2).step(torch.ones(2), torch.zeros(2)).tolist() == [1, 1]


@pytest.mark.parametrize("lead", [(), (3,), (2, 5), (2, 0), (4, 1, 2)])
def test_a_system_without_input_steps_under_any_leading_dimensions(lead):
    h = torch.randn(*lead, 2)
    torch.testing.assert_close(from_function(lambda h, x: 2 * h, 2).step(h, torch.zeros(*lead, 0)), 2 * h)


def test_the_input_first():
    torch.manual_seed(1)
    module, h, x = Swapped(), torch.randn(5, 2), torch.randn(5, 1)
    system = from_function(module, 2, 1, order="xh").eval()
    torch.testing.assert_close(system.step(h, x), module.own.eval()(h, x), rtol=0, atol=0)


@pytest.mark.parametrize("lead", [(), (3,), (2, 5)])
def test_a_cell_of_torchs_with_two_states_steps_as_dynlabs_own(lead):
    torch.manual_seed(2)
    cell = nn.LSTMCell(3, 4)
    ours, own = (frozen(made) for made in (from_function(cell, (4, 4), 3, order="xh"), from_module(cell)))
    h, x = torch.randn(*lead, 8).double(), torch.randn(*lead, 3).double()
    torch.testing.assert_close(ours.step(h, x), own.step(h, x), rtol=0, atol=1e-15)
    torch.testing.assert_close(jacobian(ours, h, x).dense(), jacobian(own, h, x).dense(), rtol=0, atol=1e-15)


class LinearRecurrentUnit(nn.Module):
    """z ↦ λ z + B x, with complex parameters."""

    def __init__(self, values):
        super().__init__()
        self.values = nn.Parameter(values)
        self.B = nn.Parameter(torch.ones(len(values), 1, dtype=values.dtype))

    def forward(self, z, x):
        return self.values * z + (x.to(self.B) @ self.B.mT)


def test_the_eigenvalues_of_a_complex_state_are_its_own_and_their_conjugates():
    values = torch.tensor([0.9 * np.exp(0.3j), 0.5 * np.exp(2j)], dtype=torch.complex64)
    module = LinearRecurrentUnit(values)
    system = frozen(from_function(module, 2, 1, complex_state=True))
    assert system.state_size == 4
    assert system.f.values.dtype == torch.complex128
    assert module.values.dtype == torch.complex64
    found = torch.linalg.eigvals(jacobian(system, torch.zeros(4).double(), torch.zeros(1).double()).dense())
    expected = torch.cat([values, values.conj()]).to(torch.complex128)
    assert sorted(found.tolist(), key=lambda z: z.imag) == pytest.approx(
        sorted(expected.tolist(), key=lambda z: z.imag), abs=1e-14
    )
    state = torch.tensor([1.0, 2.0, 3.0, 4.0]).double()  # z = 1 + 3i, 2 + 4i
    z = values.to(torch.complex128) * torch.tensor([1 + 3j, 2 + 4j]) + 5
    torch.testing.assert_close(system.step(state, torch.full((1,), 5.0).double()), torch.cat([z.real, z.imag]))


MISUSE = {
    "order": (lambda h, x: h, {"order": "hxx"}, r"Unknown order of the arguments 'hxx': did you mean 'hx'"),
    "one argument": (lambda h: h, {}, r"must take a state and an input"),
    "three arguments": (lambda h, x, t: h, {}, r"must take a state and an input"),
}


@pytest.mark.parametrize("f, options, sentence", MISUSE.values(), ids=MISUSE)
def test_what_is_no_step_is_refused_at_once(f, options, sentence):
    with pytest.raises(UserError, match=sentence):
        from_function(f, 2, **options)


RETURNS = {
    "an output beside it": (2, lambda h, x: (h, h), "got tuple.*of outputs beside the state"),
    "one of two states": ((2, 2), lambda h, x: h[0], r"\(..., 2\), \(..., 2\), got \(2,\)"),
    "states in the wrong order": ((1, 3), lambda h, x: h[::-1], r"got \(3,\), \(1,\)"),
}


@pytest.mark.parametrize("size, f, sentence", RETURNS.values(), ids=RETURNS)
def test_what_is_not_the_next_state_is_refused(size, f, sentence):
    with pytest.raises(UserError, match=sentence):
        from_function(f, size).step(torch.zeros(4 if isinstance(size, tuple) else size), torch.zeros(0))


@pytest.mark.parametrize("name", ["lyapunov", "covariant_vectors", "simulate", "spectrum"])
def test_a_function_around_a_module_that_is_being_trained_gives_what_the_module_gives(name):
    torch.manual_seed(0)
    cell = nn.GRUCell(2, 3).double()
    around = dl.from_function(lambda h, x: cell(x, h), state_size=3, input_size=2)
    own = dl.from_function(cell, state_size=3, input_size=2, order="xh")
    inputs = np.random.default_rng(0).standard_normal((2, 12, 2))
    one, two = (getattr(dl, name)(system, inputs) for system in (around, own))
    for variable in one.data_vars:
        if one[variable].dtype.kind in "fc" and "error" not in variable and "residual" not in variable:
            np.testing.assert_allclose(one[variable], two[variable], rtol=1e-9, atol=1e-12, err_msg=variable)
    assert all(parameter.requires_grad and parameter.grad is None for parameter in cell.parameters())


def test_fixed_points_of_a_function_around_weights_that_are_being_trained():
    weight = torch.tensor([[2.0]], dtype=torch.float64, requires_grad=True)
    ds = dl.fixed_points(from_function(lambda h, x: torch.tanh(h @ weight), state_size=1), starts=16)
    root = float(mpmath.findroot(lambda h: mpmath.tanh(2 * h) - h, 0.9))
    np.testing.assert_allclose(np.sort(ds["fixed_point_state"].values[:, 0]), [-root, 0, root], atol=1e-12)


def test_a_flow_around_weights_that_are_being_trained_is_that_of_the_weights():
    weight = torch.tensor([[-1.0, 2.0], [-2.0, -1.0]], dtype=torch.float64, requires_grad=True)
    own, around = dl.create("linear", matrix=weight.tolist()), Around(weight)
    for name, given in [("phase_plane", {}), ("simulate", {"times": [0.0, 1.0]}), ("lyapunov", {"seconds": 5.0})]:
        one, two = (getattr(dl, name)(system, **given) for system in (own, around))
        for variable in set(one.data_vars) & set(two.data_vars):
            if one[variable].dtype.kind in "fc" and "error" not in variable and "residual" not in variable:
                np.testing.assert_allclose(one[variable], two[variable], rtol=1e-7, atol=1e-9, err_msg=variable)
    steps = dl.fixed_points(dl.Euler(around, 0.1), starts=16)
    np.testing.assert_allclose(np.abs(steps["eigenvalue"]), np.hypot(0.9, 0.2), rtol=1e-12)


class Around(dl.Flow):
    def __init__(self, weight):
        super().__init__(2, 0)
        self.held = [weight]

    def velocity(self, state, input, t=0):
        return state @ self.held[0].T


DROPOUT = nn.Dropout(0.1)


@pytest.mark.parametrize("change", [lambda h: torch.tanh(DROPOUT(h)), lambda h: h / 2 + 0.1 * torch.randn(1)])
def test_what_gives_two_answers_to_one_state_is_no_map(change):
    """Around a module that nobody puts in eval mode, and of random numbers."""
    with pytest.raises(UserError, match=r"two answers to one state and input.*eval\(\)"):
        from_function(lambda h, x: change(h), state_size=8)


def only_below_1(h, x):
    """h/2, after a factorisation that fails beyond 1."""
    return h / 2 + 0 * torch.linalg.cholesky((1 - h[..., :1].square()).unsqueeze(-1))[..., 0]


def test_a_function_that_fails_elsewhere_is_a_map():
    """Λ of h/2 is −ln 2."""
    ds = dl.lyapunov(from_function(only_below_1, 2), steps=200, initial_state=[0.5, 0.3])
    np.testing.assert_allclose(ds["exponent"][0], -np.log(2), atol=1e-9)


def test_a_function_may_write_on_what_it_took_the_tanh_of():
    def along(h, x):
        y = h.clone()
        y[..., 0] = torch.tanh(y[..., 1]) + torch.sigmoid(y[..., 0])
        y *= 0.5
        return y

    state = torch.tensor([0.3, -0.2], dtype=torch.float64)
    found = jacobian(from_function(along, 2), state, torch.zeros(0, dtype=torch.float64)).dense()
    torch.testing.assert_close(found, torch.autograd.functional.jacobian(lambda h: along(h, None), state))


def _halved_in_place(h, x):
    h *= 0.5
    h[..., 1] += h[..., 0] ** 2
    return h


def test_a_function_may_write_on_its_argument():
    state = torch.tensor([0.3, -0.2], dtype=torch.float64)
    system = from_function(_halved_in_place, 2)
    torch.testing.assert_close(system.step(state, torch.zeros(0)), torch.tensor([0.15, -0.0775]).double())
    assert state.tolist() == [0.3, -0.2]
    with pytest.raises(UserError, match="compute a new tensor"):  # torch needs what was written over
        dl.fixed_points(system)


class Keeping(nn.Module):
    """A cell that keeps what it computed, as for a plot or a loss."""

    def __init__(self):
        super().__init__()
        self.linear, self.last, self.all = nn.Linear(2, 2), None, []

    def forward(self, state, input):
        self.last = torch.tanh(self.linear(state))
        self.all = [self.last]
        return self.last


@pytest.mark.parametrize("question", [dl.fixed_points, dl.pseudospectrum, lambda one: dl.basins(one, grid=5)])
def test_a_module_that_keeps_its_results_is_analysed_and_copied(question):
    torch.manual_seed(0)
    module = Keeping()
    module(torch.zeros(2), None)  # the results have a history that torch refuses to copy
    assert module.last.grad_fn is not None
    assert question(from_function(module, 2)).attrs["verdict"]
    assert module.last.grad_fn is not None


MIXING = {
    "a norm of all that is given": (lambda h, x: 2 * h / (1 + h.norm()), lambda h: 2 * h / (1 + np.linalg.norm(h))),
    "a mean of all that is given": (
        lambda h, x: torch.tanh(2 * (h - 0.5 * h.mean())),
        lambda h: np.tanh(2 * (h - 0.5 * h.mean())),
    ),
    "the first dimension": (lambda h, x: torch.softmax(3 * h, 0), lambda h: np.exp(3 * h) / np.exp(3 * h).sum()),
    "the number of rows": (lambda h, x: h * (h.shape[0] if h.ndim > 1 else 0.5), lambda h: 0.5 * h),
}


@pytest.mark.parametrize("f, alone", MIXING.values(), ids=MIXING)
def test_a_function_of_one_state_is_that_of_each_row(f, alone):
    states = np.array([[0.3, 0.2], [0.6, -0.1], [-0.4, 1.5]])
    system = from_function(f, 2)
    ended = dl.simulate(system, initial_state=states, steps=2)["trajectory"].values[:, -1]
    np.testing.assert_allclose(ended, [alone(alone(state)) for state in states], rtol=1e-13)


def test_fixed_points_of_a_function_of_one_state_are_found():
    found = dl.fixed_points(from_function(MIXING["a mean of all that is given"][0], 2))
    points = found["fixed_point_state"].values
    # h₁ = −h₂ = a on the line where the mean is 0, with a = tanh(2 a)
    a = mpmath.findroot(lambda a: mpmath.tanh(2 * a) - a, 0.95)
    np.testing.assert_allclose(sorted(points[:, 0]), [-float(a), 0, float(a)], atol=1e-9)
    np.testing.assert_allclose(points.sum(axis=1), 0, atol=1e-9)


def test_a_function_of_one_argument_is_refused():
    with pytest.raises(
        UserError, match=r"tanh fails when it is called as f\(state, input\).*takes 1 positional argument"
    ):
        from_function(torch.tanh, state_size=2)


def _henon_of_one_state(h, x):
    return torch.stack([1 - 1.4 * h[0] ** 2 + h[1], 0.3 * h[0]])


W = torch.tensor([[0.5, -1.2], [0.8, 0.3]], dtype=torch.float64)
OF_ONE_STATE = {
    "stacked entries": (_henon_of_one_state, lambda h: np.array([1 - 1.4 * h[0] ** 2 + h[1], 0.3 * h[0]])),
    "W @ h": (lambda h, x: torch.tanh(W @ h), lambda h: np.tanh(W.numpy() @ h)),
    "rolled": (lambda h, x: 0.8 * torch.roll(h, 1, 0), lambda h: 0.8 * np.roll(h, 1)),
    "slices": (lambda h, x: torch.cat([0.9 * h[1:], 0.5 * h[:1]]), lambda h: np.array([0.9 * h[1], 0.5 * h[0]])),
}


@pytest.mark.parametrize("f, alone", OF_ONE_STATE.values(), ids=OF_ONE_STATE)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_function_written_with_a_states_entries_is_that_of_each_row(f, alone, count):
    states = np.array([[0.3, 0.2], [0.6, -0.1], [-0.4, 0.5]])[:count]
    ended = dl.simulate(from_function(f, 2), initial_state=states, steps=2)["trajectory"].values[:, -1]
    np.testing.assert_allclose(ended, [alone(alone(state)) for state in states], rtol=1e-13)


def test_fixed_points_of_a_function_written_with_a_states_entries_are_found():
    found = dl.fixed_points(from_function(_henon_of_one_state, 2))["fixed_point_state"].values
    # h₁ = 1 − 1.4 h₁² + 0.3 h₁
    np.testing.assert_allclose(np.sort(found[:, 0]), np.sort(np.roots([1.4, 0.7, -1])), atol=1e-12)
    linear = dl.fixed_points(from_function(OF_ONE_STATE["slices"][0], 2))
    assert linear.attrs["verdict"].startswith("1 fixed point (stable flip node)")  # its eigenvalues are ±√0.45


def test_an_error_of_the_users_own_code_is_told_as_such():
    def fails(h, x):
        raise ZeroDivisionError("mine")

    with pytest.raises(UserError, match=r"fails when it is called.*mine"):
        dl.fixed_points(from_function(fails, 2))


def test_a_velocity_that_changes_with_time_is_refused():
    class Driven(dl.Flow):
        def __init__(self):
            super().__init__(1, 0)

        def velocity(self, state, input, t=0):
            return 0.1 * t - state

    for question in (dl.lyapunov, lambda flow: dl.simulate(flow, initial_state=[1.0], times=[0, 1])):
        with pytest.raises(UserError, match="make the time a state of its own"):
            question(Driven())


def test_a_function_of_one_number_may_return_a_number():
    system = from_function(lambda h, x: torch.tanh(2 * h[0]), state_size=1)
    found = dl.fixed_points(system).fixed_point_state.values.ravel()
    np.testing.assert_allclose(np.sort(found), [-0.957504024, 0, 0.957504024], atol=1e-9)


def test_no_states_have_none_that_follow():
    def one(h, x):
        return torch.stack([torch.tanh(h[0]), h[1] / (1 + h.norm())])

    system = from_function(one, state_size=2)
    assert system.step(torch.zeros(0, 2), torch.zeros(0)).shape == (0, 2)
    assert dl.fixed_points(system, starts=4).sizes["fixed_point"] == 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_a_scripted_function_is_the_function_it_was_made_of():
    def doubled(h: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(2 * h)

    system = from_function(torch.jit.script(doubled), state_size=2)
    states = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(3, 2)
    assert torch.equal(system.step(states, torch.zeros(0)), torch.tanh(2 * states))
    assert dl.fixed_points(system).sizes["fixed_point"] == 9


@pytest.mark.parametrize(
    "f",
    [
        lambda h, x: torch.sign(h) + 0.5 * h,  # 0 wherever it has a slope
        lambda h, x: torch.tanh(1e6 * h),
        lambda h, x: torch.sin(1e9 * h),
        lambda h, x: 1e-100 * torch.tanh(1e100 * h),
        lambda h, x: 1e8 + torch.tanh(h),
        lambda h, x: h.float().tanh().double(),
        lambda h, x: torch.zeros_like(h),
        lambda h, x: torch.sqrt(h),  # NaN at negative states
        lambda h, x: torch.relu(h) ** 1.5,
        lambda h, x: torch.remainder(2 * h, 1.0),
    ],
)
def test_slopes_that_are_steep_or_missing_or_rounded_are_believed(f):
    dl.spectrum(from_function(f, 2), inputs=torch.zeros(1, 2, 0))


@pytest.mark.parametrize(
    "f, sentence",
    [
        (lambda h, x: h.int(), r"returns torch\.int32 for a state of torch\.float64: compute in the type"),
        (
            lambda h, x: torch.tanh(h.float()),
            r"torch\.float32 for a state of torch\.float64: compute in the type",
        ),
        (lambda h, x: h * (1 + 1j), "say complex_state=True"),
        (lambda h, x: torch.stack([0.5 * float(h[0]) + 0 * h[0], h[1]]), r"fails when it is called.*\.item\(\)"),
    ],
)
def test_what_is_no_real_state_is_refused_with_what_to_do(f, sentence):
    with pytest.raises(UserError, match=sentence):
        dl.fixed_points(from_function(f, 2))


def test_a_cell_that_takes_the_input_first_says_so_where_it_fails():
    class Cell(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Linear(2, 4)

        def forward(self, x, yz):
            y, z = yz
            return torch.tanh(self.w(x) + z), y

    with pytest.raises(UserError, match="say order='xh'"):
        dl.lyapunov(from_module(Cell().double(), state_size=(4, 4), input_size=2), np.zeros((1, 1200, 2)))


def test_sizes_are_whole_numbers():
    with pytest.raises(UserError, match=r"whole numbers, got 2\.0 and 0"):
        from_function(lambda h, x: h, state_size=2.0)


def test_a_module_in_double_says_what_it_takes():
    system = from_module(torch.nn.RNNCell(2, 3), order="xh", state_size=3, input_size=2)
    with pytest.raises(UserError, match=r"cannot compute in torch\.float32"):
        system.step(torch.zeros(3), torch.zeros(2))


class OwnMap(Map):
    """exp(h) − 1 − 1e-10: near its two fixed points the subtraction leaves 1e-16 of a slope that is 1e-5 from 1."""

    def __init__(self):
        super().__init__(1, 0)

    def step(self, state, input, t=0):
        return torch.exp(state) - 1 - 1e-10


class OwnFlow(Flow):
    def __init__(self):
        super().__init__(1, 0)

    def velocity(self, state, input, t=0):
        return torch.exp(state) - 1 - 1e-10 - state


@pytest.mark.parametrize("system", [OwnMap(), Euler(OwnFlow(), 1.0)], ids=["map", "Euler's step of a flow"])
def test_what_a_class_of_a_users_own_subtracts_is_in_the_errors_as_a_functions_is(system):
    found = fixed_points(system)
    with mpmath.workdps(50):
        roots = [mpmath.findroot(lambda h: mpmath.exp(h) - 1 - mpmath.mpf(1e-10) - h, at) for at in (-1.4e-5, 1.4e-5)]
        true = np.array([float(mpmath.exp(root) - 1) for root in roots])
    state, slope = found["fixed_point_state"].values[:, 0], found["eigenvalue"].values[:, 0].real
    assert len(state) == 2
    assert (np.abs(slope - 1 - true[np.argsort(np.argsort(state))]) <= found["eigenvalue_error"].values[:, 0]).all()


def test_where_derivatives_are_off_for_good_results_are_the_same():
    """As in an evaluation script."""
    layer = torch.nn.GRU(1, 2, bias=False).double()
    with torch.inference_mode():
        inside = dl.fixed_points(from_module(layer)), dl.fixed_points(from_function(lambda h, x: torch.tanh(2 * h), 2))
    outside = dl.fixed_points(from_module(layer)), dl.fixed_points(from_function(lambda h, x: torch.tanh(2 * h), 2))
    for one, other in zip(inside, outside, strict=True):
        np.testing.assert_array_equal(one["fixed_point_state"], other["fixed_point_state"])
        np.testing.assert_array_equal(one["eigenvalue_error"], other["eigenvalue_error"])
