"""Whether numbers lie within their stated errors, over random and saturated networks of every trainable family.

    python benchmarks/stated_errors.py FIRST LAST [FILE]

The truth is computed in multi-precision arithmetic, with its Jacobians at the states that were stored. What each
network gave is a line of FILE, by default stated_errors.jsonl in the working folder: networks that are there already
are not computed again, and the table is of all lines. A hundred networks take some three minutes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flint import acb_mat, arb, arb_mat
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from dynlab import end_to_end, gradient, schema, spectrum
from dynlab.program import NoProgram
from dynlab.program.enclosure import NonSmooth, enclose
from dynlab.systems import Euler, Map, System, frozen
from dynlab.trajectories.simulation import orbit

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from exact_products import Product, bits_for, precision
from saturated_networks import FAMILIES, network

TIMES = 3  # of a sequence at which spectra and products are compared, evenly spaced
BITS = 1500  # of Jacobians: slopes of e^-700 keep their digits beside others of 1
ONE_ROUNDING = float(np.finfo(float).eps) / 2  # of a number; of a logarithm below 1 that of its argument
SPECTRA, PRODUCTS = "spectra", "products"
QUANTILES = (0.5, 0.95)

Real = NDArray[np.float64]
Rows = dict[str, list[list[float]]]


def judged(number: int, **sizes: int) -> Rows:
    """`compared` of network `number`."""
    family = list(FAMILIES)[number % len(FAMILIES)]
    return compared(*network(family, number // len(FAMILIES), **sizes))


def exact_jacobian(system: System, state: Tensor, input: Tensor, t: int) -> arb_mat:
    """Return the derivative of the traced step in multi-precision arithmetic, its stored numbers as they are."""
    program = system.program(input, t)
    program.errors[:] = [0.0] * len(program.errors)
    return enclose(program, [arb(float(each)) for each in state]).derivative.mid()


def compared(system: Map, inputs: Tensor, start: Tensor, dtype: torch.dtype = torch.float64) -> Rows:
    """For each number that the diagnostics give its true error, its bound and one rounding of it.

    NaN where a number is not answered; −inf as the true error where it is −inf and the truth is not.
    """
    system, inputs, start = frozen(system, dtype), inputs.to(dtype), start.to(dtype)
    states = orbit(system, inputs, start)
    rows: Rows = {SPECTRA: [], PRODUCTS: []}
    if not states.isfinite().all():  # a trajectory that diverges has no Jacobians
        return rows
    try:
        with precision(BITS):
            exact = [exact_jacobian(system, states[t], inputs[t], t) for t in range(len(inputs))]
    except (NoProgram, NonSmooth):  # an implicit step has estimates, and a kink no derivative
        return rows
    given = {"inputs": inputs.numpy(), "initial_state": start.numpy(), "dtype": str(dtype).removeprefix("torch.")}
    of_steps = spectrum(system, times=TIMES, **given)
    for index, t in enumerate(of_steps[schema.TIME].values):
        jacobians = {"eigenvalue": exact[t - 1]}
        if isinstance(system, Euler):
            with precision(BITS):
                jacobians["flow_eigenvalue"] = exact_jacobian(system.flow, states[t - 1], inputs[t - 1], t - 1)
        for name, jacobian in jacobians.items():
            found, bound = (of_steps[part].values[0, index] for part in (name, f"{name}_error"))
            rows[SPECTRA] += _of_spectrum(found, bound, jacobian)
    rows[PRODUCTS] = _of_products(system, given, exact)
    return rows


def _of_spectrum(found: NDArray[np.complex128], bound: Real, jacobian: arb_mat) -> list[list[float]]:
    """Eigenvalues are paired with the true ones so that as many as can be lie within their bounds."""
    with precision(BITS):
        true = acb_mat(jacobian).eig(algorithm="approx")
        distance = np.array([[float(abs(t - complex(value)).mid()) for t in true] for value in found])
    outside = distance > bound[:, None]
    size = max(float(distance.max()), np.finfo(float).tiny)
    chosen = linear_sum_assignment(outside + distance / size / (2 * len(found)))
    return _rows(found, bound, distance[chosen], ONE_ROUNDING * np.abs(found))


def _of_products(system: Map, given: dict[str, Any], exact: list[arb_mat]) -> list[list[float]]:
    steps, n = len(exact), system.state_size
    forward = end_to_end(system, times=TIMES, **given)
    backward = gradient(system, **given)
    rows: list[list[float]] = []
    with precision(bits_for(exact)):
        product, log_determinant = Product(n), arb(0)
        for t, jacobian in enumerate(exact, start=1):
            product.multiply(jacobian)
            determinant = abs(jacobian.det().mid())
            log_determinant += determinant.log() if determinant > 0 else -arb("inf")
            if t in forward[schema.TIME].values:
                at = forward.sel({schema.TIME: t})
                found, bound = (at[name].values[0] for name in ("log_singular_value", "error_bound"))
                rows += _of_logarithms(found, bound, product.log_singular_values())
                found, bound = (at[name].values for name in ("mean_log_modulus", "mean_log_modulus_error"))
                rows += _of_logarithms(found, bound, np.array([float(log_determinant / n)]))
        product = Product(n)
        chosen = forward[schema.TIME].values - 1
        for t in range(steps - 1, -1, -1):
            product.multiply(exact[t].transpose())
            if t in chosen:
                at, true = backward.sel({schema.TIME: t}), product.log_singular_values()
                frobenius = np.logaddexp.reduce(2 * true) / 2
                for name, truth in (("log_norm", true[0]), ("log_norm_frobenius", frobenius)):
                    rows += _of_logarithms(at[name].values, at[f"{name}_error"].values, np.array([truth]))
    return rows


def _of_logarithms(found: Real, bound: Real, truth: Real) -> list[list[float]]:
    with np.errstate(invalid="ignore"):
        error = np.where(np.isneginf(found), np.where(np.isneginf(truth), 0.0, -np.inf), np.abs(found - truth))
    rounding = ONE_ROUNDING * np.maximum(1, np.abs(np.where(np.isneginf(found), 1, found)))
    return _rows(found, bound, error, rounding)


def _rows(found: NDArray[Any], bound: Real, error: Real, rounding: Real) -> list[list[float]]:
    answered = ~np.isnan(found) & np.isfinite(bound)
    parts = (np.where(answered, part, np.nan) for part in (error, bound, rounding))
    return np.stack(list(parts), axis=-1).tolist()


def summary(rows: list[list[float]]) -> dict[str, float]:
    """How many numbers, the share answered, how many lie outside their bounds, false −inf, and how wide bounds are."""
    error, bound, rounding = np.array(rows).T
    answered = ~np.isnan(error)
    false_zero = np.isneginf(error)
    judged = answered & ~false_zero
    least = np.maximum(error, rounding)
    compared = judged & (least > 0)  # of an exact zero without error nothing is a multiple
    with np.errstate(over="ignore"):  # of an eigenvalue near the smallest number
        width = bound[compared] / least[compared]
    return {
        "numbers": len(error),
        "answered": float(answered.mean()),
        "outside": int((error > bound)[judged].sum()),
        "false zeros": int(false_zero.sum()),
        **{f"width {share}": float(np.quantile(width, share)) for share in QUANTILES},
    }


def main() -> None:
    first, last = int(sys.argv[1]), int(sys.argv[2])
    path = Path(sys.argv[3] if len(sys.argv) > 3 else "stated_errors.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {line["network"] for line in lines}
    with path.open("a") as file:
        for number in sorted(set(range(first, last)) - known):
            lines.append({"network": number} | judged(number))
            file.write(json.dumps(lines[-1]) + "\n")
            file.flush()
    print(f"{len(lines)} networks")
    for kind in (SPECTRA, PRODUCTS):
        found = summary([row for line in lines for row in line[kind]])
        print(f"{kind}: " + ", ".join(f"{name} {value:.4g}" for name, value in found.items()))
        for line in lines:
            outside = [bound for error, bound, _ in line[kind] if error > bound or np.isneginf(error)]
            if outside:
                print(f"  network {line['network']}: {len(outside)} outside")


if __name__ == "__main__":
    main()
