"""Truths that tests of every kind compare with: closed forms, published constants, independent computations.

Each says where it comes from. Add to the end; change nothing that others rely on.
"""

import copy
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import mpmath
import numpy as np
import scipy.optimize
import scipy.special
import torch

import dynlab as dl
from dynlab.matrices import planar_matrix
from dynlab.systems import SYSTEMS
from dynlab.systems.examples import example_config
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
CRITICAL_STEP_DIFF = critical_step(0.15, 2.0)
MODULUS_DIFF = math.hypot(1 - 0.015, 0.2)


def log_cosh_energy(A, h):
    """H(h) = Σ log cosh((A h)_i), conserved by h' = tanh(A h) for antisymmetric A: dH/dt = fᵀ A f = 0."""
    return np.log(np.cosh(np.asarray(h) @ A.T)).sum(axis=-1)


# --- Textbook systems ---
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
    """w at which two of the three solutions of h = tanh(w h + b) meet, b > 0, in 40 digits."""
    with mpmath.workdps(40):
        b = mpmath.mpf(b)
        # h is the double root: w (1 − h²) = 1 and atanh(h) = w h + b
        near = -((1.5 * b) ** (mpmath.mpf(1) / 3))
        h = mpmath.findroot(lambda h: mpmath.atanh(h) - h / (1 - h**2) - b, near, tol=mpmath.mpf(10) ** -60)
        return float(1 / (1 - h**2))


def lorenz_hopf(sigma=10.0, beta=8 / 3):
    """ρ where the two equilibria off the origin lose stability: the Routh–Hurwitz condition with equality."""
    return sigma * (sigma + beta + 3) / (sigma - beta - 1)


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
    error: float | list[float] | Callable[[Any], Any] = 1e-9
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


def small_weights(kind, seed):
    """W_hh and b of a small network without input, in torch's order of gates."""
    units, gates, scale = {"gru": (3, 3, 4.0), "lstm": (3, 4, 6.0), "rnn": (4, 1, 2.0)}[kind]
    draws = np.random.default_rng(seed)
    W, b = (draws.standard_normal(shape) for shape in ((gates * units, units), gates * units))
    return scale / np.sqrt(units) * W, 0.5 * b


def small_network(kind, seed):
    """The network of those weights, with the input held at 0."""
    W, b = small_weights(kind, seed)
    cell = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM, "rnn": torch.nn.RNN}[kind](1, W.shape[1]).double()
    with torch.no_grad():
        for weight, value in zip(cell.parameters(), (0 * W[:, :1], W, b, 0 * b), strict=True):
            weight.copy_(torch.as_tensor(value))
    return dl.from_module(cell)


# ---- Truths that are computed beside dynlab ----
def autograd_jacobians(system, inputs):
    """∂h_t/∂h_{t−1} at every step of one sequence by torch's reverse mode on the step itself."""
    system = copy.deepcopy(system).double().eval()
    inputs = torch.as_tensor(np.asarray(inputs, float))
    h, found = torch.zeros(system.state_size, dtype=torch.float64), []
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
    """All fixed points of relu(W h + b) and, beside them, all radii in order; a linear system for each active set."""
    points, radii = [], []
    for active in itertools.product((0.0, 1.0), repeat=len(b)):
        D = np.diag(active)
        h = np.linalg.solve(np.eye(len(b)) - D @ W, D @ b)
        if np.array_equal(W @ h + b > 0, np.array(active) > 0):
            points.append(h.tolist())
            radii.append(np.abs(np.linalg.eigvals(D @ W)).max())
    return np.hstack([sorted(points), np.sort(radii)[:, None]])


def small_fixed_points(kind, seed):
    """The h of all fixed points of a small network that SciPy finds from 500 starts, sorted; nothing of dynlab is used.

    2,000 starts find no other ones.
    """
    W, b = small_weights(kind, seed)
    n, sigmoid, found = W.shape[1], scipy.special.expit, []

    def gap(h):
        """Where a gate stands between the state and its candidate, what is left when it is divided out."""
        if kind == "rnn":
            return np.tanh(W @ h + b) - h
        if kind == "gru":
            return np.tanh(b[2 * n :] + sigmoid(W[:n] @ h + b[:n]) * (W[2 * n :] @ h)) - h
        i, f, g, o = (W @ h + b).reshape(4, n)
        return sigmoid(o) * np.tanh(sigmoid(i) * np.tanh(g) / sigmoid(-f)) - h

    for start in np.random.default_rng(0).uniform(-1, 1, (500, n)):
        root, _, ok, _ = scipy.optimize.fsolve(gap, start, full_output=True, xtol=1e-14)
        if ok == 1 and np.abs(gap(root)).max() < 1e-11 and all(np.abs(root - one).max() > 1e-6 for one in found):
            found.append(root)
    return sorted(root.tolist() for root in found)


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


def lstm(units, layers=1, kind=torch.nn.LSTM, seed=0, inputs=2):
    """One of torch's recurrent layers with its initial weights."""
    torch.manual_seed(seed)
    return kind(inputs, units, layers).double()


# ---- Systems of the rows ----
def van_der_pol():
    return dl.EquationFlow("y, mu*(1 - x^2)*y - x", mu=1.0)


def paper(name):
    """What makes h ← h + 0.1 tanh(W h) of a matrix of the paper."""
    return lambda: planar_system(planar_matrix(name))


def hodgkin_huxley():
    """Hodgkin and Huxley's axon in mV and ms, whose leak of 10.5989 mV above rest lets it rest at −65 mV."""
    gates = {
        "y": ("(x + 40)/10/(1 - exp(-(x + 40)/10))", "4*exp(-(x + 65)/18)"),
        "z": ("0.07*exp(-(x + 65)/20)", "1/(1 + exp(-(x + 35)/10))"),
        "w": ("(x + 55)/100/(1 - exp(-(x + 55)/10))", "0.125*exp(-(x + 65)/80)"),
    }
    current = "I - 120*y^3*z*(x - 50) - 36*w^4*(x + 77) - 0.3*(x + 54.4011)"
    rates = [f"{opening}*(1 - {gate}) - {closing}*{gate}" for gate, (opening, closing) in gates.items()]
    return dl.EquationFlow(", ".join([current, *rates]), I=10.0)


def tent(slope):
    """slope · min(h, 1 − h) beside a coordinate that vanishes; its exponent is ln slope."""
    return dl.EquationMap("slope*(x - 2*relu(x - 0.5)), y/2", slope=slope)


LINEAR_5 = np.random.default_rng(5).standard_normal((5, 5)) / 2
GRADED = np.diag([3.0, 1.0, 0.3, 1e-2]) + 0.5 * np.triu(np.ones((4, 4)), 1)
ROTATION = 0.9 * np.array([[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
RELU_W = np.random.default_rng(3).standard_normal((6, 6)) * 0.7
RELU_B = np.random.default_rng(4).standard_normal(6)
DEAD = ([[1.5, 0, 0], [0, 0.5, 0], [0, 0, 0]], [-1.0, 1.0, -1.0])  # a unit that never wakes, at (2, 2, 0) a saddle
KINK = [[0.3, 0.2, 0.0], [-0.3, 0.2, 0.1], [0.0, 0.1, 0.4]]  # of norm below 1: its origin attracts, kink or not
LSTM_16, LSTM_128, LSTM_768, GRU_256 = lstm(16), lstm(128), lstm(768), lstm(256, 1, torch.nn.GRU)
UNROLLED = noise(1, 12, 2)

# Every family of cells, small, with the settings it needs; ReLU ones among them.
FAMILIES = {name: (name, example_config(name, 2, 8)) for name in SYSTEMS if "input_size" in example_config(name)}
del FAMILIES["ernn-exact"]
FAMILIES |= {
    f"{name} {key}": (name, example_config(name, 2, 8) | {key: value})
    for name, key, value in (
        ("rnn", "nonlinearity", "relu"),
        ("vanilla", "activation", "relu"),
        ("fastrnn", "activation", "relu"),
        ("rnn", "num_layers", 2),
        ("lstm", "num_layers", 2),
        ("lstm", "proj_size", 3),
    )
}
DRIVE = noise(1, 5, 2)  # ERNN's example has five steps


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


norm_at_0, first_exponent, its_error = at("log_norm", 0, 0), at("exponent", 0, 0), at("exponent_error", 0, 0)


def stable_count(ds):
    return int((ds["stable"] == 1).sum())


def real_parts(ds):
    """Of the first eigenvalue of every fixed point, sorted."""
    return np.sort(ds["eigenvalue"].values[:, 0].real)


def over(parameter, lowest, highest, **more):
    """What is asked of a bifurcation: curves alone, unless values of the parameter are given."""
    return {"parameter": parameter, "lowest": lowest, "highest": highest, "values": 0} | more


def bifurcations(kind):
    """The parameters of all bifurcations of one kind, sorted."""
    return lambda ds: np.sort(ds["bifurcation_parameter"].values[ds["bifurcation_kind"].values == kind])


def cycle_exponent(r, period):
    """The mean of ln |r (1 − 2x)| over the logistic map's attracting cycle."""
    orbit = [0.3]
    for _ in range(20000):
        orbit.append(r * orbit[-1] * (1 - orbit[-1]))
    return np.log(np.abs(r * (1 - 2 * np.array(orbit[-period:])))).mean()


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


P = Problem
# fmt: off
PROBLEMS = [  # a row in two to four lines
    # --- products of a few Jacobians, of every family ---
    *(
        P(f"{label}: gradient", lambda n=n, k=k: made(n, **k), from_zero, {"inputs": DRIVE}, norm_at_0,
          lambda s: log_of(product(autograd_jacobians(s, DRIVE[0]))), "SVD of the product", 1e-10)
        for label, (n, k) in FAMILIES.items()
    ),
    P("linear cell of ERNN's equilibrium: J = −I", lambda: made("ernn-exact", input_size=2, state_size=6), "spectrum",
      {"inputs": DRIVE}, "eigenvalue", -1.0, "h_k = z*(x_k) − h_{k−1}", 1e-11),
    # --- spectra ---
    P("W_diff: modulus", paper("diff"), "spectrum", {"inputs": np.zeros((1, 3, 0))}, "spectral_radius", MODULUS_DIFF,
      "|1 + 0.1 (−0.15 + 2i)|", 1e-14),
    P("rnn: moduli along a sequence", lambda: made("rnn", gain=3.0, input_size=2, hidden_size=24), "spectrum",
      {"inputs": DRIVE}, lambda ds: np.abs(ds["eigenvalue"].values[0]),
      lambda s: sorted_moduli(autograd_jacobians(s, DRIVE[0])), "LAPACK on reverse mode", 1e-11),
    P("exprnn: every modulus is 1", orthogonal_cell, "spectrum", {"inputs": DRIVE},
      lambda ds: np.abs(ds["eigenvalue"].values), 1.0, "an orthogonal matrix; modReLU with b = 0 has slope 1", 1e-13),
    P("normal and Jordan: departure", affine([[0.0, 1.0], [0.0, 0.0]]), "spectrum", {"inputs": np.zeros((1, 2, 1))},
      "departure_from_normality", math.sqrt(2), "hand", 1e-14),
    P("linear: ln ‖W^20‖", affine(LINEAR_5), "gradient", {"inputs": np.zeros((1, 20, 1))}, norm_at_0,
      log_singular_values(LINEAR_5, 20)[0], "mpmath, 400 digits", 1e-12),
    P("linear: every ln σ of W^50", affine(GRADED), "end_to_end", {"inputs": np.zeros((1, 50, 1)), "times": 2},
      at("log_singular_value", 0, -1), log_singular_values(GRADED, 50), "mpmath, 400 digits", 1e-9),
    P("linear: Σ ln σ = T ln |det W|", affine(GRADED), "end_to_end", {"inputs": np.zeros((1, 50, 1)), "times": 2},
      at("mean_log_modulus", 0, -1), 50 * math.log(0.009) / 4, "triangular", 1e-10),
    *(
        P(f"lstm {of.hidden_size}: the gradient", partial(dl.from_module, of), "gradient", {"inputs": UNROLLED[:, :T]},
          norm_at_0, lambda s, of=of, T=T: log_of(module_jacobian(of, UNROLLED[0, :T])), "reverse mode", wrong,
          slow=of is LSTM_768)
        for of, T, wrong in ((LSTM_16, 12, 1e-11), (LSTM_128, 12, 1e-11), (LSTM_768, 4, 0.05))  # Lanczos': ± 0.04
    ),
    *(
        P(f"{type(of).__name__} of {of.num_layers} layers: σ", partial(dl.from_module, of), "end_to_end",
          {"inputs": UNROLLED, "times": 2}, at("log_singular_value", 0, -1, slice(12)),
          lambda s, of=of: np.log(np.linalg.svd(module_jacobian(of, UNROLLED[0]))[1][:12]), "reverse mode, SVD", 1e-9)
        for of in (lstm(12, 2), lstm(12, 3, torch.nn.GRU))
    ),
    P("exprnn: how many σ ≥ 0.1", lambda: made("exprnn", input_size=9, state_size=24), "gradient",
      {"inputs": noise(3, 128, 9)}, "surviving",
      lambda s: [(np.linalg.svd(product(autograd_jacobians(s, x)))[1] >= 0.1).sum() for x in noise(3, 128, 9)],
      "NumPy's SVD of the product", 0.1),
    P("a ReLU network forgets exactly", lambda: vanilla(np.eye(4), activation="relu", V=np.eye(4)), "gradient",
      {"inputs": noise(8, 60, 4, 0.3)}, lambda ds: np.isneginf(ds["log_norm"].values[:, 0]).sum(),
      lambda s: sum(not product(autograd_jacobians(s, x)).any() for x in noise(8, 60, 4, 0.3)), "exact zeros", 0.1),
    # --- fixed points ---
    P("tanh(2h): three points", lambda: vanilla([[2.0]]), "fixed_points", {},
      lambda ds: [*points_of(ds)[:, 0], *real_parts(ds)], [*tanh_roots(2), *[2 * (1 - tanh_roots(2)[0] ** 2)] * 2, 2.0],
      "mpmath; 2 (1 − h²)", 1e-13, decided=True),
    P("tanh(2h) three times: 27, 8 stable", lambda: vanilla(2 * np.eye(3)), "fixed_points", {},
      lambda ds: [ds.sizes["fixed_point"], int((ds["stable"] == 1).sum())], [27, 8], "3³ and 2³", 0.1),
    P("antisymmetric: one point", lambda: made("antisymmetric", input_size=2, state_size=12, gamma=0.1, step_size=0.1),
      "fixed_points", {"at": [0.5, -1.0]}, points_of, lambda s: -np.linalg.solve(s.flow.M.detach().numpy(),
      (s.flow.V @ torch.tensor([0.5, -1.0]).double() + s.flow.b).detach().numpy())[None], "h* = −M⁻¹ (V x + b)", 1e-10,
      decided=True),
    P("relu 6: all points and radii", lambda: vanilla(RELU_W, RELU_B, "relu"), "fixed_points", {},
      lambda ds: np.hstack([points_of(ds), np.sort(np.abs(ds["eigenvalue"].values).max(axis=1))[:, None]]),
      relu_fixed_points(RELU_W, RELU_B), "a linear system for each of 64 regions", 1e-12, decided=True),
    *(
        P(f"{kind} of brute force, seed {seed}", lambda k=kind, i=seed: small_network(k, i), "fixed_points", {},
          lambda ds, n={"gru": 3, "lstm": 3, "rnn": 4}[kind]: np.array(sorted(points_of(ds)[:, :n].tolist())),
          lambda s, k=kind, i=seed: small_fixed_points(k, i), "fsolve from many starts", 1e-10, decided=True)
        for kind, seed in (("gru", 2), ("rnn", 1), ("lstm", 3), ("lstm", 0))
    ),
    *(
        P(f"{type(of).__name__}: rest", partial(dl.from_module, of), "fixed_points", {"starts": starts}, points_of,
          lambda s, of=of: rest_of(of)[None], "torch's layer run for 3,000 steps", 1e-12, decided=True)
        for of, starts in ((LSTM_16, 16), (GRU_256, 2))
    ),
    P("hénon: points", "henon", "fixed_points", {}, points_of, np.sort(henon_fixed_points(), axis=0),
      "a x² + (1 − b) x − 1 = 0", 1e-14, decided=True),
    P("logistic: multipliers r and 2 − r", lambda: dl.create("logistic", r=3.2), "fixed_points", {}, real_parts,
      [-1.2, 3.2], "by hand", 1e-13, decided=True),
    P("an oscillator: λ of the flow", lambda: dl.EquationFlow("y, -x - 0.2*y"), "fixed_points", {}, at("eigenvalue", 0),
      np.roots([1, 0.2, 1]), "λ² + 0.2 λ + 1 = 0", 1e-12),
    P("lorenz: equilibria of the flow", "lorenz", "fixed_points", {}, points_of,
      np.array(sorted(lorenz_equilibria().tolist())), "closed form", 1e-12, decided=True),
    P("a rate of return", lambda: dl.EquationMap("x + 0.01*(-100 + 60/(1 + x) + 60/(1 + x)^2)"), "fixed_points",
      {"starts": 16}, lambda ds: points_of(ds).max(), math.sqrt(0.69) - 0.7, "(1 + x)² = 0.6 (1 + x) + 0.6", 1e-12),
    P("dead ReLU units: a saddle all the same", lambda: vanilla(*DEAD, "relu"), "fixed_points", {},
      lambda ds: sorted(map(str, ds["kind"].values)), ["saddle", "stable node"], "three eigenvalues on the diagonal",
      decided=True),
    P("a kink within a contraction is stable", lambda: vanilla(KINK, activation="relu"), "fixed_points",
      {"certify": True}, "stable", [1], "‖W‖ < 1", 0.1),
    P("x' = −x³ is isolated", lambda: dl.EquationFlow("-x^3, -y"), "phase_plane", {"grid": 5},
      lambda ds: "line" in ds["flow_kind"].values[0], 0.0, "x³ = 0 only at 0", 0.1),
    # --- planar systems ---
    *(
        P(f"W_{name}: 50 steps", paper(name), "phase_plane", {"grid": 5, "starts": STARTS},
          lambda ds: ds["trajectory"].values[:, 50], END_STATES[name], "mpmath", 1e-10)
        for name in PLANAR
    ),
    P("W_diff: critical step", paper("diff"), "phase_plane", {"grid": 5}, "critical_step", CRITICAL_STEP_DIFF,
      "2γ/(γ² + ω²)", 1e-12),
    *(
        P(f"linear: {kind}", lambda k=kind: dl.create("linear", matrix=LINEAR[k][0]), "phase_plane", {"grid": 5},
          at("flow_kind", 0), kind.replace("improper", "stable improper"), "trace and determinant")
        for kind in ("stable node", "unstable focus", "saddle", "center", "improper node")
    ),
    P("van der Pol: λ at 0, its cycle's period and Floquet exponent", van_der_pol, "phase_plane", {"grid": 5},
      lambda ds: [*ds["flow_eigenvalue"].values[0], ds["orbit_period"].values[0],
      np.log(ds["floquet_multiplier"].values[0]) / ds["orbit_period"].values[0]],
      [*np.roots([1, -1, 1]), 6.66328685932313, -1.0593769948418008],
      "λ² − λ + 1 = 0; Andersen and Geer, SIAM J. Appl. Math. 42 (1982); the mean divergence by DOP853 at 1e-13",
      [1e-12, 1e-12, 1e-7, 1e-4]),
    # --- exponents ---
    P("logistic at 4: ln 2", "logistic", "lyapunov", {"steps": 5000}, first_exponent, math.log(2), "the tent map",
      its_error, cap=0.05),
    P("hénon: the largest", "henon", "lyapunov", {"steps": 5000}, first_exponent, HENON_LARGEST_EXPONENT, "Sprott 2003",
      its_error, cap=0.05),
    P("hénon: the sum is ln b", "henon", "lyapunov", {"steps": 2000},
      lambda ds: [ds["exponent"].values.sum(), ds["mean_log_det"].values[0]], HENON_EXPONENT_SUM, "|det J| = b", 1e-9),
    P("tent: ln 1.9", lambda: tent(1.9), "lyapunov", {"steps": 2000, "initial_state": [0.3, 0.1]}, first_exponent,
      math.log(1.9), "every slope is ± 1.9", 1e-11),
    P("logistic at 3.5: a cycle of four", lambda: dl.create("logistic", r=3.5), "lyapunov", {"steps": 4000},
      first_exponent, lambda s: cycle_exponent(3.5, 4), "Π r (1 − 2x) over the cycle", 1e-6),
    P("lorenz: the sum is the divergence", "lorenz", "lyapunov", {"seconds": 4}, lambda ds: ds["exponent"].values.sum(),
      lorenz_exponent_sum(), "−(σ + 1 + β)", 1e-6),
    P("lorenz: the largest", "lorenz", "lyapunov", {"seconds": 12, "k": 1, "initial_state": [1.0, 1.0, 20.0]},
      first_exponent, LORENZ_EXPONENTS[0], "Sprott 2003", its_error, cap=3.0),
    P("rössler: the sum is the mean divergence", "roessler", "lyapunov", {"seconds": 10},
      lambda ds: ds["exponent"].values.sum() - ds["mean_log_det"].values[0], 0.0, "Liouville", 1e-5),
    P("driven: Σ exponents = mean ln |det J|", lambda: made("rnn", gain=2.0, input_size=2, hidden_size=6), "lyapunov",
      {"inputs": noise(2, 80, 2)}, lambda ds: ds["finite_time_exponent"].values.sum(axis=1) - ds["mean_log_det"].values,
      0.0, "QR", 1e-10),
    # --- covariant vectors ---
    P("a triangular map: the second vector", affine([[0.9, 0.3], [0.0, 0.5]]), "covariant_vectors",
      {"steps": 400, "initial_state": [1.0, 1.0]}, lambda ds: np.abs(ds["vector"].values[0, 5, 1]), [0.6, 0.8],
      "W v = v/2", 1e-9),
    # --- basins ---
    P("tanh(2h) twice: four quarters", lambda: vanilla(2 * np.eye(2)), "basins", {"grid": 20}, "share", [0.25] * 4,
      "four quadrants", 1e-12, decided=True),
    P("hénon: how many starts leave", "henon", "basins", {"grid": 20, "extent": 2.0, "steps": 500}, "leaving_share",
      lambda s: henon_leaving(20, 2.0), "iterated in NumPy", 1e-12),
    P("eight wells in three dimensions", lambda: dl.Euler(dl.EquationFlow("x - x^3, y - y^3, z - z^3"), 0.1), "basins",
      {"grid": 12}, stable_count, 8, "u = ± 1 thrice", 0.1),
    P("thin chaos", lambda: tent(1.004), "basins", {"grid": 3, "extent": 0.9}, at("largest_exponent", 0),
      math.log(1.004), "every slope is ± 1.004", 1e-3),
    # --- bifurcations ---
    P("tanh: imperfect fold", lambda: vanilla([[2.0]], [0.2]), "bifurcation",
      over("W[0,0]", 1.0, 3.0, searches=2, starts=32), bifurcations("fold"), [imperfect_tanh_fold(0.2)], "40 digits",
      1e-8),
    P("hénon: fold and doublings", "henon", "bifurcation", over("a", -0.5, 1.0, max_period=2, starts=32),
      lambda ds: np.sort(ds["bifurcation_parameter"].values), sorted(henon_bifurcations()), "closed form", 1e-8),
    P("lorenz: Hopf", "lorenz", "bifurcation", over("rho", 20.0, 27.0, searches=1, starts=32),
      lambda ds: np.unique(bifurcations("Hopf")(ds).round(9)), [lorenz_hopf()], "Routh–Hurwitz", 1e-7),
    P("Hodgkin and Huxley: Hopf", hodgkin_huxley, "bifurcation", over("I", 150.0, 158.0, searches=1, starts=16),
      bifurcations("Hopf"), [154.5267], "published, to four digits", 1e-3),
    P("a population of a million: transcritical", lambda: dl.EquationFlow("x*(p - x/1e6)", p=0.5), "bifurcation",
      over("p", -0.5, 1.0, searches=2, starts=16), bifurcations("transcritical"), [0.0], "p = 0", 1e-8),
    P("FitzHugh–Nagumo settles whatever its unit of time",
      lambda: dl.EquationFlow("(x - x^3/3 - y + I)/20, (x + 0.7 - 0.8*y)/250", I=0.5), "bifurcation",
      over("I", 0.4, 0.6, values=3, searches=1, starts=8), lambda ds: int((ds["settled"] != 1).sum()), 0,
      "a periodic orbit attracts", 0.1),
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
    P("participation ratio", lambda: made("rnn", gain=2.0, input_size=2, hidden_size=6), "geometry",
      {"inputs": noise(4, 40, 2), "starts": 4}, "participation_ratio", lambda s: participation(s, noise(4, 40, 2)),
      "(Σ λ)²/Σ λ² by NumPy", 1e-10),
    P("pseudospectrum: σ_min of z − J", affine([[0.5, 2.0], [0.0, -0.3]]), "pseudospectrum", {"grid": 9},
      lambda ds: ds["smallest_singular_value"].values - smallest_of([[0.5, 2.0], [0.0, -0.3]],
      ds["x"].values + 1j * ds["y"].values[:, None]), 0.0, "NumPy's SVD", 1e-10),
    P("Jordan block: numerical radius", affine([[0.0, 1.0], [0.0, 0.0]]), "pseudospectrum", {"grid": 9},
      "numerical_radius", 0.5, "cos(π/3)", 1e-9),
    P("growth before decay", affine([[0.9, 5.0], [0.0, 0.8]]), "pseudospectrum", {"grid": 9, "steps": 60},
      "transient_growth",
      max(np.linalg.norm(np.linalg.matrix_power(np.array([[0.9, 5.0], [0.0, 0.8]]), k), 2) for k in range(61)), "NumPy",
      1e-10),
    # --- steps, energy, bounds ---
    P("W_diff: the critical step of its flow", paper("diff"), "stability", {}, at("critical_step", 0, 0),
      CRITICAL_STEP_DIFF, "2γ/(γ² + ω²)", 1e-12, decided=True),
    P("W_zero: Euler's drift of H", paper("zero"), "energy",
      {"initial_state": STARTS, "steps": 50, "integrators": ["euler"]}, lambda ds: ds["drift"].values[0, :, 50],
      log_cosh_energy(PLANAR["zero"], END_STATES["zero"]) - log_cosh_energy(PLANAR["zero"], STARTS),
      "H is conserved: its gain is the step's", 1e-9),
    P("check: W_diff leaves the circle", paper("diff"), "eigenvalue_bounds",
      {"inputs": np.zeros((1, 5, 0)), "max_modulus": 1.0}, at("measured", 0), MODULUS_DIFF, "|1 + 0.1 (−0.15 + 2i)|",
      1e-13, decided=True),
    P("over a box: ‖J‖ of a contraction", lambda: vanilla(0.5 * ROTATION / 0.9), "box_bounds", {"samples": 8},
      "norm_bound", 0.5, "slope 1 at 0, and an orthogonal matrix", 1e-6),
    P("Lyapunov function of a contraction", lambda: vanilla(0.5 * ROTATION / 0.9), "lyapunov_function", {},
      lambda ds: float(ds["status"].values[0] == "proved"), 1.0, "‖W‖ = 0.5", 0.1),
    P("ERNN: the rate of the inner iteration",
      lambda: made("ernn", input_size=1, state_size=4, length=5, rank=None, activation="tanh"), "ernn_convergence",
      {"inputs": np.zeros((5, 1)), "eta": 0.5, "iterations": 80},
      lambda ds: ds["rate"].values - ds["predicted_rate"].values, 0.0, "ρ(I + η ∇F)", 1e-4),
    P("a network and itself: distance 0", lambda: made("rnn", input_size=2, hidden_size=6), "compare",
      {"other": made("rnn", input_size=2, hidden_size=6), "inputs": noise(6, 30, 2)}, "distance", 0.0, "the same maps",
      1e-6),
    # --- the zoo ---
    *(
        P(f"{name}: ln ‖∂h_T/∂h_0‖", lambda z=name: dl.load(z), "gradient", {"inputs": noise(1, 8, width)}, norm_at_0,
          lambda s, w=width: log_of(product(autograd_jacobians(s, noise(1, 8, w)[0]))),
          "reverse mode on the step and SVD", 1e-10)
        for name, width in (("lstm-har2", 9), ("gru-flipflop", 3), ("ernn-har2-k3", 9), ("scornn-smnist", 1))
    ),
    P("gru-flipflop: eight memories", lambda: dl.load("gru-flipflop"), "fixed_points", {"starts": 32}, stable_count, 8,
      "three bits", 0.1, decided=True),
]
# fmt: on
