"""What claims of the ERNN paper are measured by, on networks."""

from typing import Any

import numpy as np
import torch

from dynlab import schema, zoo
from dynlab.numerics.singular_values import singular_values
from dynlab.program.differentiation import along
from dynlab.systems import frozen
from dynlab.systems.ernn import ERNN
from dynlab.systems.fastrnn import FastRNN
from dynlab.tasks import driving_inputs
from dynlab.trajectories.driven import Driven
from dynlab.trajectories.simulation import orbit

from . import ernn_2, ernn_5, ernn_6, zoo_comparison
from .kept import kept

TRAINED = {1: "ernn-har2-k1", 3: "ernn-har2-k3", 5: "ernn-har2-k5"}
SAMPLES, EVERY = 4, 16
INNER, FEW = 300, 16  # iterations at η = 0.5 of an inner map that contracts: far below rounding; and steps of it


def _driven(name: str) -> tuple[ERNN, Driven]:
    system = zoo.load(name)
    if not isinstance(system, ERNN):
        raise TypeError(f"{name} is {type(system).__name__}")
    return system, ernn_5.along(system, driving_inputs(None, system, samples=SAMPLES, shipped=True).inputs)


def _relative(system: ERNN, states: torch.Tensor, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return F at h_k + h_{k−1} along states, which is 0 at the equilibrium, and that sum itself."""
    held, z = frozen(system), states[:, 1:] + states[:, :-1]
    with torch.no_grad():
        return held.transition(z, torch.nn.functional.linear(inputs, held.W, held.b)) - z, z


def manifold() -> dict[str, float]:
    """Return how far h_k + h_{k−1} is from the equilibrium: a dense ERNN run to its end, and the trained ones."""
    inputs = _driven(TRAINED[1])[1].inputs[:1, :FEW]
    cell = frozen(ernn_6.dense(inner_steps=INNER, eta=ernn_6.ETA))
    states = orbit(cell, inputs, torch.zeros(1, cell.state_size, dtype=torch.float64)).detach()
    found = {"dense": float(_relative(cell, states, inputs)[0].abs().max())}
    last = FEW - 1
    J = torch.func.jacrev(lambda state: cell.step(state, inputs[0, last], last))(states[0, last])
    found["jacobian"] = float(torch.linalg.matrix_norm(J + torch.eye(cell.state_size), 2))
    for K, name in TRAINED.items():
        system, driven = _driven(name)
        off, z = _relative(system, driven.states, driven.inputs)
        found[f"trained_{K}"] = float((off.norm(dim=-1) / z.norm(dim=-1)).median())
    return found


def near_identity() -> dict[str, float]:
    """Return the medians of ‖∂h_k/∂h_{k−1} ± I‖₂ over every sixteenth step of the trained networks."""
    found = {}
    for K, name in TRAINED.items():
        system, driven = _driven(name)
        J = along(frozen(system), driven.states, driven.inputs).dense()[:, ::EVERY]
        for word, sign in (("plus", -1), ("minus", +1)):
            moved = (J + sign * torch.eye(system.state_size)).detach().numpy()
            found[f"{word}_{K}"] = float(np.median(singular_values(moved)[..., 0]))
    return found | {"excess": max(found[f"plus_{K}"] - found[f"minus_{K}"] for K in TRAINED)}


def fastrnn() -> dict[str, float]:
    """Return how far ERNN with K = 1 is from a FastRNN that has its weights, at each step's η."""
    system, driven = _driven(TRAINED[1])
    held = frozen(system)
    U = held.U.matrix()
    with torch.no_grad():
        twin = FastRNN(system.input_size, system.state_size, "relu").double()
        twin.U.copy_(2 * held.recurrent_matrix())
        twin.W.copy_(U @ held.W)
        twin.b.copy_(U @ held.b)
        worst, possible = 0.0, [t for t in range(driven.steps) if 0 < float(held.eta[0, t]) < 1 / 2]
        for t in possible:
            eta = held.eta[0, t]
            twin.alpha.copy_(torch.logit(eta))
            twin.beta.copy_(torch.logit(1 - 2 * eta))
            after = twin.step(driven.states[:, t], driven.inputs[:, t])
            worst = max(worst, float((after - driven.states[:, t + 1]).abs().max()))
    reach = {"lowest": float(held.eta.min()), "highest": float(held.eta.max())}
    return reach | {"difference": worst, "possible": float(len(possible)), "steps": float(driven.steps)}


def shares() -> dict[str, float]:
    """Return the shares of Figure 5's eigenvalues for each K, and the largest share that is not below 0."""
    found = ernn_5.shares()
    flat = {f"{name}_{K}": one[name] for K, one in found.items() for name in ("below", "zero", "above", "singular")}
    return flat | {"others": max(one["above"] + one["zero"] for one in found.values())}


def product() -> dict[str, Any]:
    """Return singular values of ∂h_T/∂h_0 of the trained network, from what the figure of the zoo keeps."""
    results, name = kept("zoo"), TRAINED[5]
    last = results[f"{name}.end_to_end"]["log_singular_value"].isel({schema.TIME: -1})
    largest, middle = (float(last.isel({schema.MODE: mode}).median()) for mode in (0, last.sizes[schema.MODE] // 2))
    title = next(title for title, each in zoo_comparison.NETWORKS.items() if each == name)
    table = results["table"].sel({schema.NETWORK: title})
    steps, surviving = int(table["steps"]), str(table["surviving"].values)
    samples = last.sizes[schema.SAMPLE]
    return {"largest": largest, "middle": middle, "steps": steps, "surviving": surviving, "samples": samples}


def convergence() -> dict[str, Any]:
    """Return at what share of Figure 6's iterates each condition is below 1, and how its steps end."""
    results = kept("ernn-6")
    found: dict[str, Any] = {
        f"{name}_{condition}": float((values[np.isfinite(values)] < 1).mean())
        for name, ds in results.items()
        for condition in ("theorem2", "corollary1")
        for values in [ds[condition].values]
    }
    outcome, status = results["trained"]["outcome"].values, results["trained"]["equilibrium_status"].values
    one = float((status == "one equilibrium").mean())
    return found | {
        "unsettled": int((results["dense"]["outcome"].values != "converges").sum()),
        "reached": int((outcome == "converges").sum()),
        "steps": outcome.size,
        # which of several equilibria a search finds is decided by rounding: their number is no number to print
        "most": "most" if one > 1 / 2 else "few",
    }


def noise() -> dict[str, float]:
    """Return how far the trained networks move in a step of noise around the inputs' mean after a sequence."""
    found: dict[str, float] = {}
    for K, name in TRAINED.items():
        system, driven = _driven(name)
        generator = torch.Generator().manual_seed(0)
        mean = driven.inputs.mean(dim=(0, 1))
        half = driven.steps // 2
        noise = mean + torch.randn(SAMPLES, half, system.input_size, generator=generator, dtype=torch.float64)
        padded = torch.cat([driven.inputs[:, :half], noise], dim=1)
        states = ernn_5.along(system, padded.numpy()).states
        moved = (states[:, 1:] - states[:, :-1]).norm(dim=-1) / states[:, 1:].norm(dim=-1)
        found |= {f"data_{K}": float(moved[:, :half].median()), f"noise_{K}": float(moved[:, half:].median())}
    return found | {"moves": max(found[f"noise_{K}"] for K in TRAINED)}


def in_training() -> dict[str, float]:
    """Return ln ‖∂h_T/∂h_1‖ in the second half of training, least and largest of each network of Figure 2."""
    later = ernn_2.later(kept("ernn-2")["gradients"])
    found: dict[str, float] = {}
    for index, name in enumerate(ernn_2.LOOK):
        one = later.sel({schema.NETWORK: name})
        found |= {f"low_{index}": float(one.min()), f"high_{index}": float(one.max())}
    return found | {"keeps": float(np.exp(found["low_1"])), "keeps_most": float(np.exp(found["high_1"]))}
