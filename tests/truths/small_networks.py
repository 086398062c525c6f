"""Find every fixed point of small random networks by brute force, and van der Pol's cycle, into small_networks.json.

python tests/truths/small_networks.py
Nothing of dynlab is used: the steps are NumPy's, roots are sought by SciPy from many starts.
"""

import json
from pathlib import Path

import numpy as np
import scipy.integrate
import scipy.optimize

KEPT = Path(__file__).with_name("small_networks.json")
STARTS = 2000
NETWORKS = {
    "gru": (3, 4.0, (0, 1, 2)),
    "lstm": (3, 6.0, (0, 1, 2, 3, 4, 5)),
    "rnn": (4, 2.0, (0, 1, 2)),
}  # units, scale, seeds


def sigmoid(p):
    return 1 / (1 + np.exp(-p))


def weights(kind, seed):
    """Return W_hh and b of a network without input, in torch's order of gates."""
    n, scale, _ = NETWORKS[kind]
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    draws = np.random.default_rng(seed)
    return scale / np.sqrt(n) * draws.standard_normal((gates * n, n)), 0.5 * draws.standard_normal(gates * n)


def fixed_points(kind, seed):
    """Return the h of all fixed points that are found, in lexicographic order."""
    n, (W, b) = NETWORKS[kind][0], weights(kind, seed)

    def gap(h):
        """Where a gate stands between the state and its candidate, what is left when it is divided out."""
        if kind == "rnn":
            return np.tanh(W @ h + b) - h
        if kind == "gru":
            return np.tanh(b[2 * n :] + sigmoid(W[:n] @ h + b[:n]) * (W[2 * n :] @ h)) - h
        i, f, g, o = (W[k * n : (k + 1) * n] @ h + b[k * n : (k + 1) * n] for k in range(4))
        return sigmoid(o) * np.tanh(sigmoid(i) * np.tanh(g) / sigmoid(-f)) - h

    found = []
    for start in np.random.default_rng(0).uniform(-1, 1, (STARTS, n)):
        root, _, ok, _ = scipy.optimize.fsolve(gap, start, full_output=True, xtol=1e-14)
        if ok == 1 and np.abs(gap(root)).max() < 1e-11 and all(np.abs(root - one).max() > 1e-6 for one in found):
            found.append(root)
    return sorted(root.tolist() for root in found)


def van_der_pol(mu):
    """Return the period of the cycle and its Floquet exponent, the mean divergence over a period."""

    def rates(t, s):
        x, y, _ = s
        return [y, mu * (1 - x * x) * y - x, mu * (1 - x * x)]

    def crossing(t, s):
        return s[1]

    crossing.direction = -1
    settings = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13}
    start = [*scipy.integrate.solve_ivp(rates, (0, 100), [2, 0, 0], **settings).y[:2, -1], 0]
    run = scipy.integrate.solve_ivp(rates, (0, 60), start, events=crossing, **settings)
    times, states = run.t_events[0], run.y_events[0]
    period = times[2] - times[1]
    return [period, (states[2][2] - states[1][2]) / period]


if __name__ == "__main__":
    kept = {f"{kind} {seed}": fixed_points(kind, seed) for kind, (_, _, seeds) in NETWORKS.items() for seed in seeds}
    kept["van der Pol"] = van_der_pol(1.0)
    KEPT.write_text("{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(kept[name])}" for name in kept) + "\n}\n")
