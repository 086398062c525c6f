"""Jacobians by torch's automatic differentiation, which share nothing with a program."""

from dynlab.program import differentiation
from dynlab.program.jacobian import of_matrix


def automatic_jacobian(system, state, input, t=0, *, by_input=False):
    """The derivative of a system's step or velocity, as an operator."""
    return of_matrix(
        differentiation.automatic_jacobian(system.evolve, state, input, t, "input" if by_input else "state")
    )
