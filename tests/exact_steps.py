"""The step of every trainable family and its Jacobian in multi-precision arithmetic, restated from the equations.

Numbers are Arb's; forward differentiation carries the derivative by the state beside each vector. Orthogonal and
unitary matrices, which exponentials and solvers make, are those that the systems hold as stored in float64.
"""

import torch
from flint import arb, arb_mat
from torch.nn.utils.parametrize import type_before_parametrizations

from dynlab.systems import Euler


class Vector:
    """Entries with their derivative by the state, None where there is none."""

    def __init__(self, entries, derivative=None):
        self.entries = list(entries)
        self.derivative = derivative

    def __len__(self):
        return len(self.entries)

    def __add__(self, other):
        return self._joined(other, lambda a, b: a + b, lambda a, b: (1, 1))

    def __sub__(self, other):
        return self._joined(other, lambda a, b: a - b, lambda a, b: (1, -1))

    def __mul__(self, other):
        return self._joined(other, lambda a, b: a * b, lambda a, b: (b, a))

    def _joined(self, other, value, slopes):
        other = other if isinstance(other, Vector) else Vector([arb(other)] * len(self))
        pairs = list(zip(self.entries, other.entries, strict=True))
        both = [slopes(a, b) for a, b in pairs]
        parts = [_scaled([s[0] for s in both], self.derivative), _scaled([s[1] for s in both], other.derivative)]
        known = [part for part in parts if part is not None]
        return Vector([value(a, b) for a, b in pairs], sum(known[1:], known[0]) if known else None)

    def __getitem__(self, span):
        rows = range(*span.indices(len(self)))
        derivative = self.derivative
        if derivative is not None:
            n = derivative.ncols()
            derivative = arb_mat(len(rows), n, [derivative[i, j] for i in rows for j in range(n)])
        return Vector(self.entries[span], derivative)

    def map(self, function, slope):
        return Vector([function(e) for e in self.entries], _scaled([slope(e) for e in self.entries], self.derivative))

    def chunk(self, count):
        size = len(self) // count
        return [self[i * size : (i + 1) * size] for i in range(count)]


def joined(*parts):
    n = next(part.derivative.ncols() for part in parts if part.derivative is not None)
    rows = []
    for part in parts:
        d = part.derivative
        rows += [arb(0)] * (len(part) * n) if d is None else d.entries()
    return Vector([e for part in parts for e in part.entries], arb_mat(len(rows) // n, n, rows))


def numbers(tensor):
    return [arb(float(entry)) for entry in tensor.detach().double().reshape(-1)]


def matrix(tensor):
    return arb_mat(*tensor.shape, numbers(tensor))


def constant(tensor, size=None):
    return Vector(numbers(tensor) if size is None else [arb(float(tensor))] * size)


def linear(tensor, v, bias=None):
    if not len(v):
        product = Vector([arb(0)] * tensor.shape[0])
    else:
        M = tensor if isinstance(tensor, arb_mat) else matrix(tensor)
        value = (M * arb_mat(len(v), 1, v.entries)).entries()
        product = Vector(value, None if v.derivative is None else M * v.derivative)
    return product if bias is None else product + constant(bias)


def _scaled(slopes, derivative):
    if derivative is None:
        return None
    rows, columns = derivative.nrows(), derivative.ncols()
    return arb_mat(rows, columns, [slopes[i] * derivative[i, j] for i in range(rows) for j in range(columns)])


def _sigma(p):
    return 1 / (1 + (-p).exp())


def tanh(v):
    return v.map(lambda p: p.tanh(), lambda p: 1 / p.cosh() ** 2)


def sigmoid(v):
    return v.map(_sigma, lambda p: _sigma(p) * _sigma(-p))


def relu(v):
    return v.map(lambda p: p if p > 0 else arb(0), lambda p: arb(int(p > 0)))


def modrelu(v, b):
    """sign(p) max(abs(p) + b, 0)."""
    entries, slopes = [], []
    for p, offset in zip(v.entries, b, strict=True):
        alive = abs(p) + offset > 0 and p != 0
        entries.append((p + offset if p > 0 else p - offset) if alive else arb(0))
        slopes.append(arb(int(alive)))
    return Vector(entries, _scaled(slopes, v.derivative))


def complex_modrelu(v, b):
    """Of [x; y], (x, y) max(r + b, 0)/r."""
    half = len(v) // 2
    x, y = v[:half], v[half:]
    factors, by_x, by_y = [], [], []
    for p, q, offset in zip(x.entries, y.entries, b, strict=True):
        r = (p * p + q * q).sqrt()
        alive = r > 0 and r + offset > 0
        factors.append((r + offset) / r if alive else arb(0))
        by_x.append(-offset * p / r**3 if alive else arb(0))
        by_y.append(-offset * q / r**3 if alive else arb(0))
    factor = Vector(factors, _scaled(by_x, x.derivative) + _scaled(by_y, y.derivative))
    return joined(x * factor, y * factor)


ACTIVATIONS = {"tanh": tanh, "relu": relu, "sigmoid": sigmoid}


def activated(system, v):
    name = {torch.tanh: "tanh", torch.relu: "relu", torch.sigmoid: "sigmoid"}.get(system.activation.function)
    return v if name is None else ACTIVATIONS[name](v)


def exact_jacobian(system, state, input, t=0):
    """∂step/∂state at one state and input as an arb_mat, at the present precision."""
    n = len(state)
    h = Vector(numbers(state), arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)]))
    found = step(system, h, constant(input), t).derivative
    return arb_mat(n, n) if found is None else found.mid()


def step(system, h, x, t):
    if isinstance(system, Euler):
        return h + step(system.flow, h, x, t) * system.step_size
    return STEPS[type_before_parametrizations(system).__name__](system, h, x, t)


def _plain(s, h, x, t):
    return activated(s, linear(s.W, h) + linear(s.V, x, s.b))


def _rnn_cell(s, h, x, t):
    return activated(s, linear(s.weight_ih, x, s.bias_ih) + linear(s.weight_hh, h, s.bias_hh))


def _gru_cell(s, h, x, t):
    x_r, x_z, x_n = linear(s.weight_ih, x, s.bias_ih).chunk(3)
    h_r, h_z, q = linear(s.weight_hh, h, s.bias_hh).chunk(3)
    p_z = x_z + h_z
    candidate = tanh(x_n + sigmoid(x_r + h_r) * q)
    return sigmoid(p_z * -1) * candidate + sigmoid(p_z) * h


def _lstm_cell(s, h, x, t):
    n, m = s._sizes
    c = h[n : n + m]
    i, f, g, o = (linear(s.weight_ih, x, s.bias_ih) + linear(s.weight_hh, h[:n], s.bias_hh)).chunk(4)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    out = sigmoid(o) * tanh(c)
    return joined(out if s.weight_hr is None else linear(s.weight_hr, out), c)


def _stack(s, h, x, t):
    found, start = [], 0
    for cell in s.cells:
        after = step(cell, h[start : start + cell.state_size], x, t)
        found.append(after)
        start += cell.state_size
        x = after[: cell.output_size]
    return joined(*found)


def _diffusing(flow):
    n = flow.state_size
    if flow.gamma is None:
        return matrix(flow.M)
    upper = flow.parametrizations.M.original.detach()
    rows, columns = torch.triu_indices(n, n, offset=1).tolist()
    M = arb_mat(n, n)
    for i, j, entry in zip(rows, columns, upper.tolist(), strict=True):
        M[i, j], M[j, i] = arb(entry), -arb(entry)
    for i in range(n):
        M[i, i] = -arb(flow.gamma)
    return M


def _antisymmetric(s, h, x, t):
    return tanh(linear(_diffusing(s), h) + linear(s.V, x, s.b))


def _gated(s, h, x, t):
    turning = linear(_diffusing(s), h)
    return sigmoid(turning + linear(s.V_z, x, s.b_z)) * tanh(turning + linear(s.V_h, x, s.b_h))


def _scalar(parameter, size):
    return sigmoid(constant(parameter, size))


def _fastrnn(s, h, x, t):
    n = s.state_size
    return _scalar(s.beta, n) * h + _scalar(s.alpha, n) * activated(s, linear(s.W, x) + linear(s.U, h, s.b))


def _fastgrnn(s, h, x, t):
    n, from_x, from_h = s.state_size, x, h
    for factor in reversed(list(s.W)):
        from_x = linear(factor, from_x)
    for factor in reversed(list(s.U)):
        from_h = linear(factor, from_h)
    p_z = from_x + from_h + constant(s.b_z)
    admitted = _scalar(s.zeta, n) * sigmoid(p_z * -1) + _scalar(s.nu, n)
    return sigmoid(p_z) * h + admitted * tanh(from_x + from_h + constant(s.b_c))


def _ugrnn(s, h, x, t):
    p_z = linear(s.W_z, x) + linear(s.U_z, h, s.b_z)
    return sigmoid(p_z) * h + sigmoid(p_z * -1) * tanh(linear(s.W_c, x) + linear(s.U_c, h, s.b_c))


def _cornn(s, h, x, t):
    place, speed = h.chunk(2)
    force = tanh(linear(s.W, place) + linear(s.W_velocity, speed) + linear(s.V, x, s.b))
    speed = speed + (force - place * s.gamma - speed * s.epsilon) * s.step_size
    return joined(place + speed * s.step_size, speed)


def _times_U(U, v):
    return linear(U.weight, v) if hasattr(U, "weight") else v + linear(U.V, linear(U.H, v))


def _ernn(s, h, x, t):
    drive = linear(s.W, x, s.b)
    g = h if s.start == "previous" else h * 0
    for eta in s.eta[:, t].tolist():
        z = g + h * s.sign
        inner = _times_U(s.U, z) + drive
        g = g + (activated(s, _times_U(s.U, inner) if s.projection else inner) - z) * eta
    return g


def _deep_ernn(s, h, x, t):
    drive = linear(s.W, x, s.b)
    g = h if s.start == "previous" else h * 0
    for eta in s.eta[:, t].tolist():
        z = g + h * s.sign
        layer = activated(s, linear(s.U, z) + drive)
        for weight in s.above:
            layer = activated(s, linear(weight, layer))
        g = g + (layer - z) * eta
    return g


def _exact_ernn(s, h, x, t):
    return h * -s.sign  # z* depends on the input alone


def _modrelu(s, h, x, t):
    return modrelu(linear(s.B.mT, h) + linear(s.V, x), numbers(s.b))


def _nnrnn(s, h, x, t):
    P = matrix(s.parametrizations.W[0](s.parametrizations.W.original))
    schur, n = s.schur, s.state_size
    core = arb_mat(n, n)
    for k, (gamma, theta) in enumerate(zip(schur.gamma.tolist(), schur.theta.tolist(), strict=True)):
        cosine, sine = arb(gamma) * arb(theta).cos(), arb(gamma) * arb(theta).sin()
        core[2 * k, 2 * k], core[2 * k, 2 * k + 1] = cosine, -sine
        core[2 * k + 1, 2 * k], core[2 * k + 1, 2 * k + 1] = sine, cosine
    for i, j, entry in zip(*schur.places.tolist(), schur.T.tolist(), strict=True):
        core[i, j] = arb(entry)
    W = P * core * P.transpose()
    return modrelu(linear(W.transpose(), h) + linear(s.V, x), numbers(s.b))


def _asrnn(s, h, x, t):
    D = [abs(arb(entry)) + arb(s.eps) for entry in s.S.tolist()]
    inner = (linear(s.V, x, s.b) + linear(s.W, h)) * Vector(D)
    outer = linear(s.U_f.mT, tanh(linear(s.U_f, inner)))
    return outer * Vector([1 / entry for entry in D])


def _scaled_svd(U, Q, p, margin, v):
    if p is None:
        return linear(U, linear(Q.mT, v))
    s = Vector([1 + 2 * arb(margin) * (_sigma(arb(entry)) - arb("0.5")) for entry in p.tolist()])
    return linear(U, linear(Q.mT, v) * s)


def _spectral(s, h, x, t):
    svd = s.parametrizations.W[0]
    U, Q = (svd.orthogonal(part) for part in s.parametrizations.W.original.detach().double())
    return activated(s, _scaled_svd(U, Q, svd.p, svd.margin, h) + linear(s.V, x, s.b))


def _soft_orthogonal(s, h, x, t):
    return activated(s, _scaled_svd(s.U, s.Q, s.p, s.margin, h) + linear(s.V, x, s.b))


def _unitary(s, h, x, t):
    return complex_modrelu(linear(s.recurrent.matrix(), h) + linear(s.V, x), numbers(s.b))


def _kru(s, h, x, t):
    W = s.matrix()
    real = torch.cat([torch.cat([W.real, -W.imag], dim=-1), torch.cat([W.imag, W.real], dim=-1)])
    return activated(s, linear(real, h) + linear(s.V, x))


STEPS = {
    "Vanilla": _plain,
    "FeedbackFlow": _plain,
    "RNNCell": _rnn_cell,
    "GRUCell": _gru_cell,
    "LSTMCell": _lstm_cell,
    "Stack": _stack,
    "AntisymmetricFlow": _antisymmetric,
    "GatedFlow": _gated,
    "FastRNN": _fastrnn,
    "FastGRNN": _fastgrnn,
    "UGRNN": _ugrnn,
    "CoRNN": _cornn,
    "ERNN": _ernn,
    "DeepERNN": _deep_ernn,
    "ExactERNN": _exact_ernn,
    "ModReLURNN": _modrelu,
    "OrthogonalRNN": _modrelu,
    "NNRNN": _nnrnn,
    "ASRNN": _asrnn,
    "SpectralRNN": _spectral,
    "SoftOrthogonalRNN": _soft_orthogonal,
    "UnitaryRNN": _unitary,
    "KRU": _kru,
}
