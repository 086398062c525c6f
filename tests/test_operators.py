"""Structured operators agree with the matrices they stand for."""

import math

import pytest
import torch

from dynlab.program.jacobian import (
    Blocks,
    Cascade,
    Dense,
    Diagonal,
    Fed,
    Identity,
    Leading,
    Operator,
    Product,
    RowScaled,
    Scaled,
    Shared,
    Sum,
)

EXACT = {"rtol": 1e-14, "atol": 1e-14}


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


D, S, M = draw(2, 3, 4), draw(4, 4), draw(2, 3, 4, 4)
EYE = torch.eye(4, dtype=torch.float64)
ZERO = torch.zeros(4, 4, dtype=torch.float64)


def whole(matrix):
    return matrix.expand(2, 3, *matrix.shape[-2:])


def joined(*rows):
    return torch.cat([torch.cat([whole(entry) for entry in row], dim=-1) for row in rows], dim=-2)


# each operator, and its matrices written out with plain torch
CASES = {
    "identity": (Identity(4, D), whole(EYE)),
    "diagonal": (Diagonal(D), D.unsqueeze(-1) * EYE),
    "shared": (Shared(S), whole(S)),
    "leading": (Leading(2, 4, D), whole(EYE[:2])),
    "dense": (Dense(M), M),
    "scaled": (-2.5 * Dense(M), -2.5 * M),
    "scaled by a tensor": (Scaled(torch.tensor(0.3, dtype=torch.float64), Shared(S)), whole(0.3 * S)),
    "sum": (Diagonal(D) + Shared(S), D.unsqueeze(-1) * EYE + S),
    "product": (Diagonal(D) @ Shared(S), D.unsqueeze(-1) * S),
    "product of products": (Shared(S) @ Diagonal(D) @ Dense(M), S @ (D.unsqueeze(-1) * M)),
    "rows scaled": (RowScaled((D, S), (D.square(), EYE)), D.unsqueeze(-1) * S + D.square().unsqueeze(-1) * EYE),
    "step of a flow": (Identity(4, D) + 0.1 * (Diagonal(D) @ Shared(S)), EYE + 0.1 * D.unsqueeze(-1) * S),
    "blocks": (
        Blocks([[Diagonal(D), None], [Shared(S) @ Diagonal(D), Dense(M)]]),
        joined([D.unsqueeze(-1) * EYE, ZERO], [S * D.unsqueeze(-2), M]),
    ),
    "blocks without a batch": (Blocks([[Shared(S), Identity(4, D)], [None, Shared(S)]]), joined([S, EYE], [ZERO, S])),
    "cascade": (
        Cascade([Dense(M), Diagonal(D) @ Shared(S), Diagonal(D)], [Shared(S), Dense(M)]),
        joined(
            [M, ZERO, ZERO],
            [S @ M, D.unsqueeze(-1) * S, ZERO],
            [M @ S @ M, M @ (D.unsqueeze(-1) * S), D.unsqueeze(-1) * EYE],
        ),
    ),
    "fed": (Fed(Dense(M), Diagonal(D), Shared(S)), joined([M + D.unsqueeze(-1) * S], [S])),
    "column of unequal blocks": (Blocks([[Leading(2, 4, D)], [Shared(S)]]), joined([EYE[:2]], [S])),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


def test_sizes(case):
    operator, matrix = case
    assert (operator.rows, operator.columns) == matrix.shape[-2:]


def test_dense(case):
    operator, matrix = case
    torch.testing.assert_close(operator.dense().expand(matrix.shape), matrix, **EXACT)


def test_apply(case):
    operator, matrix = case
    x = draw(2, 3, operator.columns, 5)
    torch.testing.assert_close(operator.apply(x), matrix @ x, **EXACT)


def test_apply_transpose(case):
    operator, matrix = case
    y = draw(2, 3, operator.rows, 5)
    torch.testing.assert_close(operator.apply_transpose(y), matrix.mT @ y, **EXACT)


def test_the_moduli_bound_each_entry(case):
    operator, matrix = case
    bound = operator.absolute().dense().expand(matrix.shape)
    assert (bound >= matrix.abs() - 1e-14).all()


@pytest.mark.parametrize("name", [name for name, (operator, _) in CASES.items() if operator.rows == operator.columns])
def test_the_logarithm_of_the_determinant(name):
    operator, matrix = CASES[name]
    found = operator.log_abs_det().expand(matrix.shape[:-2])
    torch.testing.assert_close(found, torch.linalg.slogdet(matrix).logabsdet, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("index", [1, (0, 2), (slice(None), 1), (slice(None), slice(0, 2)), torch.tensor([1, 0])])
def test_selection_along_the_batch(case, index):
    operator, matrix = case
    chosen = operator[index]
    assert isinstance(chosen, Operator)
    torch.testing.assert_close(chosen.dense().expand(matrix[index].shape), matrix[index], **EXACT)
    x = draw(operator.columns, 2)
    torch.testing.assert_close(chosen.apply(x).expand(*matrix[index].shape[:-1], 2), matrix[index] @ x, **EXACT)


def test_an_operator_applies_to_one_matrix_shared_by_the_batch(case):
    operator, matrix = case
    x = draw(operator.columns, 2)
    torch.testing.assert_close(operator.apply(x).expand(*matrix.shape[:-1], 2), matrix @ x, **EXACT)


def test_arithmetic_builds_the_named_operators():
    first, second = Shared(S), Diagonal(D)
    assert isinstance(first + second, Sum)
    assert isinstance(first @ second, Product)
    assert isinstance(2.0 * first, Scaled)
    assert isinstance(2.0 * second, Diagonal)
    torch.testing.assert_close((2.0 * (second @ first)).dense(), 2.0 * (second @ first).dense())
    assert not any(isinstance(factor, Scaled) for factor in (2.0 * (second @ first)).factors)


def test_a_product_of_many_factors_needs_no_deep_recursion():
    # As ERNN's Jacobian is one with a factor for each inner step: here 3,000 rotations by the same angle.
    steps, angle = 3000, 0.01
    product = Identity(2, S)
    for _ in range(steps):
        product = Dense(rotation(angle)) @ product
    options = {"rtol": 0, "atol": 1e-11}
    torch.testing.assert_close(product.dense(), rotation(steps * angle), **options)
    torch.testing.assert_close(product.apply(rotation(-steps * angle)), torch.eye(2, dtype=torch.float64), **options)
    torch.testing.assert_close(product.apply_transpose(rotation(0.0)), rotation(-steps * angle), **options)


def rotation(angle):
    turn = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
    return torch.tensor(turn, dtype=torch.float64)
