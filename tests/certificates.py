"""Certificates of fixed points near given states, as documents."""

import hashlib
import json

import torch

from dynlab.certificate_check import FORMAT
from dynlab.program.differentiation import jacobian
from dynlab.proofs.certify import certify
from dynlab.proofs.document import document
from dynlab.systems import frozen

NEWTON_STEPS = 40


def fixed_point(system, held, start):
    """The end of Newton's method from a state."""
    state = torch.as_tensor(start, dtype=torch.float64).clone()
    identity = torch.eye(len(state), dtype=torch.float64)
    for _ in range(NEWTON_STEPS):
        slopes = jacobian(system, state, held).dense().reshape(identity.shape)
        state = state - torch.linalg.solve(slopes - identity, system.step(state, held) - state)
    assert (system.step(state, held) - state).abs().max() < 1e-12
    return state


def certificate(system, start, at=None, name="a network"):
    """The document of the fixed point that Newton's method finds from `start`, as a file holds it."""
    system = frozen(system)
    held = torch.zeros(system.input_size).double() if at is None else torch.tensor(at, dtype=torch.float64)
    program = system.program(held)
    found = certify(program, fixed_point(system, held, start).numpy())
    return json.loads(json.dumps(document(program, found, name, None)))


def digested(program):
    return hashlib.sha256(json.dumps(program).encode()).hexdigest()


def document_of(program, ball, eigenvalue, claims, precision=128):
    """A certificate of a scalar map, by hand."""
    return {
        "format": FORMAT,
        "system": "by hand",
        "source": None,
        "digest": digested(program),
        "precision": precision,
        "size": 1,
        "program": program,
        "ball": ball,
        "tight_ball": ball,
        "vectors": {"real": [["1p0"]], "imag": [["0p0"]]},
        "inverse": {"real": [["1p0"]], "imag": [["0p0"]]},
        "eigenvalues": [eigenvalue],
        "claims": dict(zip(("outside", "inside", "undecided"), claims, strict=True)),
    }


def operation(name, *reads, **held):
    return {"name": name, "reads": list(reads), **held}


def by_hand():
    """A certificate of h/2 + h³/8 at 0, which is correct, in many operations."""
    program = [
        operation("state"),
        operation("number", number="1p-1"),
        operation("multiply", 0, 1),
        operation("join", 2, 2),
        operation("take", 3, index=[1, 0]),
        operation("sum", 4, length=2),
        operation("constant", values=["1p-1"], radius="1p-40"),
        operation("multiply", 5, 6),
        operation("power", 7, number="3p0"),
        operation("add", 7, 8),
        operation("linear", 9, values=[["1p0"]]),
    ]
    ball = {"center": ["0p0"], "radius": "1p-10", "inverse": [["-1p1"]]}
    disc = {"real": "1p-1", "imag": "0p0", "radius": "1p-8"}
    return document_of(program, ball, disc, (0, 1, 0))


def put(document, where, value):
    """Put a value somewhere into the document, and the digest of the program that it then has."""
    inner = document
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    if where[0] == "program":
        document["digest"] = digested(document["program"])
