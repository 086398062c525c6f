"""What claims of the AntisymmetricRNN paper and of two reviews of it are measured by."""

from typing import Any

import numpy as np
import torch

from dynlab import schema, zoo
from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.diagnostics.spectrum import spectrum
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.antisymmetric import GatedFlow
from dynlab.tasks import driving_inputs

from . import antisymmetric_2, equilibria, speed
from .kept import kept
from .time_varying import compute

DRAWS, UNITS, INPUTS = 20, 128, 96
SCALES = (1, 4, 16)  # σ_w of the paper's grid
TRAINED = "antisymmetric-har2"
NOISE_STEPS, PAPER_STEP = 50, 0.1
SLIDE_GAMMA = 0.01
SLIDE_MATRIX, SLIDE_SLOPES = np.array([[1.0, -2.0], [1.0, -1.0]]), np.diag([1.0, 0.5])


def imaginary() -> dict[str, float]:
    """Return the real parts of diag(tanh') (W − Wᵀ) at random, and of the flow of the trained network."""
    generator = np.random.default_rng(0)
    W = generator.normal(0, UNITS**-0.5, (DRAWS, UNITS, UNITS))
    slopes = 1 - np.tanh(generator.normal(size=(DRAWS, UNITS, 1))) ** 2
    matrices = slopes * (W - W.swapaxes(1, 2))
    real = np.abs(approximate_eigenvalues(matrices).real).max(axis=-1) / np.linalg.norm(matrices, 2, axis=(1, 2))
    system = zoo.load(TRAINED)
    inputs = driving_inputs(None, system, samples=4, shipped=True).inputs
    found, gamma = spectrum(system, inputs, times=16)["flow_eigenvalue"].values.real, float(system.config["gamma"])
    outside = max(found.max(), -gamma - found.min())
    return {"real": real.max(), "lowest": found.min(), "highest": found.max(), "outside": outside, "gamma": gamma}


def gated() -> dict[str, float]:
    """Return signs of the gated network's diagonal factor and the largest real part, at the paper's start."""
    found: dict[str, float] = {}
    for scale in SCALES:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            flow = frozen(GatedFlow(INPUTS, UNITS, 0.001, scale).double())
            inputs = torch.randn(4, NOISE_STEPS, INPUTS, dtype=torch.float64)
        states = torch.zeros(4, UNITS, dtype=torch.float64)
        worst, negative = [], []
        with torch.no_grad():
            for input in inputs.unbind(1):
                J, M = jacobian(flow, states, input).dense(), flow.M
                # J = diag(c) M: c by least squares over each row
                c = (J * M).sum(-1) / M.square().sum(-1)
                negative.append(float((c < 0).double().mean()))
                worst.append(float(approximate_eigenvalues(J.numpy()).real.max()))
                states = states + PAPER_STEP * flow.velocity(states, input)
        found |= {f"negative_{scale}": float(np.mean(negative)), f"largest_{scale}": max(worst)}
    return found | {"largest": max(found[f"largest_{scale}"] for scale in SCALES)}


def time_varying() -> dict[str, float]:
    """Return the largest Re λ of Markus and Yamabe's A(t), how its solution grows, and the radius of two shears."""
    found = compute(True)
    return {
        "highest": float(found["growth"]["eigenvalue"].values.real.max()),
        "growth": float(found["growth"]["log_norm"][-1]),
        "product": float(found["shears"]["product_radius"]),
    }


def step() -> dict[str, float]:
    """Return the critical step of W_diff, and the largest modulus at the figure's step."""
    ds = planar_portrait("diff", "feedback")
    return {"critical": float(ds["critical_step"][0]), "modulus": float(np.abs(ds["map_eigenvalue"].values).max())}


def end_to_end() -> dict[str, Any]:
    """Return how far the trained networks of Figure 2 are from a mean modulus of 1 at the end."""
    ds = kept("antisymmetric-2")["eigenvalues"]
    last = ds["mean"].isel({schema.TIME: -1})
    off = [abs(float(one)) for one in last if str(one[schema.NETWORK].values).startswith("trained antisymmetric")]
    return {"trained": len(off), "off": max(off, default=np.nan), "said": antisymmetric_2.measured(ds)}


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


def speeds() -> dict[str, Any]:
    """Return how many times as fast the fused LSTM and the scripted AntisymmetricRNN are, on each machine."""
    ratios = speed.ratios(kept("speed")["steps"])
    return {
        "fused": min(fused for fused, _ in ratios.values()),
        "scripted": min(scripted for _, scripted in ratios.values()),
        "of_fused": "; ".join(f"{machine}: {fused:.0f}×" for machine, (fused, _) in ratios.items()),
        "of_scripted": "; ".join(f"{machine}: {scripted:.2f}×" for machine, (_, scripted) in ratios.items()),
    }


def kinds() -> dict[str, Any]:
    """Return of how many kinds of equilibrium the flow is not as the table says."""
    ds = equilibria.table()
    return {
        "wrong": sum(row[-1] not in (equilibria.HOLDS, equilibria.ONLY_FLOW) for row in ds.rows),
        "said": ds.measured,
    }
