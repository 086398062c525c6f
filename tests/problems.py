"""Truths that tests of every kind compare with: closed forms, published constants, independent computations.

Each says where it comes from. Add to the end; change nothing that others rely on.
"""

import copy
import itertools
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import scipy.linalg
import scipy.optimize
import torch

import dynlab as dl
from dynlab.matrices import planar_matrix
from dynlab.systems.planar import planar_system

# --- Linear systems: the matrix of h' = A h, and its eigenvalues (trace, determinant and triangular forms by hand) ----
LINEAR = {
    "stable node": ([[-1.0, 0.0], [0.0, -3.0]], [-1, -3]),
    "unstable focus": ([[0.5, -2.0], [2.0, 0.5]], [0.5 + 2j, 0.5 - 2j]),
    "center": ([[0.0, -2.0], [2.0, 0.0]], [2j, -2j]),
    "saddle": ([[2.0, 1.0], [0.0, -1.0]], [2, -1]),
    "improper node": ([[-2.0, 2.0], [0.0, -2.0]], [-2, -2]),
    "companion": ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-6.0, -11.0, -6.0]], [-1, -2, -3]),
}

# --- The planar matrices of the AntisymmetricRNN paper, section 5 ---
PLANAR = {
    "plus": np.array([[2.0, -2.0], [0.0, 2.0]]),
    "minus": np.array([[-2.0, 2.0], [0.0, -2.0]]),
    "zero": np.array([[0.0, -2.0], [2.0, 0.0]]),
    "diff": np.array([[-0.15, -2.0], [2.0, -0.15]]),
}
STARTS = np.array([[0.0, 0.5], [-0.5, -0.5], [0.5, -0.75]])

# Where h ← h + 0.1 tanh(W h) is after 50 steps from STARTS, iterated in 40 digits (mpmath); tests allow 1e-5.
# fmt: off
END_STATES = {
    "plus": [[-4.94840458785, 5.41310551451], [4.13854839722, -5.41310551451], [5.497493473, -5.71920249135]],
    "minus": [[0.00010873724, 8.85196e-06], [-0.0001179222, -8.85196e-06], [-0.0001856479, -1.686491e-05]],
    "zero": [[-0.62099455882, 0.48743921414], [-0.90644354757, -0.46555321625], [-0.43973957342, -1.10820763165]],
    "diff": [[-0.50351745943, -0.11992706463], [-0.10019173929, -0.70380722868], [0.27014641135, -0.79607266302]],
}
# fmt: on


def critical_step(gamma, omega):
    """The largest ε with |1 + ε (−γ ± iω)| ≤ 1: 2 γ / (γ² + ω²), by squaring."""
    return 2 * gamma / (gamma**2 + omega**2)


# Of W_diff, γ = 0.15 and ω = 2; and the modulus |1 + 0.1 (−0.15 ± 2i)| at the paper's step.
CRITICAL_STEP_DIFF = 0.3 / (0.15**2 + 4)
MODULUS_DIFF = math.hypot(1 - 0.015, 0.2)


def log_cosh_energy(A, b, h):
    """H(h) = Σ log cosh((A h + b)_i), conserved by h' = tanh(A h + b) for antisymmetric A: dH/dt = fᵀ A f = 0."""
    p = np.abs(h @ np.asarray(A).T + b)
    # log cosh p = p + log(1 + e^{−2p}) − log 2, which does not overflow
    return (p + np.log1p(np.exp(-2 * p)) - math.log(2)).sum(axis=-1)


# --- Textbook systems ---
LOGISTIC_EXPONENT = math.log(2)  # r = 4, conjugate to the tent map
HENON_EXPONENT_SUM = math.log(0.3)  # |det J| = b everywhere
HENON_LARGEST_EXPONENT = 0.4192  # nat/step, Sprott, Chaos and Time-Series Analysis (2003), to its last digit


def henon_fixed_points(a=1.4, b=0.3):
    """The two roots of a x² + (1 − b) x − 1 = 0, with y = b x."""
    root = math.sqrt((1 - b) ** 2 + 4 * a)
    return np.array([[x, b * x] for x in ((b - 1 + root) / (2 * a), (b - 1 - root) / (2 * a))])


def lorenz_equilibria(sigma=10.0, rho=28.0, beta=8 / 3):
    """The origin and (±√(β(ρ−1)), ±√(β(ρ−1)), ρ−1); σ moves none of them."""
    r = math.sqrt(beta * (rho - 1))
    return np.array([[0, 0, 0], [r, r, rho - 1], [-r, -r, rho - 1]])


def lorenz_exponent_sum(sigma=10.0, beta=8 / 3):
    """The divergence −(σ + 1 + β), the same everywhere."""
    return -(sigma + 1 + beta)


# --- How sets of eigenvalues are compared ---
def eigenvalue_distance(first, second):
    """The largest distance between paired eigenvalues under the pairing of least total distance."""
    cost = np.abs(np.asarray(first)[:, None] - np.asarray(second)[None, :])
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    assert len(rows) == len(first) == len(second)
    return cost[rows, columns].max()


# --- Lyapunov exponents, in nat/s: Sprott, Chaos and Time-Series Analysis (2003), Table A.6, to four digits ---
LORENZ_EXPONENTS = [0.9056, 0.0, -14.5723]


# --- Bifurcations ---
def tanh_fold(u):
    """The |q| at which h = tanh(u h + q) loses two of its three solutions: 1 = u (1 − s²) with s = h there."""
    with mpmath.workdps(40):
        s = mpmath.sqrt(1 - 1 / mpmath.mpf(u))
        return float(abs(mpmath.atanh(s) - u * s))


def imperfect_tanh_fold(b):
    """w at which two of the three solutions of h = tanh(w h + b) meet, b > 0, and the h there, in 40 digits."""
    with mpmath.workdps(40):
        b = mpmath.mpf(b)
        # h is the double root: w (1 − h²) = 1 and atanh(h) = w h + b
        near = -((1.5 * b) ** (mpmath.mpf(1) / 3))
        h = mpmath.findroot(lambda h: mpmath.atanh(h) - h / (1 - h**2) - b, near, tol=mpmath.mpf(10) ** -60)
        return float(1 / (1 - h**2)), float(h)


def lorenz_hopf(sigma=10.0, beta=8 / 3):
    """ρ and ω where the two equilibria off the origin lose stability: the Routh–Hurwitz condition with equality."""
    rho = sigma * (sigma + beta + 3) / (sigma - beta - 1)
    return rho, math.sqrt(2 * sigma * (sigma + 1) * beta / (sigma - beta - 1))


def henon_bifurcations(b=0.3):
    """a at the fold of the Hénon map's fixed points, and where periods 1 and 2 double."""
    return -((1 - b) ** 2) / 4, 3 * (1 - b) ** 2 / 4, (1 - b) ** 2 + (1 + b) ** 2 / 4


def logistic_doubling(period, near, guess):
    """r where the logistic map's orbit of that period doubles, in 25 digits: F^m(x) = x and (F^m)'(x) = −1."""
    with mpmath.workdps(25):

        def equations(x, r):
            slope, y = mpmath.mpf(1), x
            for _ in range(period):
                slope, y = slope * r * (1 - 2 * y), r * y * (1 - y)
            return [y - x, slope + 1]

        return float(mpmath.findroot(equations, (near, guess))[1])


# --- Eigenvalues of every step on the stable side, and growth all the same ---
MARKUS_YAMABE = {"real": -0.25, "imaginary": math.sqrt(7) / 4, "growth": 0.5}  # Osaka Math. J. 12 (1960), a = 3/2


# The table of problems: a system, a question, and the truth. tests/test_problems.py asks them all.
@dataclass(frozen=True)
class Problem:
    """One row: `read` of the Dataset must be `truth` within `error`, both of which may be functions.

    `system` is a name or makes one, `read` a variable or a function; `truth` is called with the system, `error` with
    the Dataset; an error that the Dataset states is cut at `cap`. With `decided` no status may be undecided.
    """

    name: str
    system: str | Callable[[], Any]
    diagnostic: str | Callable[..., Any]
    arguments: dict[str, Any]
    read: str | Callable[[Any], Any]
    truth: Any
    source: str
    error: float | Callable[[Any], Any] = 1e-9
    cap: float = math.inf
    decided: bool = False
    slow: bool = False


class Field(dl.Flow):
    """A flow whose rates are a function of itself and of its coordinates."""

    def __init__(self, size, rates, **numbers):
        super().__init__(size, 0)
        self.rates = rates
        vars(self).update(numbers)

    def velocity(self, state, input, t=0):
        return torch.stack(self.rates(self, *state.unbind(dim=-1)), dim=-1)


class Rule(dl.Map):
    """A map whose next coordinates are a function of itself and of its coordinates."""

    def __init__(self, size, follow, **numbers):
        super().__init__(size, 0)
        self.follow = follow
        vars(self).update(numbers)

    def step(self, state, input, t=0):
        return torch.stack(self.follow(self, *state.unbind(dim=-1)), dim=-1)


def noise(samples, steps, width, scale=1.0):
    """White noise, the same everywhere."""
    return scale * np.random.default_rng(0).standard_normal((samples, steps, width))


def made(name, seed=0, gain=1.0, **settings):
    """A system by its name with seeded weights, each multiplied by `gain`."""
    torch.manual_seed(seed)
    system = dl.create(name, **settings).double()
    with torch.no_grad():
        for weight in system.parameters() if gain != 1.0 else ():
            weight.mul_(gain)
    return system


def vanilla(W, b=None, activation="tanh", V=None):
    """φ(W h + V x + b) with one input that does nothing, unless V is given."""
    n = len(W)
    V = np.zeros((n, 1)) if V is None else np.asarray(V, float)
    system = dl.create("vanilla", input_size=V.shape[1], state_size=n, activation=activation).double()
    with torch.no_grad():
        for weight, values in ((system.W, W), (system.V, V), (system.b, np.zeros(n) if b is None else b)):
            weight.copy_(torch.as_tensor(np.asarray(values, float)))
    return system


def affine(W):
    """What makes the linear map h ↦ W h."""
    return lambda: vanilla(W, activation="identity")


def driven_linear(matrix, drive):
    """h_t = M h_{t−1} + D x_t."""
    M, D = (torch.as_tensor(np.asarray(each, dtype=float)) for each in (matrix, drive))
    return dl.from_function(lambda h, x: h @ M.T.to(h) + x @ D.T.to(h), M.shape[0], D.shape[1])


def small_network(kind, seed):
    """A network of tests/truths/small_networks.py, with the input held at 0."""
    units, scale, _ = {"gru": (3, 4.0, 3), "lstm": (3, 6.0, 4), "rnn": (4, 2.0, 1)}[kind]
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    draws = np.random.default_rng(seed)
    W, b = scale / np.sqrt(units) * draws.standard_normal((gates * units, units)), draws.standard_normal(gates * units)
    cell = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM, "rnn": torch.nn.RNN}[kind](1, units).double()
    with torch.no_grad():
        for weight, value in zip(cell.parameters(), (0 * W[:, :1], W, 0.5 * b, 0 * b), strict=True):
            weight.copy_(torch.as_tensor(value))
    return dl.from_module(cell)


SMALL_NETWORKS = json.loads((Path(__file__).parent / "truths" / "small_networks.json").read_text())


# ---- Truths that are computed beside dynlab ----
def autograd_jacobians(system, inputs, initial_state=None):
    """∂h_t/∂h_{t−1} at every step of one sequence by torch's reverse mode on the step itself."""
    system = copy.deepcopy(system).double().eval()
    inputs = torch.as_tensor(np.asarray(inputs, float))
    h = torch.zeros(system.state_size, dtype=torch.float64) if initial_state is None else torch.tensor(initial_state)
    found = []
    for t, x in enumerate(inputs):
        found.append(torch.func.jacrev(lambda h, x=x, t=t: system.step(h, x, t))(h).detach().numpy())
        h = system.step(h, x, t).detach()
    return np.array(found)


def product(matrices):
    """J_T … J_1."""
    return np.linalg.multi_dot(matrices[::-1]) if len(matrices) > 1 else matrices[0]


def sorted_moduli(matrices):
    return np.sort(np.abs(np.linalg.eigvals(matrices)), axis=-1)[..., ::-1]


def module_jacobian(module, inputs):
    """∂(all states at the end)/∂(all states at the start) of torch's own recurrent layer, by reverse mode."""
    module = copy.deepcopy(module).double()
    weights = dict(module.named_parameters())
    layers, units = module.num_layers, module.hidden_size
    two = isinstance(module, torch.nn.LSTM)
    x = torch.as_tensor(inputs)

    def end(flat):
        parts = flat.reshape(2 if two else 1, layers, units)
        _, last = torch.func.functional_call(module, weights, (x, tuple(parts) if two else parts[0]))
        return torch.cat([one.flatten() for one in last]) if two else last.flatten()

    return torch.func.jacrev(end)(torch.zeros((1 + two) * layers * units, dtype=torch.float64)).detach().numpy()


def relu_fixed_points(W, b):
    """All fixed points of relu(W h + b), by one linear system for every set of active units."""
    W, b = np.asarray(W, float), np.asarray(b, float)
    found = []
    for active in itertools.product((0.0, 1.0), repeat=len(b)):
        D = np.diag(active)
        h = np.linalg.solve(np.eye(len(b)) - D @ W, D @ b)
        if np.array_equal(W @ h + b > 0, np.array(active) > 0):
            found.append((h.tolist(), np.abs(np.linalg.eigvals(D @ W)).max()))
    return sorted(found)


def log_singular_values(matrix, power, digits=400):
    """Natural logarithms of the singular values of a power of a matrix, in many digits."""
    with mpmath.workdps(digits):
        raised = mpmath.matrix(np.asarray(matrix).tolist()) ** power
        squares = mpmath.eigsy(raised.T * raised, eigvals_only=True)
        return np.array(sorted((float(mpmath.log(one) / 2) for one in squares), reverse=True))


def tanh_roots(w):
    """The fixed points 0 and ±h of tanh(w h), in 40 digits."""
    with mpmath.workdps(40):
        h = float(mpmath.findroot(lambda h: mpmath.tanh(w * h) - h, 1))
    return [-h, 0.0, h]


def rest_of(module, steps=3000):
    """Where torch's own layer without input comes to rest from 0, [h, c] of an LSTM."""
    with torch.no_grad():
        x = torch.zeros(steps, module.input_size, dtype=torch.float64)
        _, last = module.double()(x)
    return np.concatenate([one.flatten().numpy() for one in (last if isinstance(last, tuple) else (last,))])


def lstm(units, layers=1, seed=0, kind=torch.nn.LSTM, inputs=2):
    """One of torch's recurrent layers with its initial weights."""
    torch.manual_seed(seed)
    return kind(inputs, units, layers).double()


def of_module(module):
    """What makes the system of a layer."""
    return lambda: dl.from_module(module)


# ---- Systems of the rows ----
def oscillator():
    """x'' = −x − 0.2 x', with λ = −0.1 ± i √0.99."""
    return Field(2, lambda s, x, v: (v, -x - 0.2 * v))


def van_der_pol():
    return Field(2, lambda s, x, v: (v, s.mu * (1 - x * x) * v - x), mu=1.0)


def wells():
    """u' = u − u³ three times over: 27 equilibria, of which 8 are stable."""
    return Field(3, lambda s, *u: tuple(one - one**3 for one in u))


def fitzhugh_nagumo(speed=1.0):
    return Field(2, lambda s, v, w: (speed * (v - v**3 / 3 - w + s.I), speed * 0.08 * (v + 0.7 - 0.8 * w)), I=0.5)


def hodgkin_huxley():
    """Hodgkin and Huxley's axon in mV and ms, whose leak of 10.5989 mV above rest lets it rest at −65 mV."""

    def rates(s, v, m, h, n):
        def rise(u):
            return u / (1 - torch.exp(-u))

        gates = (
            (rise((v + 40) / 10), 4 * torch.exp(-(v + 65) / 18), m),
            (0.07 * torch.exp(-(v + 65) / 20), 1 / (1 + torch.exp(-(v + 35) / 10)), h),
            (0.1 * rise((v + 55) / 10), 0.125 * torch.exp(-(v + 65) / 80), n),
        )
        current = s.I - 120 * m**3 * h * (v - 50) - 36 * n**4 * (v + 77) - 0.3 * (v + 54.4011)
        return current, *(a * (1 - gate) - b * gate for a, b, gate in gates)

    return Field(4, rates, I=10.0)


def tent(slope):
    """slope · min(h, 1 − h) beside a coordinate that vanishes; its exponent is ln slope."""
    return Rule(2, lambda s, h, k: (s.slope * (h - 2 * torch.relu(h - 0.5)), 0.5 * k), slope=slope)


def present_value():
    """A root is a rate of return of −100, 60, 60: (1 + h)² = 0.6 (1 + h) + 0.6."""
    return Rule(1, lambda s, h: (h + 0.01 * (-100 + 60 / (1 + h) + 60 / (1 + h) ** 2),))


def cubic_map():
    """Euler's step of x' = −x³, y' = −y: an isolated equilibrium with λ = 0."""
    return Field(2, lambda s, x, y: (-(x**3), -y))


LINEAR_5 = np.random.default_rng(5).standard_normal((5, 5)) / 2
GRADED = np.diag([3.0, 1.0, 0.3, 1e-2]) + 0.5 * np.triu(np.ones((4, 4)), 1)
ROTATION = 0.9 * np.array([[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
RELU_W = np.random.default_rng(3).standard_normal((6, 6)) * 0.7
RELU_B = np.random.default_rng(4).standard_normal(6)
RELU_POINTS = relu_fixed_points(RELU_W, RELU_B)
LORENZ_POINTS = np.array(sorted(lorenz_equilibria().tolist()))
DEAD = ([[1.5, 0, 0], [0, 0.5, 0], [0, 0, 0]], [-1.0, 1.0, -1.0])  # a unit that never wakes, at (2, 2, 0) a saddle
KINK = [[0.3, 0.2, 0.0], [-0.3, 0.2, 0.1], [0.0, 0.1, 0.4]]  # of norm below 1: its origin attracts, kink or not
LSTM_16, LSTM_STACK, GRU_STACK = lstm(16), lstm(12, 2), lstm(12, 3, kind=torch.nn.GRU)
LSTM_128, GRU_256, LSTM_768 = lstm(128), lstm(256, kind=torch.nn.GRU), lstm(768)
UNROLLED = noise(1, 12, 2)

NAMES = (
    "vanilla feedback antisymmetric antisymmetric-gated residual-gated fastrnn fastgrnn ugrnn modrelu exprnn dtriv "
    "scornn asrnn nnrnn spectral soft-orthogonal"
)
# Every family of cells, small, with the settings it needs; ReLU ones among them.
CELLS = {
    **{name: {"input_size": 2, "hidden_size": 8} for name in ("rnn", "lstm", "gru", "cornn", "urnn", "fc-urnn", "kru")},
    **{name: {"input_size": 2, "state_size": 8} for name in NAMES.split()},
    "ernn": {"input_size": 2, "state_size": 8, "length": 8, "rank": 3, "eta": 0.2},
    "ernn-deep": {"input_size": 2, "state_size": 8, "length": 8, "eta": 0.2},
}
FAMILIES = {name: (name, settings) for name, settings in CELLS.items()} | {
    "rnn relu": ("rnn", {"input_size": 2, "hidden_size": 8, "nonlinearity": "relu"}),
    "vanilla relu": ("vanilla", {"input_size": 2, "state_size": 8, "activation": "relu"}),
    "fastrnn relu": ("fastrnn", {"input_size": 2, "state_size": 8, "activation": "relu"}),
    "rnn stack": ("rnn", {"input_size": 2, "hidden_size": 5, "num_layers": 2}),
    "lstm stack": ("lstm", {"input_size": 2, "hidden_size": 4, "num_layers": 2}),
    "lstm projected": ("lstm", {"input_size": 2, "hidden_size": 6, "proj_size": 3}),
}
DRIVE = noise(1, 6, 2)


def along(system, inputs):
    """Jacobians by dynlab along the sequence, dense."""
    from dynlab.program.differentiation import jacobian

    found, h = [], torch.zeros(system.state_size, dtype=torch.float64)
    for t, x in enumerate(torch.as_tensor(inputs)):
        found.append(jacobian(system, h, x, t).dense().detach().numpy())
        h = system.step(h, x, t).detach()
    return np.array(found)


def points_of(ds):
    return np.array(sorted(ds["fixed_point_state"].values.tolist()))


def from_zero(system, inputs):
    """`gradient` from the state 0, whatever the network has learned to start at."""
    return dl.gradient(system, inputs, initial_state=np.zeros(system.state_size))


def log_of(matrix):
    """The natural logarithm of a spectral norm, −∞ of 0."""
    return math.log(np.linalg.norm(matrix, 2)) if matrix.any() else -math.inf


def at(name, *index):
    """An entry of a variable."""
    return lambda ds: ds[name].values[index]


first_exponent, its_error = at("exponent", 0, 0), at("exponent_error", 0, 0)


def real_parts(ds):
    """Of the first eigenvalue of every fixed point, sorted."""
    return np.sort(ds["eigenvalue"].values[:, 0].real)


def bifurcations(kind):
    """The parameters of all bifurcations of one kind, sorted."""
    return lambda ds: np.sort(ds["bifurcation_parameter"].values[ds["bifurcation_kind"].values == kind])


def says(text):
    """1 where the verdict holds a text."""
    return lambda ds: float(text in ds.attrs["verdict"])


def planar_flow(W):
    """h' = tanh(W h)."""
    W = torch.as_tensor(W)
    return Field(2, lambda s, *h: tuple(torch.tanh(torch.stack(h, dim=-1) @ W.mT).unbind(dim=-1)))


def cycle_exponent(r, period):
    """The mean of ln |r (1 − 2x)| over the logistic map's attracting cycle."""
    x = 0.3
    for _ in range(20000):
        x = r * x * (1 - x)
    total = 0.0
    for _ in range(period):
        total, x = total + math.log(abs(r * (1 - 2 * x))), r * x * (1 - x)
    return total / period


def henon_leaving(grid, extent):
    """The share of starts on a square grid about 0 from which the Hénon map runs away."""
    x, y = (one.ravel() for one in np.meshgrid(*[np.linspace(-extent, extent, grid)] * 2))
    for _ in range(500):
        x, y = np.clip(1 - 1.4 * x**2 + y, -1e6, 1e6), np.clip(0.3 * x, -1e6, 1e6)
    return float((np.hypot(x, y) > 1e3).mean())


def participation(system, inputs):
    """(Σ λ)²/Σ λ² of the covariance of all states along sequences."""
    states = dl.simulate(system, inputs)["trajectory"].values[:, 1:].reshape(-1, system.state_size)
    spectrum = np.linalg.eigvalsh(np.cov(states.T))
    return spectrum.sum() ** 2 / (spectrum**2).sum()


def smallest_of(matrix, z):
    """σ_min(z − J)."""
    return np.linalg.svd(z[..., None, None] * np.eye(len(matrix)) - np.array(matrix), compute_uv=False)[..., -1]


def orthogonal_cell():
    """An expRNN without bias."""
    system = made("exprnn", input_size=2, state_size=16)
    with torch.no_grad():
        system.b.zero_()
    return system


def leaky_reservoir():
    """h ← 0.7 h + 0.3 tanh(V x), a reservoir whose recurrent matrix is 0."""
    V = torch.ones(1, 64, dtype=torch.float64)
    return dl.from_function(lambda h, x: 0.7 * h + 0.3 * torch.tanh(x @ V.to(x)), 64, 1)


def timed_lyapunov(system, **arguments):
    """The processor's seconds of `lyapunov`, compiled before."""
    dl.lyapunov(system, **arguments | {"seconds": 1})
    begun = time.process_time()
    dl.lyapunov(system, **arguments)
    return time.process_time() - begun


P = Problem
# fmt: off
PROBLEMS = [  # a row in two to four lines
    # --- the Jacobian itself, and what follows from products of a few of them, of every family ---
    *(
        P(f"{label}: jacobian", lambda n=n, k=k: made(n, **k), along, {"inputs": DRIVE[0]}, lambda J: J,
          lambda s: autograd_jacobians(s, DRIVE[0]), "torch's reverse mode on the step", 1e-13)
        for label, (n, k) in FAMILIES.items()
    ),
    *(
        P(f"{label}: gradient", lambda n=n, k=k: made(n, **k), from_zero, {"inputs": DRIVE}, at("log_norm", 0, 0),
          lambda s: log_of(product(autograd_jacobians(s, DRIVE[0]))), "SVD of the product", 1e-10)
        for label, (n, k) in FAMILIES.items()
    ),
    P("linear cell of ERNN's equilibrium: J = −I", lambda: made("ernn-exact", input_size=2, state_size=6), along,
      {"inputs": DRIVE[0]}, lambda J: J, np.broadcast_to(-np.eye(6), (6, 6, 6)), "h_k = z*(x_k) − h_{k−1}", 1e-12),
    # --- spectra ---
    P("W_diff: modulus", lambda: dl.Euler(Field(2, lambda s, x, y: (-0.15 * x - 2 * y, 2 * x - 0.15 * y)), 0.1),
      "spectrum", {"inputs": np.zeros((1, 3, 0))}, "spectral_radius", MODULUS_DIFF, "|1 + 0.1 (−0.15 + 2i)|", 1e-14),
    P("rnn: moduli along a sequence", lambda: made("rnn", gain=3.0, input_size=2, hidden_size=24), "spectrum",
      {"inputs": DRIVE}, lambda ds: np.abs(ds["eigenvalue"].values[0]), lambda s: sorted_moduli(autograd_jacobians(s,
      DRIVE[0])), "LAPACK on reverse mode", 1e-11),
    P("exprnn: every modulus is 1", orthogonal_cell, "spectrum", {"inputs": DRIVE},
      lambda ds: np.abs(ds["eigenvalue"].values), 1.0, "an orthogonal matrix; modReLU with b = 0 has slope 1", 1e-13),
    P("normal and Jordan: departure", affine([[0.0, 1.0], [0.0, 0.0]]), "spectrum", {"inputs": np.zeros((1, 2, 1))},
      "departure_from_normality", math.sqrt(2), "hand", 1e-14),
    P("100 steps: the largest radius is over all", lambda: made("rnn", seed=1, gain=4.0, input_size=2, hidden_size=6),
      "spectrum", {"inputs": noise(1, 100, 2), "times": 100}, lambda ds: ds["spectral_radius"].values.max(),
      lambda s: sorted_moduli(autograd_jacobians(s, noise(1, 100, 2)[0])).max(), "LAPACK at each step", 1e-11),
    P("linear: ln ‖W^20‖", affine(LINEAR_5), "gradient", {"inputs": np.zeros((1, 20, 1))}, at("log_norm", 0, 0),
      log_singular_values(LINEAR_5, 20)[0], "mpmath, 400 digits", 1e-12),
    P("linear: every ln σ of W^50", affine(GRADED), "end_to_end", {"inputs": np.zeros((1, 50, 1)), "times": 2},
      at("log_singular_value", 0, -1), log_singular_values(GRADED, 50), "mpmath, 400 digits", 1e-9),
    P("linear: Σ ln σ = T ln |det W|", affine(GRADED), "end_to_end", {"inputs": np.zeros((1, 50, 1)), "times": 2},
      at("mean_log_modulus", 0, -1), 50 * math.log(0.009) / 4, "triangular", 1e-10),
    P("lstm 16: ln ‖∂h_T/∂h_0‖", of_module(LSTM_16), "gradient", {"inputs": UNROLLED}, at("log_norm", 0, 0),
      lambda s: log_of(module_jacobian(LSTM_16, UNROLLED[0])), "reverse mode through torch's LSTM", 1e-11),
    P("lstm of two layers: σ", of_module(LSTM_STACK), "end_to_end", {"inputs": UNROLLED, "times": 2},
      lambda ds: ds["log_singular_value"].values[0, -1, :12],
      lambda s: np.log(np.linalg.svd(module_jacobian(LSTM_STACK, UNROLLED[0]))[1][:12]), "reverse mode and SVD", 1e-9),
    P("gru of three layers: σ", of_module(GRU_STACK), "end_to_end", {"inputs": UNROLLED, "times": 2},
      lambda ds: ds["log_singular_value"].values[0, -1, :12], lambda s: np.log(np.linalg.svd(module_jacobian(GRU_STACK,
      UNROLLED[0]))[1][:12]), "reverse mode and SVD", 1e-9),
    P("lstm 128 (256 states): ln ‖∂h_T/∂h_0‖", of_module(LSTM_128), "gradient", {"inputs": UNROLLED}, at("log_norm", 0,
      0), lambda s: log_of(module_jacobian(LSTM_128, UNROLLED[0])), "reverse mode", 1e-11),
    P("lstm 768 (1,536 states): ln ‖∂h_T/∂h_0‖", of_module(LSTM_768), "gradient", {"inputs": UNROLLED[:, :4]},
      at("log_norm", 0, 0), lambda s: log_of(module_jacobian(LSTM_768, UNROLLED[0, :4])),
      "reverse mode; Lanczos states ± 0.04", 0.05, slow=True),
    P("exprnn of the zoo: the largest σ is known", lambda: dl.load("exprnn-smnist"), "end_to_end", {"inputs": noise(1,
      60, 1), "times": 1}, at("log_singular_value", 0, -1, 0), lambda s: dl.gradient(s, noise(1, 60,
      1))["log_norm"].values[0, 0], "`gradient` of the same sequence", 1e-6),
    P("exprnn: how many σ ≥ 0.1", lambda: made("exprnn", input_size=9, state_size=24), "gradient", {"inputs": noise(3,
      128, 9)}, "surviving", lambda s: [(np.linalg.svd(product(autograd_jacobians(s,
      x)))[1] >= 0.1).sum() for x in noise(3, 128, 9)], "NumPy's SVD of the product", 0.1),
    P("a ReLU network forgets exactly", lambda: vanilla(np.eye(4), activation="relu", V=np.eye(4)), "gradient",
      {"inputs": noise(8, 60, 4, 0.3)}, lambda ds: np.isneginf(ds["log_norm"].values[:, 0]).sum(),
      lambda s: sum(not product(autograd_jacobians(s, x)).any() for x in noise(8, 60, 4, 0.3)), "exact zeros", 0.1),
    P("a ReLU network forgets: the verdict counts it", lambda: vanilla(np.eye(4), activation="relu", V=np.eye(4)),
      "gradient", {"inputs": noise(8, 60, 4, 0.3)}, says("of 8"), 1.0, "as many as the row above", 0.1),
    P("a ReLU network: no sentence round a missing number", lambda: vanilla(np.eye(8), activation="relu", V=np.eye(8)),
      "lyapunov", {"inputs": noise(16, 200, 8, 0.3)}, says("not known nat"), 0.0, "VOICE", 0.1),
    # --- fixed points ---
    P("tanh(2h): three points", lambda: vanilla([[2.0]]), "fixed_points", {}, lambda ds: points_of(ds)[:, 0],
      tanh_roots(2), "mpmath", 1e-14, decided=True),
    P("tanh(2h): multipliers", lambda: vanilla([[2.0]]), "fixed_points", {}, real_parts,
      [2 * (1 - tanh_roots(2)[0] ** 2)] * 2 + [2.0], "2 (1 − h²)", 1e-13, decided=True),
    P("tanh(2h) three times: 27, 8 stable", lambda: vanilla(2 * np.eye(3)), "fixed_points", {},
      lambda ds: [ds.sizes["fixed_point"], int((ds["stable"] == 1).sum())], [27, 8], "3³ and 2³", 0.1),
    P("antisymmetric: one point", lambda: made("antisymmetric", input_size=2, state_size=12, gamma=0.1, step_size=0.1),
      "fixed_points", {"at": [0.5, -1.0]}, points_of, lambda s: -np.linalg.solve(s.flow.M.detach().numpy(),
      (s.flow.V @ torch.tensor([0.5, -1.0]).double() + s.flow.b).detach().numpy())[None], "h* = −M⁻¹ (V x + b)", 1e-10,
      decided=True),
    P("relu 6: all points", lambda: vanilla(RELU_W, RELU_B, "relu"), "fixed_points", {}, points_of, [h for h,
      _ in RELU_POINTS], "a linear system for each of 64 regions", 1e-12, decided=True),
    P("relu 6: radii", lambda: vanilla(RELU_W, RELU_B, "relu"), "fixed_points", {},
      lambda ds: np.sort(np.abs(ds["eigenvalue"].values).max(axis=1)), sorted(r for _, r in RELU_POINTS), "the same",
      1e-12, decided=True),
    *(
        P(f"{kind} of brute force, seed {seed}", lambda k=kind, i=seed: small_network(k, i), "fixed_points", {},
          lambda ds, n={"gru": 3, "lstm": 3, "rnn": 4}[kind]: np.array(sorted(points_of(ds)[:, :n].tolist())),
          SMALL_NETWORKS[f"{kind} {seed}"], "2,000 starts of fsolve: tests/truths", 1e-10, decided=True)
        for kind, seed in (("gru", 2), ("rnn", 1), ("lstm", 3), ("lstm", 0))
    ),
    P("lstm 16: rest and radius", of_module(LSTM_16), "fixed_points", {"starts": 16}, points_of,
      lambda s: rest_of(LSTM_16)[None], "torch's LSTM run for 3,000 steps", 1e-12, decided=True),
    P("gru 256: rest", of_module(GRU_256), "fixed_points", {"starts": 2}, points_of, lambda s: rest_of(GRU_256)[None],
      "torch's GRU run for 3,000 steps", 1e-12, decided=True),
    P("hénon: points", "henon", "fixed_points", {}, points_of, np.sort(henon_fixed_points(), axis=0),
      "a x² + (1 − b) x − 1 = 0", 1e-14, decided=True),
    P("logistic: multipliers r and 2 − r", lambda: dl.create("logistic", r=3.2), "fixed_points", {}, real_parts, [-1.2,
      3.2], "by hand", 1e-13, decided=True),
    P("lorenz by Euler: three points", lambda: dl.Euler(dl.create("lorenz"), 0.01), "fixed_points", {}, points_of,
      LORENZ_POINTS, "closed form", 1e-12, decided=True),
    P("an oscillator: λ of the flow", oscillator, "fixed_points", {}, at("eigenvalue", 0),
      [-0.1 + 1j * math.sqrt(0.99), -0.1 - 1j * math.sqrt(0.99)], "λ² + 0.2 λ + 1 = 0", 1e-12),
    P("lorenz: equilibria of the flow", "lorenz", "fixed_points", {}, points_of, LORENZ_POINTS, "closed form", 1e-12,
      decided=True),
    P("a step of a flow says that it is one", lambda: dl.Euler(oscillator(), 0.1), "fixed_points", {}, says("Euler"),
      1.0, "VOICE", 0.1),
    P("a rate of return", present_value, "fixed_points", {"starts": 16}, lambda ds: points_of(ds).max(),
      (0.6 + math.sqrt(0.36 + 2.4)) / 2 - 1, "a quadratic", 1e-12),
    P("dead ReLU units: a saddle all the same", lambda: vanilla(*DEAD, "relu"), "fixed_points", {},
      lambda ds: sorted(map(str, ds["kind"].values)), ["saddle", "stable node"], "three eigenvalues on the diagonal",
      decided=True),
    P("a kink within a contraction is stable", lambda: vanilla(KINK, activation="relu"), "fixed_points",
      {"certify": True}, "stable", [1], "‖W‖ < 1", 0.1),
    P("x' = −x³ is isolated", cubic_map, "phase_plane", {"grid": 5}, lambda ds: "line" in ds["flow_kind"].values[0],
      0.0, "x³ = 0 only at 0", 0.1),
    # --- planar systems ---
    *(
        P(f"W_{name}: 50 steps", lambda m=name: dl.Euler(planar_flow(PLANAR[m]), 0.1), "phase_plane", {"grid": 5,
          "starts": STARTS}, lambda ds: ds["trajectory"].values[:, 50], END_STATES[name], "mpmath", 1e-10)
        for name in PLANAR
    ),
    P("W_diff: critical step", lambda: dl.Euler(planar_flow(PLANAR["diff"]), 0.1), "phase_plane", {"grid": 5},
      "critical_step", CRITICAL_STEP_DIFF, "2γ/(γ² + ω²)", 1e-12),
    *(
        P(f"linear: {kind}", lambda k=kind: dl.create("linear", matrix=LINEAR[k][0]), "phase_plane", {"grid": 5},
          at("flow_kind", 0), kind, "trace and determinant")
        for kind in ("stable node", "unstable focus", "saddle", "center")
    ),
    P("linear: improper node", lambda: dl.create("linear", matrix=LINEAR["improper node"][0]), "phase_plane",
      {"grid": 5}, at("flow_kind", 0), "stable improper node", "one eigenvector"),
    P("van der Pol: λ at 0", van_der_pol, "phase_plane", {"grid": 5}, at("flow_eigenvalue", 0),
      [0.5 + 1j * math.sqrt(0.75), 0.5 - 1j * math.sqrt(0.75)], "λ² − λ + 1 = 0", 1e-12),
    P("van der Pol: its limit cycle", van_der_pol, "phase_plane", {"grid": 5}, "orbit_period", 6.66328685932313,
      "Andersen and Geer, SIAM J. Appl. Math. 42 (1982)", 1e-7),
    P("van der Pol: its Floquet multiplier", van_der_pol, "phase_plane", {"grid": 5},
      lambda ds: np.log(ds["floquet_multiplier"].values) / ds["orbit_period"].values, SMALL_NETWORKS["van der Pol"][1],
      "mean divergence: tests/truths", 1e-4),
    # --- exponents ---
    P("logistic at 4: ln 2", "logistic", "lyapunov", {"steps": 5000}, first_exponent, LOGISTIC_EXPONENT,
      "the tent map", its_error, cap=0.05),
    P("hénon: the largest", "henon", "lyapunov", {"steps": 5000}, first_exponent, HENON_LARGEST_EXPONENT,
      "Sprott 2003", its_error, cap=0.05),
    P("hénon: the sum is ln b", "henon", "lyapunov", {"steps": 2000}, lambda ds: [ds["exponent"].values.sum(),
      ds["mean_log_det"].values[0]], HENON_EXPONENT_SUM, "|det J| = b", 1e-9),
    P("tent: ln 1.9", lambda: tent(1.9), "lyapunov", {"steps": 2000, "initial_state": [0.3, 0.1]}, first_exponent,
      math.log(1.9), "every slope is ± 1.9", 1e-11),
    P("logistic at 3.5: a cycle of four", lambda: dl.create("logistic", r=3.5), "lyapunov", {"steps": 4000},
      first_exponent, lambda s: cycle_exponent(3.5, 4), "Π r (1 − 2x) over the cycle", 1e-6),
    P("a rotation that shrinks: ln 0.9", affine(ROTATION), "lyapunov", {"steps": 400, "initial_state": [1.0, 0.5]},
      at("exponent", 0), math.log(0.9), "|μ|", 1e-10),
    P("lorenz: the sum is the divergence", "lorenz", "lyapunov", {"seconds": 4},
      lambda ds: ds["exponent"].values.sum(), lorenz_exponent_sum(), "−(σ + 1 + β)", 1e-6),
    P("lorenz: the largest", "lorenz", "lyapunov", {"seconds": 12, "k": 1, "initial_state": [1.0, 1.0, 20.0]},
      first_exponent, LORENZ_EXPONENTS[0], "Sprott 2003", its_error, cap=3.0),
    P("rössler: the sum is the mean divergence", "roessler", "lyapunov", {"seconds": 10},
      lambda ds: ds["exponent"].values.sum() - ds["mean_log_det"].values[0], 0.0, "Liouville", 1e-5),
    P("van der Pol: Floquet's exponent", van_der_pol, "lyapunov", {"seconds": 30, "initial_state": [2.0, 0.0]},
      at("exponent", 0, 1), SMALL_NETWORKS["van der Pol"][1], "mean divergence: tests/truths", at("exponent_error", 0,
      1), cap=0.2),
    P("van der Pol: the flow's own zero", van_der_pol, "lyapunov", {"seconds": 30}, says("longer"), 0.0,
      "the flow's direction has the exponent 0", 0.1),
    P("lorenz: 10 s in a second", "lorenz", timed_lyapunov, {"seconds": 10, "k": 3}, float, 0.0,
      "SciPy's loop takes 0.1 s", 1.0),
    P("driven: Σ exponents = mean ln |det J|", lambda: made("rnn", gain=2.0, input_size=2, hidden_size=6), "lyapunov",
      {"inputs": noise(2, 80, 2)},
      lambda ds: ds["finite_time_exponent"].values.sum(axis=1) - ds["mean_log_det"].values, 0.0, "an identity of QR",
      1e-10),
    # --- covariant vectors ---
    P("a diagonal map: vectors and exponents", affine([[0.9, 0.3], [0.0, 0.5]]), "covariant_vectors", {"steps": 200,
      "initial_state": [1.0, 1.0]}, at("exponent", 0), [math.log(0.9), math.log(0.5)], "triangular", 1e-9),
    P("a triangular map: the second vector", affine([[0.9, 0.3], [0.0, 0.5]]), "covariant_vectors", {"steps": 400,
      "initial_state": [1.0, 1.0]}, lambda ds: np.abs(ds["vector"].values[0, 5, 1]), [0.6, 0.8], "W v = v/2", 1e-9),
    # --- basins ---
    P("tanh(2h) twice: four quarters", lambda: vanilla(2 * np.eye(2)), "basins", {"grid": 20}, "share", [0.25] * 4,
      "four quadrants", 1e-12, decided=True),
    P("hénon: how many starts leave", "henon", "basins", {"grid": 20, "extent": 2.0, "steps": 500}, "leaving_share",
      lambda s: henon_leaving(20, 2.0), "iterated in NumPy", 1e-12),
    P("eight wells in three dimensions", lambda: dl.Euler(wells(), 0.1), "basins", {"grid": 12},
      lambda ds: int((ds["stable"] == 1).sum()), 8, "u = ± 1 thrice", 0.1),
    P("thin chaos", lambda: tent(1.004), "basins", {"grid": 6, "extent": 0.9}, at("largest_exponent", 0),
      math.log(1.004), "every slope is ± 1.004", 1e-3),
    # --- bifurcations ---
    P("tanh: imperfect fold", lambda: vanilla([[2.0]], [0.2]), "bifurcation", {"parameter": "W[0,0]", "lowest": 1.0,
      "highest": 3.0, "values": 0, "searches": 2, "starts": 32}, bifurcations("fold"), [imperfect_tanh_fold(0.2)[0]],
      "40 digits", 1e-8),
    P("logistic: two doublings", "logistic", "bifurcation", {"parameter": "r", "lowest": 2.5, "highest": 3.5,
      "max_period": 2, "values": 0}, bifurcations("flip"), [3.0, 1 + math.sqrt(6)], "closed form", 1e-8),
    P("hénon: fold and doublings", "henon", "bifurcation", {"parameter": "a", "lowest": -0.5, "highest": 1.0,
      "max_period": 2, "values": 0}, lambda ds: np.sort(ds["bifurcation_parameter"].values),
      sorted(henon_bifurcations()), "closed form", 1e-8),
    P("lorenz: Hopf", "lorenz", "bifurcation", {"parameter": "rho", "lowest": 20.0, "highest": 27.0, "values": 0,
      "searches": 1, "starts": 32}, lambda ds: np.unique(bifurcations("Hopf")(ds).round(9)), [lorenz_hopf()[0]],
      "Routh–Hurwitz", 1e-7),
    P("Hodgkin and Huxley: Hopf", hodgkin_huxley, "bifurcation", {"parameter": "I", "lowest": 150.0, "highest": 158.0,
      "values": 0, "searches": 1, "starts": 16}, bifurcations("Hopf"), [154.5267], "published, to four digits", 1e-3),
    P("a population of a million: transcritical", lambda: Field(1, lambda s, x: (x * (s.p - x / 1e6),), p=0.5),
      "bifurcation", {"parameter": "p", "lowest": -0.5, "highest": 1.0, "values": 0, "searches": 2, "starts": 16},
      bifurcations("transcritical"), [0.0], "p = 0", 1e-8),
    P("FitzHugh–Nagumo settles whatever its unit of time", lambda: fitzhugh_nagumo(1 / 20), "bifurcation",
      {"parameter": "I", "lowest": 0.4, "highest": 0.6, "values": 3, "searches": 1, "starts": 8},
      lambda ds: int((ds["settled"] != 1).sum()), 0, "a periodic orbit attracts", 0.1),
    P("just before a flip: no period two", lambda: vanilla([[-1.0, 0.0], [0.0, 0.5]]), "parameter_plane",
      {"parameters": ("W[0,0]", "W[1,1]"), "lowest": (-0.9999, 0.2), "highest": (-0.99, 0.5), "grid": 5, "state": [0.5,
      0.1]}, lambda ds: int(((ds["period"] > 1) & (ds["stable"] == 1)).sum()), 0,
      "where the fixed point is stable the period is 1", 0.1),
    # --- modes, geometry, pseudospectra ---
    P("a linear map: time constants", affine([[0.9, 0.3], [0.0, -0.5]]), "modes", {}, at("time_constant", 0),
      [-1 / math.log(0.9), 1 / math.log(2)], "hand", 1e-11, decided=True),
    P("a rotation: its frequency", affine(ROTATION), "modes", {}, lambda ds: np.abs(ds["frequency"].values[0]),
      0.7 / (2 * math.pi), "arg μ / 2π", 1e-12),
    P("64 equal modes are decided", affine(0.7 * np.eye(64)), "modes", {"starts": 4}, at("time_constant", 0),
      -1 / math.log(0.7), "J = 0.7 I", 1e-9),
    P("leaky reservoir at ρ = 0", leaky_reservoir, "modes", {"starts": 4}, says("none is told"), 0.0, "J = 0.7 I", 0.1),
    P("participation ratio", lambda: made("rnn", gain=2.0, input_size=2, hidden_size=6), "geometry",
      {"inputs": noise(4, 40, 2), "starts": 4}, "participation_ratio", lambda s: participation(s, noise(4, 40, 2)),
      "(Σ λ)²/Σ λ² by NumPy", 1e-10),
    P("pseudospectrum: σ_min of z − J", affine([[0.5, 2.0], [0.0, -0.3]]), "pseudospectrum", {"grid": 9},
      lambda ds: ds["smallest_singular_value"].values - smallest_of([[0.5, 2.0], [0.0, -0.3]],
      ds["x"].values + 1j * ds["y"].values[:, None]), 0.0, "NumPy's SVD", 1e-10),
    P("Jordan block: numerical radius", affine([[0.0, 1.0], [0.0, 0.0]]), "pseudospectrum", {"grid": 9},
      "numerical_radius", 0.5, "cos(π/3)", 1e-9),
    P("growth before decay", affine([[0.9, 5.0], [0.0, 0.8]]), "pseudospectrum", {"grid": 9, "steps": 60},
      "transient_growth", max(np.linalg.norm(np.linalg.matrix_power(np.array([[0.9, 5.0], [0.0, 0.8]]), k),
      2) for k in range(61)), "NumPy", 1e-10),
    # --- steps, energy, bounds ---
    P("W_diff: the critical step of its flow", lambda: dl.Euler(planar_flow(PLANAR["diff"]), 0.1), "stability", {},
      at("critical_step", 0, 0), CRITICAL_STEP_DIFF, "2γ/(γ² + ω²)", 1e-12, decided=True),
    P("W_zero: Euler's drift of H", lambda: planar_system(planar_matrix("zero")), "energy", {"initial_state": STARTS,
      "steps": 50, "integrators": ["euler"]}, lambda ds: ds["drift"].values[0, :, 50], log_cosh_energy(PLANAR["zero"],
      0, np.array(END_STATES["zero"])) - log_cosh_energy(PLANAR["zero"], 0, STARTS),
      "H is conserved: its gain is the step's", 1e-9),
    P("check: W_diff leaves the circle", lambda: dl.Euler(planar_flow(PLANAR["diff"]), 0.1), "eigenvalue_bounds",
      {"inputs": np.zeros((1, 5, 0)), "max_modulus": 1.0}, at("measured", 0), MODULUS_DIFF, "|1 + 0.1 (−0.15 + 2i)|",
      1e-13, decided=True),
    P("over a box: ‖J‖ of a contraction", lambda: vanilla(0.5 * ROTATION / 0.9), "box_bounds", {"samples": 8},
      "norm_bound", 0.5, "slope 1 at 0, and an orthogonal matrix", 1e-6),
    P("Lyapunov function of a contraction", lambda: vanilla(0.5 * ROTATION / 0.9), "lyapunov_function", {},
      lambda ds: float(ds["status"].values[0] == "proved"), 1.0, "‖W‖ = 0.5", 0.1),
    P("ERNN: the rate of the inner iteration", lambda: made("ernn", input_size=1, state_size=4, length=5, rank=None,
      activation="tanh"), "ernn_convergence", {"inputs": np.zeros((5, 1)), "eta": 0.5, "iterations": 80},
      lambda ds: ds["rate"].values - ds["predicted_rate"].values, 0.0, "ρ(I + η ∇F)", 1e-4),
    P("a network and itself: distance 0", lambda: made("rnn", input_size=2, hidden_size=6), "compare",
      {"other": made("rnn", input_size=2, hidden_size=6), "inputs": noise(6, 30, 2)}, "distance", 0.0, "the same maps",
      1e-6),
    # --- the zoo ---
    *(
        P(f"{name}: ln ‖∂h_T/∂h_0‖", lambda z=name: dl.load(z), "gradient", {"inputs": noise(1, 8, width)},
          at("log_norm", 0, 0), lambda s, w=width: log_of(product(autograd_jacobians(s, noise(1, 8, w)[0]))),
          "reverse mode on the step and SVD", 1e-10)
        for name, width in (("lstm-har2", 9), ("gru-flipflop", 3), ("ernn-har2-k3", 9), ("scornn-smnist", 1))
    ),
    P("gru-flipflop: eight memories", lambda: dl.load("gru-flipflop"), "fixed_points", {"starts": 32},
      lambda ds: int((ds["stable"] == 1).sum()), 8, "three bits", 0.1, decided=True),
]
# fmt: on
