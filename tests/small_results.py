"""One small result of every diagnostic, and of what only a plot takes: quick to compute, and with all its variables."""

import inspect

import numpy as np
import torch
import xarray as xr

import dynlab as dl
from dynlab.diagnostics.lyapunov import lyapunov
from dynlab.diagnostics.over_training import over_training
from dynlab.diagnostics.spectrum import spectrum
from dynlab.diagnostics.stability import stability
from dynlab.matrices import planar_matrix
from dynlab.systems import System, create
from dynlab.systems.planar import planar_system


def vanilla():
    torch.manual_seed(0)
    return create("vanilla", input_size=2, state_size=5).double()


def ernn():
    torch.manual_seed(0)
    return create("ernn", input_size=2, state_size=5, length=20, rank=None, activation="tanh").double()


def inputs():
    return np.random.default_rng(0).normal(size=(3, 12, 2))


DAMPED = [[-1.5, -2.0], [2.0, -1.5]]  # whose orbits settle soon: at ε = 0.48 the origin loses stability
STEPS = {"parameter": "step_size", "lowest": 0.3, "highest": 1.0, "values": 4}
PLANE = {"parameters": ("step_size", "W[0,0]"), "lowest": (0.02, -1.0), "highest": (0.2, 0.2), "grid": 4}
BOUNDS = {"max_modulus": 1.0, "min_log_gradient": -3.0, "max_exponent": 0.0}
# What makes a diagnostic quick here, by the names of its arguments.
QUICK = {"starts": 8, "grid": 6, "steps": 200, "samples": 16}
# Where another system than a vanilla RNN is asked about, or arguments are required.
CALLS = {
    "phase_plane": lambda: ([planar("diff")], {"matrix": planar_matrix("diff"), "steps": 10}),
    "ernn_manifold": lambda: ([ernn(), inputs()], {}),
    "tangent_map": lambda: ([vanilla(), np.zeros(5)], {"grid": 5}),
    "ernn_convergence": lambda: ([ernn(), inputs()], {}),
    "lyapunov": lambda: ([vanilla(), inputs()], {}),
    "covariant_vectors": lambda: ([vanilla(), inputs()], {}),
    "compare": lambda: ([vanilla(), ernn(), np.random.default_rng(0).normal(size=(6, 20, 2))], {}),
    "eigenvalue_bounds": lambda: ([vanilla(), inputs()], BOUNDS),
    "bifurcation": lambda: ([planar_system(DAMPED)], STEPS),
    "parameter_plane": lambda: ([planar("diff")], PLANE),
    "ernn_spectrum": lambda: ([ernn(), inputs()], {}),
    "lyapunov_function": lambda: ([planar("diff", "flow")], {"starts": 8}),
    "energy": lambda: ([planar("zero")], {"steps": 20}),
    "stability": lambda: ([ernn(), inputs()], {}),
}


def planar(name, kind="feedback"):
    return planar_system(planar_matrix(name), kind)


def call(name):
    """The call of a diagnostic: that of the table, else of a small vanilla RNN, driven where it takes inputs."""
    if name in CALLS:
        return CALLS[name]()
    takes = inspect.signature(getattr(dl, name)).parameters
    driven = [inputs()] if "inputs" in takes else []
    return [vanilla(), *driven], {key: value for key, value in QUICK.items() if key in takes}


def first_call(results, name) -> tuple[xr.Dataset, torch.nn.Module, dict[str, torch.Tensor]]:
    """The result, the system that was given, in float32 and training, and the weights that it had before."""
    if name not in results:
        positional, keywords = call(name)
        system = positional[0].float().train()
        before = {key: value.clone() for key, value in system.state_dict().items()}
        results[name] = getattr(dl, name)(*positional, **keywords), system, before
    return results[name]


def euler() -> System:
    """A network that is Euler's step of a flow."""
    torch.manual_seed(0)
    return create("antisymmetric", input_size=2, state_size=4, step_size=0.3, gamma=0.1, sigma_w=2.0).double()


OF_SPECTRA = ("plot_spectral_radius", "plot_eigenvalues_over_time", "plot_flow_spectrum")
OF_STEPS = ("plot_step_region", "plot_critical_steps", "plot_diffusion_plane", "plot_theory_bounds")
# What each plot draws that has no diagnostic of its name.
OTHERS = {
    **dict.fromkeys(("plot_stability_disc", "plot_divergence"), lambda: first_call({}, "phase_plane")[0]),
    **dict.fromkeys(OF_SPECTRA, lambda: spectrum(euler(), inputs())),
    **dict.fromkeys(OF_STEPS, lambda: stability(euler(), inputs())),
    "plot_attractor": lambda: lyapunov(create("henon"), steps=400),
    "plot_over_training": lambda: over_training("spectrum", {0: vanilla(), 10: vanilla()}, inputs(), times=2),
}
