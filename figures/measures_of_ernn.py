"""Measures for the claims of the ERNN paper, on networks."""

from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import torch

from dynlab import schema, zoo
from dynlab.numerics.singular_values import singular_values
from dynlab.program.differentiation import along
from dynlab.systems import Map, frozen
from dynlab.systems.ernn import ERNN, matrix_of
from dynlab.trajectories.driven import Driven, drive
from dynlab.trajectories.simulation import orbit

from . import ernn_2, ernn_5, ernn_6, zoo_comparison
from .scripts import kept, trained

TRAINED = {1: "ernn-har2-k1", 3: "ernn-har2-k3", 5: "ernn-har2-k5"}
SAMPLES, EVERY = 4, 16
PADDED, IMAGES, ROWS = "ernn-noisy-mnist", 64, 28  # learned images of so many rows, and then noise
VANISHED = 0.01  # of a gradient: less has vanished
UNITS, CUBIC_STEPS = 32, 10_000
INNER, FEW = 300, 16  # iterations at η = 0.5 of an inner map that contracts: far below rounding; and steps of it


def orbits(system: Map, inputs: Any) -> Driven:
    """Return the states that these inputs lead to from 0, in float64."""
    return drive(system, inputs, None, dtype="float64", device="cpu", seed=0, inputs_description="")


def _networks() -> Iterator[tuple[int, ERNN, Driven]]:
    """Yield K of each trained network, the network, and its states along real sequences."""
    for K, name in TRAINED.items():
        system, driving = trained(name, SAMPLES)
        yield K, system, orbits(system, driving.inputs)


def _relative(system: ERNN, states: torch.Tensor, inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return F at h_k + h_{k−1} along states, which is 0 at the equilibrium, and that sum itself."""
    held, z = frozen(system), states[:, 1:] + states[:, :-1]
    with torch.no_grad():
        return held.transition(z, torch.nn.functional.linear(inputs, held.W, held.b)) - z, z


def manifold() -> dict[str, float]:
    """Return how far dense and trained ERNNs are from the manifold, and the least singular value of the dense one's ∇F.

    The dense one's inner iteration is run to its end.
    """
    networks = list(_networks())
    inputs = networks[0][2].inputs[:1, :FEW]
    cell = frozen(ernn_6.dense(inner_steps=INNER, eta=ernn_6.ETA))
    states = orbit(cell, inputs, torch.zeros(1, cell.state_size, dtype=torch.float64)).detach()
    off, z = _relative(cell, states, inputs)
    slopes = 1 - z[0].square().unsqueeze(-1)  # tanh' at an equilibrium, where z = tanh(p)
    gradients = (slopes * cell.recurrent_matrix() - torch.eye(cell.state_size)).detach().numpy()
    J = torch.func.jacrev(lambda state: cell.step(state, inputs[0, -1], FEW - 1))(states[0, -2])
    found = {
        "dense": float(off.abs().max()),
        "least": float(singular_values(gradients)[..., -1].min()),
        "columns": cell.input_size,
        "units": cell.state_size,
        "jacobian": float(torch.linalg.matrix_norm(J + torch.eye(cell.state_size), 2)),
    }
    for K, system, driven in networks:
        off, z = _relative(system, driven.states, driven.inputs)
        found[f"trained_{K}"] = float((off.norm(dim=-1) / z.norm(dim=-1)).median())
    return found


def near_identity() -> dict[str, float]:
    """Return the medians of ‖∂h_k/∂h_{k−1} ± I‖₂ over every sixteenth step of the trained networks."""
    found = {}
    for K, system, driven in _networks():
        J = along(frozen(system), driven.states, driven.inputs).dense()[:, ::EVERY]
        for word, sign in (("plus", -1), ("minus", +1)):
            moved = (J + sign * torch.eye(system.state_size)).detach().numpy()
            found[f"{word}_{K}"] = float(np.median(singular_values(moved)[..., 0]))
    return found | {"excess": max(found[f"plus_{K}"] - found[f"minus_{K}"] for K in TRAINED)}


def norms() -> dict[str, float]:
    """Return ‖U‖ of the trained networks, whose γ is 1."""
    systems = {K: cast(ERNN, zoo.load(name)) for K, name in TRAINED.items()}
    found = {f"norm_{K}": float(torch.linalg.matrix_norm(matrix_of(one.U).detach(), 2)) for K, one in systems.items()}
    return found | {"least": min(found.values())}


def starts() -> dict[str, float]:
    """Return how far a trained step that begins at 0 ends from one that begins at h_{k−1}, and its Jacobian's norm."""
    found: dict[str, float] = {}
    for K, system, driven in _networks():
        zero = frozen(system)
        zero.start = "zero"
        before = driven.states[:, :-1]
        with torch.no_grad():
            ends = torch.stack([zero.step(before[:, t], driven.inputs[:, t], t) for t in range(driven.steps)], dim=1)
        off = ((ends - driven.states[:, 1:]).norm(dim=-1) / before.norm(dim=-1))[:, 1:]
        J = along(zero, driven.states, driven.inputs).dense()[:, ::EVERY].detach().numpy()
        found |= {f"off_{K}": float(off.median()), f"norm_{K}": float(np.median(singular_values(J)[..., 0]))}
    return found | {"least": min(found[f"off_{K}"] for K in TRAINED)}


def backward_euler() -> dict[str, float]:
    """Return ‖φ‖ at the fixed point of equation 5, and how far that one's Jacobian is from (I − ηDU)⁻¹ and from −I."""
    generator = torch.Generator().manual_seed(0)
    U, (before, drive) = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((UNITS, UNITS), (2, UNITS))
    )
    U = U * ernn_6.ETA / torch.linalg.matrix_norm(U, 2)

    def ends(state: torch.Tensor) -> torch.Tensor:
        h = state
        for _ in range(INNER):
            h = state + ernn_6.ETA * torch.tanh(U @ h + drive)
        return h

    h = ends(before)
    velocity = torch.tanh(U @ h + drive)
    eye = torch.eye(UNITS, dtype=torch.float64)
    inverse = torch.linalg.inv(eye - ernn_6.ETA * (1 - velocity**2).unsqueeze(-1) * U)
    J = torch.func.jacrev(ends)(before)
    return {
        "residual": float(velocity.abs().max()),
        "off": float((J - inverse).abs().max()),
        "minus": float(torch.linalg.matrix_norm(J + eye, 2)),
    }


def one_tau() -> dict[str, float]:
    """Return how z' = −z³ meets equation 12 at every Euler step, and how its error shrinks by less at each."""
    z, ratios, met = 1.0, [], 0
    for _ in range(CUBIC_STEPS):
        F, slope = -(z**3), -3 * z**2
        met += (ernn_6.ETA * slope * F) ** 2 + 2 * ernn_6.ETA * F * slope * F < 0
        ratios.append((z + ernn_6.ETA * F) / z)
        z += ernn_6.ETA * F
    tau = float(np.nanmax(kept("ernn-6")["dense"]["theorem2"].values))
    return {"met": met, "steps": CUBIC_STEPS, "first": ratios[0], "last": ratios[-1], "left": z, "tau": tau}


def shares() -> dict[str, float]:
    """Return the shares of Figure 5's eigenvalues for each K, and the largest share that is not below 0."""
    found = ernn_5.shares(kept("ernn-5"))
    flat = {f"{name}_{K}": one[name] for K, one in found.items() for name in ("below", "zero", "above", "singular")}
    return flat | {
        "others": max(one["above"] + one["zero"] for one in found.values()),
        "singular": max(one["singular"] for one in found.values()),
    }


def product() -> dict[str, Any]:
    """Return singular values of ∂h_T/∂h_0 of the trained network, from what the figure of the zoo keeps."""
    last = kept("zoo")[f"{TRAINED[5]}.end_to_end"]["log_singular_value"].isel({schema.TIME: -1})
    largest, middle = (float(last.isel({schema.MODE: mode}).median()) for mode in (0, last.sizes[schema.MODE] // 2))
    return {
        "largest": largest,
        "middle": middle,
        "steps": int(last[schema.TIME]),
        "surviving": zoo_comparison.surviving(last),
        "samples": last.sizes[schema.SAMPLE],
    }


def convergence() -> dict[str, Any]:
    """Return at what share of Figure 6's iterates each condition is below 1, and how its steps end."""
    results = kept("ernn-6")
    found: dict[str, Any] = {}
    for name, ds in results.items():
        settles = ds["outcome"].values == "converges"
        found |= {f"{name}_settled": int(settles.sum()), f"{name}_steps": settles.size}
        for condition in ("theorem2", "corollary1"):
            values = ds[condition].values
            met = np.where(np.isfinite(values), values < 1, True).all(axis=-1)
            found |= {
                f"{name}_{condition}": float((values[np.isfinite(values)] < 1).mean()),
                f"{name}_{condition}_met": int(met.sum()),
                f"{name}_{condition}_broken": int((met & ~settles).sum()),
            }
    one = float((results["trained"]["equilibrium_status"].values == "one equilibrium").mean())
    # which of several equilibria a search finds is decided by rounding: their number is no number to print
    return found | {"most": "most" if one > 1 / 2 else "few"}


def noise() -> dict[str, float]:
    """Return how far the network that learned noise-padded MNIST moves in a step and in all of the noise.

    Both are relative to the norm of the state that moves; medians over images.
    """
    system, driving = trained(PADDED, IMAGES)
    states = orbits(system, driving.inputs).states
    size, moved = states.norm(dim=-1), (states[:, 1:] - states[:, :-1]).norm(dim=-1)
    relative, eta = moved / size[:, 1:], system.eta.detach().abs().flatten()
    return {
        "rows": float(relative[:, :ROWS].median()),
        "noise": float(relative[:, ROWS:].median()),
        "away": float(((states[:, -1] - states[:, ROWS]).norm(dim=-1) / size[:, ROWS]).median()),
        "eta_rows": float(eta[:ROWS].median()),
        "eta_noise": float(eta[ROWS:].median()),
        "accuracy": next(entry["test_accuracy"] for entry in zoo.entries() if entry["name"] == PADDED),
        "steps": states.shape[1] - 1 - ROWS,
    }


def in_training() -> dict[str, float]:
    """Return ln ‖∂h_T/∂h_1‖ in the second half of training, least and largest of each network of Figure 2."""
    later = ernn_2.later(kept("ernn-2")["gradients"])
    found: dict[str, float] = {}
    for index, name in enumerate(ernn_2.LOOK):
        one = later.sel({schema.NETWORK: name})
        found |= {f"low_{index}": float(one.min()), f"high_{index}": float(one.max())}
    ernns = later.sel({schema.NETWORK: list(ernn_2.LOOK)[2:]})
    return found | {
        "keeps": float(np.exp(found["low_1"])),
        "keeps_most": float(np.exp(found["high_1"])),
        "off": float(np.exp(np.abs(ernns).max())),
        "vanished": float(np.log(VANISHED)),
    }
