"""The fixed points of an affine map, h → J h + c, or the equilibria of an affine flow: one affine set, or none."""

import numpy as np
import torch

from dynlab.diagnostics.fixed_points.distinct_roots import FIXED, NOT_ISOLATED, Root, equations
from dynlab.program import NoProgram
from dynlab.program.differentiation import jacobian_and_error
from dynlab.program.operations import LINEAR
from dynlab.systems.autonomous import Held

ROUNDINGS = 16.0  # times n ε: of the matrix and of the value


def is_affine(held: Held) -> bool:
    """Return whether the step's program shows that it is affine in the state; False for a step without a program."""
    try:
        program = held.system.program(held.input, held.t)
    except NoProgram:
        return False
    varies = program.depends_on("state")
    for number in program.needed(program.output):
        operation = program.operations[number]
        factors = [varies[read] for read in operation.reads]
        keeps = operation.name in ("state", *LINEAR) or (operation.name == "multiply" and sum(factors) == 1)
        if varies[number] and not keeps and not (operation.name == "divide" and not factors[1]):
            return False
    return True


def affine_root(exact: Held) -> Root | None:
    """Return the fixed point of an affine map that is nearest to 0; None where it has none.

    With A = J − I, of a flow J, the set is {h: A h + c = 0}; its dimension is the number of singular values of A that
    are 0 within its error.

    Parameters
    ----------
    exact : Held
        In float64 on the CPU.
    """
    n, sought = exact.system.state_size, equations(exact)
    zero = torch.zeros(1, n, dtype=torch.float64)
    value, matrix = sought.value(zero)[0].numpy(), sought.matrix(zero)[0].numpy()
    error = float(torch.linalg.matrix_norm(jacobian_and_error(exact.system, *exact.given(zero[0]))[1]))
    wrong = ROUNDINGS * n * np.finfo(float).eps
    u, sigma, v = np.linalg.svd(matrix)
    least = error + wrong * max(1.0, sigma[0])
    told = sigma > least
    state = -v[told].T @ ((u.T @ value)[told] / sigma[told])
    left, size = np.linalg.norm(matrix @ state + value), np.linalg.norm(state)
    if left > wrong * (np.linalg.norm(value) + (1 + sigma[0]) * size) + error * size:
        return None  # c is not in A's range
    dimension = int((~told).sum())
    position = (left + least * (1 + size)) / float(sigma[told].min(initial=np.inf))
    index = 0 if dimension else (-1) ** n * int(np.linalg.slogdet(matrix)[0])
    return Root(state, NOT_ISOLATED if dimension else FIXED, position, v[-1], index, dimension)
