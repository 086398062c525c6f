"""Measures for the claims of the AntisymmetricRNN paper and of two reviews of it."""

from typing import Any

import numpy as np
import torch

from dynlab import schema
from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.diagnostics.spectrum import spectrum
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.antisymmetric import GatedFlow

from . import antisymmetric_2, speed
from .measures_of_ernn import orbits
from .scripts import kept, trained

DRAWS, UNITS, INPUTS = 20, 128, 96
SCALES = (1, 4, 16)  # σ_w of the paper's grid
TRAINED = "antisymmetric-har2"
NOISE_STEPS, PAPER_STEP = 50, 0.1
SLIDE_GAMMA = 0.01
PLANAR = {"grows": "1/2,0;0,1/2", "rests": "-2,0;0,-2", "leaves": "1,0;0,-1"}
SLIDE_MATRIX, SLIDE_SLOPES = np.array([[1.0, -2.0], [1.0, -1.0]]), np.diag([1.0, 0.5])


def imaginary() -> dict[str, float]:
    """Return the real parts of diag(tanh') (W − Wᵀ) at random, and of the flow of the trained network."""
    generator = np.random.default_rng(0)
    W = generator.normal(0, UNITS**-0.5, (DRAWS, UNITS, UNITS))
    slopes = 1 - np.tanh(generator.normal(size=(DRAWS, UNITS, 1))) ** 2
    matrices = slopes * (W - W.swapaxes(1, 2))
    real = np.abs(approximate_eigenvalues(matrices).real).max(axis=-1) / np.linalg.norm(matrices, 2, axis=(1, 2))
    system, driving = trained(TRAINED, samples=4)
    found = spectrum(system, driving.inputs, times=16)["flow_eigenvalue"].values.real
    gamma = float(system.config["gamma"])
    outside = max(found.max(), -gamma - found.min())
    return {"real": real.max(), "lowest": found.min(), "highest": found.max(), "outside": outside, "gamma": gamma}


def gated() -> dict[str, float]:
    """Return signs of the gated network's diagonal factor and the rates of its flow, at the paper's start."""
    found: dict[str, float] = {}
    for scale in SCALES:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            flow = frozen(GatedFlow(INPUTS, UNITS, 0.001, scale).double())
            inputs = torch.randn(4, NOISE_STEPS, INPUTS, dtype=torch.float64)
        states = torch.zeros(4, UNITS, dtype=torch.float64)
        rates, negative = [], []
        with torch.no_grad():
            for input in inputs.unbind(1):
                J, M = jacobian(flow, states, input).dense(), flow.M
                # J = diag(c) M: c by least squares over each row
                c = (J * M).sum(-1) / M.square().sum(-1)
                negative.append(float((c < 0).double().mean()))
                rates.append(approximate_eigenvalues(J.numpy()))
                states = states + PAPER_STEP * flow.velocity(states, input)
        largest = float(np.real(rates).max())
        found |= {
            f"negative_{scale}": float(np.mean(negative)),
            f"largest_{scale}": largest,
            f"part_{scale}": largest / float(np.abs(rates).max()),
        }
    parts = [found[f"part_{scale}"] for scale in SCALES]
    return found | {"least": min(parts), "most": max(parts)}


def time_varying() -> dict[str, float]:
    """Return the largest Re λ of Markus and Yamabe's A(t), how its solution grows, and the radius of two shears."""
    found = kept("time-varying")
    return {
        "highest": float(found["growth"]["eigenvalue"].values.real.max()),
        "growth": float(found["growth"]["log_norm"][-1]),
        "product": float(found["shears"]["product_radius"]),
    }


def step() -> dict[str, float]:
    """Return the critical step of W_diff, the largest modulus at the figure's step, and where its orbits end."""
    found = kept("critical-step")
    ds, ends = found["above"], found["radius"].sel(step_size=PAPER_STEP, method="nearest")
    return {
        "critical": float(ds["critical_step"][0]),
        "modulus": float(np.abs(ds["map_eigenvalue"].values).max()),
        "implicit": float(np.abs(1 / (1 - PAPER_STEP * ds["flow_eigenvalue"].values)).max()),
        "smallest": float(ends["smallest"]),
        "largest": float(ends["largest"]),
        "swing": float(ends["largest"] / ends["smallest"]) - 1,
    }


def end_to_end() -> dict[str, Any]:
    """Return ln of the mean modulus at the end, of Figure 2's LSTM and of its AntisymmetricRNN that is furthest from 0.

    Beside it are the least and the largest deviation of the moduli of the AntisymmetricRNNs.
    """
    results = kept("antisymmetric-2")
    ends = {name: antisymmetric_2.mean_at_end(results[name]) for name in antisymmetric_2.PADDED}
    lstm = ends.pop(antisymmetric_2.LSTM)
    spreads = np.exp([float(results[name]["spread"][0, -1]) for name in ends])
    of_spread = {"smallest": spreads.min(), "largest": spreads.max()}
    return of_spread | {"lstm": lstm, "off": max(map(abs, ends.values())), "said": antisymmetric_2.measured(results)}


def slides() -> dict[str, float]:
    """Return real parts for code that subtracts γ from every entry, and for a matrix with imaginary eigenvalues."""
    generator = np.random.default_rng(0)
    W = generator.normal(0, UNITS**-0.5, (UNITS, UNITS))
    coded = approximate_eigenvalues(W - W.T - SLIDE_GAMMA).real
    return {
        "lowest": coded.min(),
        "highest": coded.max(),
        "off": np.abs(coded + SLIDE_GAMMA).max(),
        "rayleigh": -SLIDE_GAMMA * UNITS,
        "scaled": approximate_eigenvalues(SLIDE_SLOPES @ SLIDE_MATRIX).real.max(),
        "given": np.abs(approximate_eigenvalues(SLIDE_MATRIX).real).max(),
    }


def slide_start() -> dict[str, float]:
    """Return the deviations of weights that the slides' code draws, as parts of those that their text gives."""
    generator = torch.Generator().manual_seed(0)
    V = torch.randn(UNITS, INPUTS, generator=generator) / INPUTS
    found = {"input": float(V.std()) * INPUTS**0.5}
    for sigma in SCALES:
        W = torch.randn(UNITS, UNITS, generator=generator) * sigma * sigma / UNITS
        found[f"state_{sigma}"] = float(W.std()) * UNITS**0.5 / sigma
    return found | {"most": max(abs(value - 1) for value in found.values())}


def slide_chain() -> dict[str, float]:
    """Return how far W₁ᵀ diag(tanh′(h)) is from the transposed Jacobian of a random network, relative to its norm."""
    generator = torch.Generator().manual_seed(0)
    W = torch.randn(UNITS, UNITS, generator=generator, dtype=torch.float64) / UNITS**0.5
    before, drive = (torch.randn(UNITS, generator=generator, dtype=torch.float64) for _ in range(2))
    h = torch.tanh(before)
    J = torch.func.jacrev(lambda state: torch.tanh(W @ state + drive))(h)
    slides, right = (W.T @ torch.diag(1 - torch.tanh(p) ** 2) for p in (h, W @ h + drive))
    return {name: float((one - J.T).norm() / J.norm()) for name, one in (("off", slides), ("right", right))}


def exponential() -> dict[str, float]:
    """Return how far ∂h_T/∂h_0 is from e^{Jt} with J at the start: under real inputs, and where nothing changes."""
    system, driving = trained(TRAINED, samples=1)
    driven = orbits(system, driving.inputs)
    J = jacobian(frozen(system), driven.states[:, :-1], driven.inputs).dense()[0].detach()
    start = (J[0] - torch.eye(len(J[0]))) / system.step_size
    power = torch.linalg.matrix_exp(driven.steps * system.step_size * start)
    fixed = torch.linalg.matrix_power(J[0], driven.steps)
    off = {"real": torch.linalg.multi_dot(list(J.flip(0))), "constant": fixed}
    return {name: float((one - power).norm() / one.norm()) for name, one in off.items()} | {"steps": driven.steps}


def planar() -> dict[str, float]:
    """Return the rates of three planar flows that two words of a review are judged by, and whether they are stable."""
    found: dict[str, float] = {}
    for name, matrix in PLANAR.items():
        ds = planar_portrait(matrix, "feedback").isel({schema.FIXED_POINT: 0})
        rates = ds["flow_eigenvalue"].values
        found |= {
            f"{name}_size": np.abs(rates).max(),
            f"{name}_stable": float(ds["flow_stable"]),
            f"{name}_divergence": rates.sum().real,
            f"{name}_highest": rates.real.max(),
        }
    return found


def speeds() -> dict[str, Any]:
    """Return how many times as fast the fused LSTM and the scripted AntisymmetricRNN are, on each machine."""
    ds = kept("speed")["steps"]
    found: dict[str, Any] = {}
    for name, pair in (("fused", (speed.SINGLE, speed.FUSED)), ("scripted", (speed.STEPPED, speed.SCRIPTED))):
        times = speed.ratios(ds, *pair)
        found |= {f"{name}_least": float(times.min()), f"{name}_most": float(times.max()), name: speed.said(times)}
    return found
