"""The field of a planar system on a grid: a flow's velocity, or a map's displacement in one step."""

from typing import Any

import numpy as np
import torch

from dynlab import schema
from dynlab.numerics.arrays import Real
from dynlab.systems import System
from dynlab.systems.autonomous import Held
from dynlab.systems.autonomous_jacobians import held_matrices


def without_input(system: System) -> Held:
    """Hold a system's input at zero, in the dtype and on the device of its weights."""
    like = next(system.parameters(), torch.zeros(0, dtype=torch.float64))
    return Held(system, like.new_zeros(system.input_size))


def field(held: Held, states: Real) -> Real:
    """Return the displacement at `states` (..., 2), which vanishes at an equilibrium or fixed point."""
    return held.displacement(torch.as_tensor(states).to(held.input)).double().cpu().numpy()


def matrices(held: Held, states: Real) -> Real:
    """Return the Jacobians at `states` (..., 2)."""
    return held_matrices(held, torch.as_tensor(states).to(held.input)).double().cpu().numpy()


def field_variables(held: Held, points: Real) -> dict[str, tuple[Any, ...]]:
    """Return the field on the grid `points` (y, x, 2), its divergence, and |det J| of a map."""
    plane, unit = (schema.Y, schema.X), schema.PER_SECOND if held.is_flow else schema.ONE
    name, during = ("velocity", "") if held.is_flow else ("displacement", " in one step")
    jacobians = matrices(held, points)
    divergence = jacobians.trace(axis1=-2, axis2=-1) - (0 if held.is_flow else 2)
    rows: dict[str, tuple[Any, ...]] = {
        "velocity": ((*plane, schema.STATE), field(held, points), f"{name}{during}", unit),
        "divergence": (plane, divergence, f"divergence of the {name}", unit),
    }
    if not held.is_flow:
        rows["area_factor"] = (plane, np.abs(np.linalg.det(jacobians)), "|det J| of a step")
    return rows
