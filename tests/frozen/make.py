"""Run every diagnostic on every shipped network and keep a few numbers of each Dataset in numbers.json.

python tests/frozen/make.py [--only NETWORK] [--diagnostic NAME]
The kept numbers are those of one release; compare.py holds the present code against them.
"""

import argparse
import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import torch

import dynlab as dl
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.errors import UserError
from dynlab.matrices import planar_matrix
from dynlab.systems.planar import planar_system
from dynlab.zoo import entries

NUMBERS = Path(__file__).with_name("numbers.json")
SAMPLES, STEPS, STARTS = 6, 16, 12
TEXTBOOK = {
    "W_diff": lambda: planar_system(planar_matrix("diff")),
    "lorenz": lambda: dl.create("lorenz"),
    "henon": lambda: dl.create("henon"),
}
FLOW_DIAGNOSTICS = ("lyapunov", "covariant_vectors", "pseudospectrum", "lyapunov_function", "bifurcation")
EULER_STEP = 0.005  # seconds, for the other diagnostics of a flow
SYSTEMS = [*(entry["name"] for entry in entries()), *TEXTBOOK]

# Name of a diagnostic: what it is given beside the system and, where it takes them, the inputs.
SEQUENCES = {  # along driven sequences
    "spectrum": {"times": 4},
    "gradient": {},
    "end_to_end": {"times": 3},
    "lyapunov": {},
    "covariant_vectors": {"k": 2},
    "eigenvalue_bounds": {"max_modulus": 1.0, "max_exponent": 0.0, "min_log_gradient": -5.0, "times": 4},
    "stability": {"times": 3},
    "ernn_convergence": {"times": 2, "iterations": 100},
    "ernn_spectrum": {"times": 3},
    "ernn_manifold": {},
}
EXPONENTS = {
    "lorenz": {"seconds": 20.0, "initial_state": [1.0, 1.0, 20.0]},
    "henon": {"steps": 4000, "initial_state": [0.1, 0.1]},
    "W_diff": {"steps": 2000, "initial_state": [0.1, 0.1]},
}
KNOBS = {  # bifurcation takes long where a network has many branches
    "W_diff": ("step_size", 0.02, 0.2),
    "lorenz": ("rho", 0.5, 28.0),
    "henon": ("a", -0.2, 1.0),
    "gru-flipflop": ("input[0]", 0.0, 0.2),
    "rnn-har2-tanh": ("input[0]", -0.5, 0.5),
    "fastrnn-har2": ("input[0]", -0.5, 0.5),
}
SMALL = 96  # states, for what takes long beyond


def system_of(name):
    """Return a shipped network or one of the three textbook systems."""
    return TEXTBOOK[name]() if name in TEXTBOOK else dl.load(name)


def inputs_of(system):
    """Return white noise that is the same on every machine."""
    draws = np.random.default_rng(0)
    return draws.standard_normal((SAMPLES, STEPS, system.input_size))


def starts_of(system):
    """Return the states from which fixed points are sought."""
    return 0.7 * np.random.default_rng(1).standard_normal((STARTS, system.state_size))


def arguments(name, diagnostic, system):
    """Return the positional and the named arguments of one run, or None where a diagnostic is of other systems."""
    textbook, starts = name in TEXTBOOK, starts_of(system)
    if name == "lorenz" and diagnostic not in FLOW_DIAGNOSTICS:
        system, starts = dl.Euler(system, EULER_STEP), 20 * starts
    x = inputs_of(system)
    if textbook and diagnostic in {"lyapunov", "covariant_vectors"}:
        return [system], EXPONENTS[name]
    if textbook and (diagnostic in SEQUENCES or diagnostic == "compare"):
        if diagnostic.startswith("ernn") or diagnostic == "compare":
            return None
        return [system, np.zeros((1, STEPS, 0))], SEQUENCES[diagnostic] | {"initial_state": [0.1] * system.state_size}
    if diagnostic == "stability" and system.state_size > 120:
        return None
    if diagnostic in SEQUENCES:
        return [system, x], SEQUENCES[diagnostic]
    knob = dict(zip(("parameter", "lowest", "highest"), KNOBS.get(name, ()), strict=False))
    reach = 3.0 if name == "henon" else 1.0
    small = textbook or system.state_size <= SMALL
    point = starts[0]
    return {
        "phase_plane": ([system], {"grid": 5}) if system.state_size == 2 else None,
        "fixed_points": ([system], {"starts": starts, "certify": textbook}),
        "modes": ([system], {"starts": starts}),
        "geometry": (
            [system, x],
            {"starts": starts, "curve_steps": 8} | ({"initial_state": starts[:SAMPLES]} if textbook else {}),
        ),
        "tangent_map": ([system, point], {"grid": 5}),
        "basins": ([system], {"states": starts, "grid": 5, "extent": 1.0, "steps": 400, "follow": textbook}),
        "pseudospectrum": ([system, point], {"grid": 5, "steps": 20}),
        "lyapunov_function": ([system], {"starts": starts, "prove": textbook}) if small else None,
        "energy": ([system], {"initial_state": starts[:2], "steps": 40}),
        "bifurcation": ([system], knob | {"starts": 8, "searches": 1, "values": 0}) if knob else None,
        "box_bounds": ([system], {"box": reach, "samples": 4}) if small and "ernn" not in name else None,
        "compare": ([system, dl.load("fastrnn-har2"), x], {"other_inputs": inputs_of(dl.load("fastrnn-har2"))}),
        "over_training": (["spectrum", {0: system, 10: system}, x], {"times": 2}) if name == "rnn-har2-tanh" else None,
    }.get(diagnostic)


# ---- From a Dataset to a few numbers ----
ERRORS = {  # where the error of a variable is not called <variable>_error
    "log_singular_value": "error_bound",
    "finite_time_exponent": "exponent_error",
    "exponent": "exponent_error",
    "measured": "error",
}
OTHER_ERRORS = {"exponent": "standard_error", "mean_local_rate": "standard_error"}  # where there is no such variable
# Rounding itself, the course of a search, random draws, and vectors whose sign or basis is free: none has a truth.
WITHOUT_TRUTH = """
    displacement linear_displacement bifurcation_residual bifurcation_iterations
    residual fsolve_residual fsolve_distance end_residual equilibrium_residual lyapunov_residual lanczos_residual
    covariance_residual balance starts assignment converged outcome origin iterations lanczos_iterations
    equilibrium_iterations unseen_share unseen_share_bound alignment_error rounding_bound running_exponent
    shrinkage separation_rate start_difference angle_difference vector
    right_eigenvector left_eigenvector input_drive input_share separated vector_error condition direction
    fixed_point_position unstable_direction unstable_manifold weights norm_weights abscissa_weights
    attractor_x attractor_y outward_step attractor_state ratio largest_rate sampled_radius sampled_rate
    certificate_radius certificate_precision eigenvalue_radius close_smallest_singular_value kreiss_point
    close_up_half_width instability_point local_rate angle smallest_angle_time steps tried extent level
    sampled_norm sampled_spectral_radius sampled_logarithmic_norm sampled_abscissa basin
    relabelled_distance p_value visited long_orbit mode_direction trajectory backward_orbit run_eigenvalue
    where_sample where_step where_mode leads_to index_sum sha256
"""
LEFT_OUT = {*WITHOUT_TRUTH.split(), *ERRORS.values(), *OTHER_ERRORS.values()}
STATUS_NAMES = "stable determined dependent settled maps_into_itself certified proved_stable is_upper only_above"
STATUSES = frozenset(STATUS_NAMES.split())
SEARCHED = {"fixed_point", "point"}  # dimensions whose length the course of a search decides
POINTS = 24  # of a list of fixed points, those nearest to 0
PICKED = 3  # at either end of the sorted values


def error_of(ds, name):
    """Return the stated error of a variable, infinite where it is not known, and None where none is stated."""
    stated = next(
        (one for one in (f"{name}_error", ERRORS.get(name), OTHER_ERRORS.get(name)) if one and one in ds.variables),
        None,
    )
    if stated is None or not set(ds[stated].dims) <= set(ds[name].dims):
        return None
    error = ds[stated].broadcast_like(ds[name]).transpose(*ds[name].dims).values.astype(float)
    return np.where(np.isnan(error), np.inf, error)


def number(value):
    """Return a float with twelve digits, or its name where it is not finite."""
    return float(f"{value:.12g}") if np.isfinite(value) else str(float(value))


def picked(values, error):
    """Return counts, and the first, middle and last of the sorted values with the interval that each surely lies in.

    The k-th smallest of values with errors lies between the k-th smallest lower and the k-th smallest upper end.
    """
    values = np.asarray(values, float).ravel()
    finite = np.isfinite(values)
    kept = {
        "known": int(finite.sum()),
        "unknown": int(np.isnan(values).sum()),
        "infinite": int(np.isinf(values).sum()),
    }
    if not finite.any():
        return kept
    values, n = values[finite], kept["known"]
    error = np.zeros(n) if error is None else np.ravel(error)[finite]
    order = sorted({*range(min(PICKED, n)), n // 2, *range(max(n - PICKED, 0), n)})
    lowest, middle, highest = np.sort(values - error), np.sort(values), np.sort(values + error)
    kept["order"] = order
    kept["values"] = [number(middle[k]) for k in order]
    if error.any():
        kept["ends"] = [[float(f"{middle[k] - lowest[k]:.2g}"), float(f"{highest[k] - middle[k]:.2g}")] for k in order]
        kept["ends"] = [[number(one) for one in pair] for pair in kept["ends"]]
    kept["scale"] = number(np.abs(values).max())
    return kept


def counted(values):
    """Return how often each status occurs."""
    kinds, counts = np.unique(np.asarray(values).astype(str), return_counts=True)
    return {"counts": dict(zip(kinds.tolist(), counts.tolist(), strict=True))}


def points(ds, states):
    """Return the fixed points nearest to 0, each with a key of its state, its statuses, numbers and eigenvalues."""
    test = np.random.default_rng(2).standard_normal((3, states.shape[1]))
    found = []
    for i in np.argsort(np.linalg.norm(states, axis=1), kind="stable")[:POINTS]:
        point = {"key": [number(one) for one in test @ states[i]]}
        for name, variable in ds.data_vars.items():
            if name in LEFT_OUT or name.endswith("_error") or variable.dims[:1] != ("fixed_point",):
                continue
            value, error = variable.values[i], error_of(ds, name)
            if variable.dims == ("fixed_point",) and (name in STATUSES or name.endswith("_stable") or is_text(value)):
                point[name] = str(value)
            elif variable.dims in {("fixed_point",), ("fixed_point", "mode")} and not is_text(np.ravel(value)[0]):
                point[name] = picked(np.abs(value), None if error is None else error[i])
        found.append(point)
    return found


def is_text(value):
    """Tell whether a value is text."""
    return isinstance(value, str)


def reduced(ds):
    """Return the numbers that are kept of a Dataset."""
    kept = {}
    states = next((ds[name].values for name in ("fixed_point_state", "equilibrium") if name in ds), None)
    if states is not None and len(states) and states.ndim == 2:
        kept["points"] = points(ds, states)
    for name, variable in ds.data_vars.items():
        if name in LEFT_OUT or name.endswith("_error") or SEARCHED & {*variable.dims} or not variable.size:
            continue
        values = variable.values
        if values.dtype.kind in "USOb" or name in STATUSES:
            kept[name] = counted(values)
        elif values.dtype.kind == "c":
            kept[name] = picked(np.abs(values), error_of(ds, name))
            kept[f"Re {name}"] = picked(values.real, error_of(ds, name))
        else:
            kept[name] = picked(values, error_of(ds, name))
    return kept


def run(name, diagnostic, system):
    """Return what is kept of one diagnostic of one system, with its time and the peak memory so far, or None."""
    asked = arguments(name, diagnostic, system)
    if asked is None:
        return None
    begun, worked = time.perf_counter(), time.process_time()
    try:
        ds = getattr(dl, diagnostic)(*asked[0], **asked[1])
    except UserError:  # it is of other systems
        return None
    seconds, processor = time.perf_counter() - begun, time.process_time() - worked
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    found = {"seconds": round(seconds, 2), "processor_seconds": round(processor, 2), "peak_mib": memory}
    return found | {"numbers": reduced(ds)}


def options(description):
    """Return the options that make.py and compare.py share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--only", action="append", choices=SYSTEMS, help="One system; may be repeated.")
    parser.add_argument("--diagnostic", action="append", help="One diagnostic; may be repeated.")
    return parser


def main():
    """Write numbers.json, or those parts of it that are asked for."""
    asked = options(main.__doc__).parse_args()
    torch.set_num_threads(1)
    kept = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    for name in asked.only or SYSTEMS:
        system = system_of(name)
        for diagnostic in asked.diagnostic or [*DIAGNOSTICS, "over_training"]:
            found = run(name, diagnostic, system)
            if found is not None:
                kept.setdefault(name, {})[diagnostic] = found
                sys.stdout.write(
                    f"{name:24}{diagnostic:20}{found['processor_seconds']:6.2f} s{found['peak_mib']:6} MiB\n"
                )
                sys.stdout.flush()
        NUMBERS.write_text(written(kept))


def written(kept):
    """Return the file's text, one diagnostic a line."""
    lines = ",\n".join(
        f" {json.dumps(name)}: {{\n"
        + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in row.items())
        + "\n }"
        for name, row in kept.items()
    )
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    main()
