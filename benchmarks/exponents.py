"""Lyapunov exponents beside a loop with an orthonormalisation at every step."""

from importlib.util import find_spec

import numpy as np
import torch
from numpy.typing import NDArray
from table import Row, Way

from dynlab import create, lyapunov, simulate
from dynlab.systems import Map

LONG = 100_000  # steps
LARGE, LARGE_STEPS, LARGE_SAMPLES, PART = 1024, 512, 16, 1 / 16  # the part of its steps that is run
GAIN = 1.5  # of random weights: a network beyond it is chaotic
INTERVAL = "exponents differ from QR at every step by {:.0e}"


def tanh_network(n: int) -> Map:
    """A chaotic RNN without bias that takes no notice of its input."""
    system = create("rnn", input_size=1, hidden_size=n, bias=False).double()
    weights = np.random.default_rng(0).standard_normal((n, n)) * GAIN / np.sqrt(n)
    with torch.no_grad():
        system.weight_hh.copy_(torch.from_numpy(weights))
    return system


def start_of(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(1).uniform(0, 0.1, n)


def loop(system: Map, steps: int, k: int, states: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The naive way: every step's Jacobian, its product with the frame, LAPACK's QR; along `states` where given."""
    W, n = system.weight_hh.detach().numpy(), system.state_size
    h, Q, total = start_of(n), np.linalg.qr(np.random.default_rng(0).standard_normal((k, n)).T)[0], np.zeros(k)
    for t in range(steps):
        h = np.tanh(W @ h) if states is None else states[t + 1]
        Q, R = np.linalg.qr(((1 - h * h)[:, None] * W) @ Q)
        if t >= steps // 10:
            total += np.log(np.abs(np.diag(R)))
    return total / (steps - steps // 10)


def bare_products(n: int, k: int, steps: int) -> torch.Tensor:
    """The floor of one orthonormalisation a step: a product and LAPACK's QR."""
    J = torch.randn(n, n, dtype=torch.float64) / n**0.5
    Q = torch.linalg.qr(torch.randn(n, k, dtype=torch.float64)).Q
    for _ in range(steps):
        Q = torch.linalg.qr(J @ Q).Q
    return Q


def by_autograd(system: Map, steps: int, k: int) -> NDArray[np.float64]:
    """The same with tangent vectors by forward-mode automatic differentiation."""
    n = system.state_size
    h = torch.from_numpy(np.zeros(n))
    Q, total = torch.linalg.qr(torch.randn(n, k, dtype=torch.float64)).Q, torch.zeros(k, dtype=torch.float64)
    x = h.new_zeros(system.input_size)

    def carried(vector: torch.Tensor) -> torch.Tensor:
        return torch.func.jvp(lambda state: system.step(state, x), (h,), (vector,))[1]

    with torch.no_grad():
        for _ in range(steps):
            Q, R = torch.linalg.qr(torch.func.vmap(carried, in_dims=1, out_dims=1)(Q))
            h = system.step(h, x)
            total += R.diagonal().abs().log()
    return (total / steps).numpy()


class Peer:
    """The public package pynamicalsys, which compiles a map and its Jacobian."""

    def __init__(self, system: Map) -> None:
        self.n, self.weights = system.state_size, system.weight_hh.detach().numpy().ravel()

    def compiled(self) -> None:
        from numba import njit
        from pynamicalsys import DiscreteDynamicalSystem

        n = self.n

        @njit
        def step(h, weights):
            return np.tanh(np.dot(weights.reshape(n, n), h))

        @njit
        def jacobian(h, weights, *_):
            after = np.tanh(np.dot(weights.reshape(n, n), h))
            return (1 - after * after).reshape(n, 1) * weights.reshape(n, n)

        self.system = DiscreteDynamicalSystem(
            mapping=step, jacobian=jacobian, system_dimension=n, number_of_parameters=n * n
        )
        self.exponents(20, n)

    def exponents(self, steps: int, k: int) -> NDArray[np.float64]:
        return self.system.lyapunov(
            start_of(self.n), steps, parameters=self.weights, transient_time=steps // 10, num_exponents=k
        )


def peers(system: Map, steps: int, k: int) -> tuple[Way, ...]:
    """The peer's row, none where it is not installed (pip install ".[bench]")."""
    if find_spec("pynamicalsys") is None:
        return ()
    peer = Peer(system)
    reach = 0.5 if k == system.state_size else float("inf")
    return (Way("pynamicalsys, compiled before", lambda: peer.exponents(steps, k), 1.0, reach, peer.compiled),)


def _difference(system: Map, steps: int, k: int, ds) -> str:
    """From QR at every step along the same stored orbit: of a chaotic one each rounding makes another."""
    states = simulate(system, steps=steps, initial_state=start_of(system.state_size))["trajectory"].values[0]
    return INTERVAL.format(np.abs(ds["exponent"].values[0] - loop(system, steps, k, states)).max())


def rows(network: str | None) -> list[Row]:
    found = []
    for n, k, steps in ((64, 64, 10_000), (256, 16, 2000)):
        system = tanh_network(n)
        found.append(
            Row(
                f"lyapunov: {k} exponents of a tanh network of {n}, {steps:,} steps, with errors",
                lambda s=system, k=k, steps=steps: lyapunov(s, k=k, steps=steps, initial_state=start_of(s.state_size)),
                (
                    Way("a NumPy loop", lambda s=system, k=k, steps=steps: loop(s, steps, k), reach=0.7),
                    Way("floor: products and QR", lambda n=n, k=k, steps=steps: bare_products(n, k, steps)),
                    *peers(system, steps, k),
                ),
                lambda ds, _, s=system, k=k, steps=steps: _difference(s, steps, k, ds),
            )
        )
    lstm = create("lstm", input_size=1, hidden_size=256).double()
    found.append(
        Row(
            "lyapunov: 16 exponents of an LSTM of 256, 2,000 steps, with errors",
            lambda: lyapunov(lstm, k=16, steps=2000),
            (Way("forward-mode derivatives, QR", lambda: by_autograd(lstm, 200, 16), share=0.1),),
            lambda ds, _: f"rounding adds at most {float(ds['rounding_bound'].max()):.0e}",
        )
    )
    long, large = tanh_network(64), create("lstm", input_size=1, hidden_size=LARGE).double()
    steps = round(LARGE_STEPS * PART)
    inputs = np.random.default_rng(0).standard_normal((LARGE_SAMPLES, steps, 1))
    found.append(
        Row(
            "lyapunov: 10 exponents of a tanh network of 64, 1,000,000 steps",
            lambda: lyapunov(long, k=10, steps=LONG, initial_state=start_of(64)),
            (),
            lambda ds, _: f"rounding adds at most {float(ds['rounding_bound'].max()):.0e}",
            bytes=2.0**30,
            share=LONG / 1_000_000,
        )
    )
    found.append(
        Row(
            f"lyapunov: 10 exponents of an LSTM of {LARGE:,}, {LARGE_STEPS} steps, {LARGE_SAMPLES} sequences",
            lambda: lyapunov(large, inputs, k=10),
            (Way("forward-mode derivatives, QR", lambda: by_autograd(large, steps, 10), PART / LARGE_SAMPLES, 1 / 3),),
            lambda ds, _: f"rounding adds at most {float(ds['rounding_bound'].max()):.0e}",
            seconds=120,
            bytes=2 * 2.0**30,
            share=PART,
        )
    )
    return found
