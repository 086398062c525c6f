"""Jacobians of systems (`dynlab.program.differentiation`), and of systems whose input is held."""

from dynlab.jacobians.held import (
    check_seconds,
    displacement_matrices,
    finite_or_zero,
    held_blocks,
    held_matrices,
    ungated_matrices,
)
from dynlab.program.differentiation import (
    along,
    diagonal_blocks_and_errors,
    input_jacobian,
    jacobian,
    jacobian_and_error,
    jacobian_and_rounding,
)

__all__ = [
    "along",
    "check_seconds",
    "diagonal_blocks_and_errors",
    "displacement_matrices",
    "finite_or_zero",
    "held_blocks",
    "held_matrices",
    "input_jacobian",
    "jacobian",
    "jacobian_and_error",
    "jacobian_and_rounding",
    "ungated_matrices",
]
