"""Truths that tests of every kind compare with: closed forms, published constants, independent computations.

Each says where it comes from. Add to the end; change nothing that others rely on.
"""

import math

import mpmath
import numpy as np
import scipy.optimize

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
END_STATES = {
    "plus": [[-4.948404587851, 5.413105514513], [4.138548397222, -5.413105514513], [5.497493472996, -5.719202491349]],
    "minus": [
        [1.087372405507e-4, 8.851958052827e-6],
        [-1.179222047925e-4, -8.851958052827e-6],
        [-1.856479040416e-4, -1.686490659964e-5],
    ],
    "zero": [
        [-0.6209945588237, 0.4874392141412],
        [-0.9064435475748, -0.4655532162512],
        [-0.4397395734177, -1.108207631654],
    ],
    "diff": [
        [-0.5035174594307, -0.1199270646293],
        [-0.100191739295, -0.7038072286839],
        [0.2701464113549, -0.7960726630239],
    ],
}
# The same for h ← tanh(h), the vanilla cell with the identity.
IDENTITY_END_STATES = [
    [0.0, 0.1631711032727],
    [-0.1631711032727, -0.1631711032727],
    [0.1631711032727, -0.1680394210134],
]


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
HENON = {"a": 1.4, "b": 0.3}
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


def imperfect_logistic_folds(c):
    """r at which the fixed points of r x (1 − x) − c meet, c > 0: where (r − 1)² = 4 r c."""
    with mpmath.workdps(40):
        c = mpmath.mpf(c)
        root = mpmath.sqrt((1 + 2 * c) ** 2 - 1)
        return [float(1 + 2 * c - root), float(1 + 2 * c + root)]


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


FEIGENBAUM = 4.669201609102990671853203820466  # Briggs, Math. Comp. 57 (1991)


# --- Eigenvalues of every step on the stable side, and growth all the same ---
MARKUS_YAMABE = {"real": -0.25, "imaginary": math.sqrt(7) / 4, "growth": 0.5}  # Osaka Math. J. 12 (1960), a = 3/2


def shear_product(side=0.5, shear=2.0):
    """Two maps with the eigenvalue `side` twice, and the spectral radius of one after the other, in closed form.

    [[r, k], [0, r]] [[r, 0], [k, r]] has the trace 2 r² + k² and the determinant r⁴.
    """
    first = np.array([[side, shear], [0.0, side]])
    trace, determinant = 2 * side**2 + shear**2, side**4
    return first, first.T, (trace + math.sqrt(trace**2 - 4 * determinant)) / 2
