"""Jacobians of systems, in closed form where there is one, else by automatic differentiation; and their errors."""

from dynlab.jacobians.against_values import belied
from dynlab.jacobians.automatic import automatic_jacobian
from dynlab.jacobians.errors import diagonal_blocks_and_errors, exact_zeros, jacobian_and_error, jacobian_and_rounding
from dynlab.jacobians.estimated import DOUBT, DRAWS, OF_FUNCTIONS
from dynlab.jacobians.held import (
    check_seconds,
    displacement_matrices,
    finite_or_zero,
    held_blocks,
    held_matrices,
    ungated_matrices,
)
from dynlab.jacobians.noise import cancelled
from dynlab.jacobians.of_system import along, input_jacobian, jacobian

__all__ = [
    "DOUBT",
    "DRAWS",
    "OF_FUNCTIONS",
    "along",
    "automatic_jacobian",
    "belied",
    "cancelled",
    "check_seconds",
    "diagonal_blocks_and_errors",
    "displacement_matrices",
    "exact_zeros",
    "finite_or_zero",
    "held_blocks",
    "held_matrices",
    "input_jacobian",
    "jacobian",
    "jacobian_and_error",
    "jacobian_and_rounding",
    "ungated_matrices",
]
