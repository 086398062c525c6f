"""A system whose Jacobians a test chooses, and the truth about their products in multi-precision arithmetic."""

import mpmath
import numpy as np

from dynlab.systems import Map

FIRST_DIGITS = 200


class MatrixDriven(Map):
    """h_t = J_t h_{t−1}, where the input x_t is J_t, row by row."""

    def __init__(self, size):
        super().__init__(size, size * size)
        self.name = "matrix-driven"

    def step(self, state, input, t=0):
        matrix = input.unflatten(-1, (self.state_size, self.state_size))
        return (matrix @ state.unsqueeze(-1)).squeeze(-1)


def driven_by(diagnostic, matrices, **settings):
    """The diagnostic of matrices (sample, time, n, n)."""
    matrices = np.asarray(matrices, dtype=float)
    n = matrices.shape[-1]
    return diagnostic(MatrixDriven(n), matrices.reshape(*matrices.shape[:2], n * n), **settings)


def random_products(kind, count, n=8, steps=50):
    """Jacobians (count, steps, n, n) as networks have them: tanh linear and saturated, gates, Euler steps."""
    generator = np.random.default_rng([ord(letter) for letter in kind])

    def normal(*shape):
        return generator.standard_normal(shape)

    def slopes(width):
        return 1 - np.tanh(width * normal(count, steps, n)) ** 2

    W = normal(count, 1, n, n) / np.sqrt(n)
    eye = np.eye(n)
    if kind == "random":
        return normal(count, steps, n, n) / np.sqrt(n)
    if kind == "recurrent":
        return slopes(2)[..., None] * W
    if kind == "saturated":
        return slopes(6)[..., None] * normal(count, steps, n, n)
    if kind == "saturated before":
        return W * slopes(4)[..., None, :]
    if kind == "euler":
        return eye + 0.1 * slopes(2)[..., None] * (W - W.swapaxes(-1, -2) - 0.01 * eye)
    if kind == "gated":
        gates = 1 / (1 + np.exp(-4 * normal(count, steps, n)))
        return gates[..., None] * eye + 0.5 * (1 - gates)[..., None] * W
    raise KeyError(kind)


KINDS = ("random", "recurrent", "saturated", "saturated before", "euler", "gated")


def exact_product(matrices, digits):
    """J_T … J_1 to so many digits, which the caller's mpmath.workdps holds."""
    product = mpmath.eye(len(matrices[0]))
    for matrix in matrices:
        product = mpmath.matrix(np.asarray(matrix).tolist()) * product
    return product


def exact_log_singular_values(matrices):
    """ln σ of J_T … J_1, −inf for exact zeros, with digits doubled until it stands still."""
    digits, before = FIRST_DIGITS, None
    while True:
        with mpmath.workdps(digits):
            values = mpmath.svd_r(exact_product(matrices, digits), compute_uv=False)
            logs = np.array([float(mpmath.log(value)) if value > 0 else -np.inf for value in values])
        if before is not None:
            # what lies below all digits beside the largest is noise in place of zero: it falls as the digits double
            zero = (logs < logs[0] - 2 * digits) & (np.isneginf(before) | (logs < before - digits))
            still = np.abs(np.where(zero, 0, logs - np.where(zero, 0, before))) <= 1e-13 * np.maximum(1, np.abs(logs))
            if (still | zero).all():
                return np.where(zero, -np.inf, logs)
        digits, before = 2 * digits, logs
