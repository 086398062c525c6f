"""Measures for the claims of the asRNN paper, its repository, and the NumPy RNN tutorial."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dynlab import schema, zoo
from dynlab.numerics.singular_values import singular_values
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.asrnn import ASRNN
from dynlab.systems.vanilla import Vanilla
from dynlab.tasks import driving_inputs
from dynlab.trajectories.driven import chosen_steps
from dynlab.words import capital

from . import collapsed_rule, copying, copying_modes, movie
from .measures_of_ernn import orbits
from .scripts import kept
from .tutorial import GRADIENT, RULE

INPUTS, UNITS, STEPS = 8, 64, 200
SAMPLES, TIMES = 4, 201  # sequences, and times of each with the start
TRAINED = ("asrnn-smnist", "asrnn-pmnist")
SPREADS = (0.8, 3.0)  # S ~ U(0.8, 3), the source's start on PTB


def _cell(**config: Any) -> tuple[ASRNN, torch.Tensor]:
    """Return an asRNN at its start, and noise as its input."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        cell = ASRNN(INPUTS, UNITS, **config).double()
        return cell, torch.randn(STEPS, INPUTS, dtype=torch.float64)


def _run(step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], inputs: torch.Tensor) -> torch.Tensor:
    state, states = torch.zeros(UNITS, dtype=torch.float64), []
    with torch.no_grad():
        for one in inputs:
            state = step(state, one)
            states.append(state)
    return torch.stack(states)


def saturation() -> dict[str, float]:
    """Return how far asRNN is from linear where D_f does not learn, and what D_f became where it does."""
    cell, inputs = _cell(a=0.0, b=0.0, eps=1e-5, init="henaff")
    held = frozen(cell)
    bent = _run(held.step, inputs)
    straight = _run(lambda h, x: held.V @ x + held.W @ h + held.b, inputs)
    (gradient,) = torch.autograd.grad((S := torch.zeros(3, dtype=torch.float64, requires_grad=True)).abs().sum(), S)
    found = {"off": float((bent - straight).norm() / straight.norm()), "gradient": float(gradient.abs().max())}
    for name in TRAINED:
        trained: Any = frozen(zoo.load(name))
        D_f = trained.saturation().detach()
        found |= {
            f"least_{name}": float(D_f.min()),
            f"most_{name}": float(D_f.max()),
            f"start_{name}": float(trained.config["b"]) + float(trained.config["eps"]),
        }
    return found | {"moved": min(found[f"most_{name}"] / found[f"start_{name}"] for name in TRAINED)}


def expressivity() -> dict[str, float]:
    """Return how far asRNN is from a vanilla RNN in other coordinates, and that one's moduli from 1."""
    cell, inputs = _cell(a=SPREADS[0], b=SPREADS[1])
    held = frozen(cell)
    states = _run(held.step, inputs)
    D_f = held.saturation()
    W_f, inverse = held.U_f * D_f, held.U_f.mT / D_f.unsqueeze(-1)
    plain = Vanilla(INPUTS, UNITS).double()
    with torch.no_grad():
        plain.W.copy_(W_f @ held.W @ inverse)
        plain.V.copy_(W_f @ held.V)
        plain.b.copy_(W_f @ held.b)
    turned = _run(plain.step, inputs) @ inverse.mT
    moduli = np.abs(torch.linalg.eigvals(plain.W).detach().numpy())
    return {"off": float((turned - states).norm() / states.norm()), "radius": float(np.abs(moduli - 1).max())}


def norm() -> dict[str, float]:
    """Return how large the norms of a trained asRNN's Jacobians are along test sequences of MNIST, and their bound."""
    cell: Any = frozen(zoo.load(TRAINED[0]))
    driven = orbits(cell, driving_inputs("task:smnist", cell, samples=SAMPLES).inputs)
    times = chosen_steps(driven.steps, TIMES)[1:] - 1
    J = jacobian(cell, driven.states[:, times], driven.inputs[:, times]).dense().detach().numpy()
    norms, D_f = singular_values(J)[..., 0], cell.saturation().detach()
    return {
        "above": float((norms > 1).mean()),
        "middle": float(np.median(norms)),
        "norm": float(norms.max()),
        "bound": float(D_f.max() / D_f.min()),
        "jacobians": norms.size,
    }


def surviving() -> dict[str, float]:
    """Return how many directions trained expRNN keeps."""
    return {"surviving": copying_modes.above(kept("copying-modes")["modes"], copying.NAMES["exprnn"])[1]}


def outcomes() -> dict[str, Any]:
    """Return how many trainings at the source's delays ended as it says, and in which order they halve the baseline."""
    every = copying.curves()
    found = [one for one in every if one.delay > copying.DELAYS[0]]
    as_said = [one.outcome == (copying.STAYED if one.short == "LSTM" else copying.COPIES) for one in found]
    ranked = sorted((one for one in found if one.halving is not None), key=lambda one: one.halving or 0)
    orders = {delay: [one for one in ranked if one.delay == delay] for delay in copying.DELAYS[1:]}
    said = [
        f"L = {delay:,}: {', '.join(f'{one.short} {one.halving:,}' for one in order)}"
        for delay, order in orders.items()
    ]
    each = [(one.delay, one.name) for one in found]
    return {
        "run": len(found),
        "seeds": min(map(each.count, each)),
        "as_said": sum(as_said),
        "said": copying.measured(every),
        "delays": len(orders),
        "first": sum(order[0].short == "asRNN" for order in orders.values()),
        "order": "; ".join(said),
    }


def rule() -> dict[str, Any]:
    """Return the least error of the tutorial's rule in an earlier column, and what its figure says."""
    results = kept("collapsed-rule")
    earlier = results["columns"]["error"].isel({schema.TIME: slice(0, -1)})
    return {"least": float(earlier.min()), "said": collapsed_rule.measured(**results)}


def losses() -> dict[str, Any]:
    """Return along how many of the two directions the tutorial's third loss is the best, and all errors."""
    last = movie.errors(kept("movie")["predictions"]).isel({schema.TRAINING_STEP: -1})
    errors = {along_it: last.sel({schema.NETWORK: along_it}).to_series() for along_it in (RULE, GRADIENT)}
    best = sum(each.idxmin() == movie.SOFT for each in errors.values())
    said = [
        f"{capital(along_it)}: {', '.join(f'{name} {value:.4f}' for name, value in each.items())}"
        for along_it, each in errors.items()
    ]
    return {"best": best, "epochs": movie.EPOCHS, "beta": movie.BETA, "said": ". ".join(said)}
