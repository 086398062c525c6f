"""Certificates of fixed points near given states, as documents."""

import hashlib
import json
from functools import partial, reduce

import torch

from dynlab.certificate_check import FORMAT
from dynlab.program.differentiation import jacobian
from dynlab.proofs.certify import certify
from dynlab.proofs.document import document
from dynlab.systems import create, frozen
from dynlab.systems.examples import example_config
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer

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


def bistable(start):
    """Of a map with two stable points and a saddle between them."""
    cell = create("vanilla", input_size=1, state_size=3).double()
    with torch.no_grad():
        cell.W.copy_(torch.tensor([[1.8, 0.2, 0.0], [0.1, 0.4, -0.3], [0.0, 0.3, 0.4]]))
        cell.b.fill_(0.01)
    return certificate(cell, start, [0.0])


def of_layer(layer, start, at, scale=1.0):
    """Of torch's own layer, its recurrent weights scaled."""
    with torch.no_grad():
        layer.weight_hh_l0.mul_(scale)
    return certificate(torch_layer(layer), start, at)


def of_drawn(name):
    """Of a cell whose parameters are moved: modReLU's orthogonal matrix has an eigenvalue 1."""
    system = create(name, **example_config(name, 2, 3))
    for parameter in system.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return certificate(system, [0.1] * system.state_size, [0.5, -1.0])


DRAWN = ("fastgrnn", "asrnn", "modrelu", "cornn", "ernn", "urnn")
# Of stable and unstable points, of layers under held inputs, and of steps with rounded matrices.
MAKERS = {
    "saddle": lambda: bistable([0.0, 0.0, 0.0]),
    "stable": lambda: bistable([0.9, 0.1, 0.0]),
    "complex pairs": lambda: of_layer(torch.nn.GRU(2, 5), [0.1] * 5, [0.0, 0.0], 3.0),
    "gru": lambda: of_layer(torch.nn.GRU(1, 3), [0.0] * 3, [0.25]),
    "lstm": lambda: of_layer(torch.nn.LSTM(2, 4, 2, proj_size=3), [0.0] * 14, [0.5, -1.0]),
    "relu": lambda: of_layer(torch.nn.RNN(2, 5, nonlinearity="relu"), [0.3] * 5, [0.5, -1.0]),
    "jordan": lambda: certificate(LinearMap([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]]), [0.0] * 3),
    "henon": lambda: certificate(create("henon"), [0.6, 0.2]),
    **{name: partial(of_drawn, name) for name in DRAWN},
    "by hand": by_hand,
}


def make(name):
    torch.manual_seed(0)
    return MAKERS[name]()


def times(text, factor, exponent=0):
    """A number of a certificate times a whole number and a power of 2."""
    mantissa, power = text.split("p")
    return f"{int(mantissa, 16) * factor:x}p{int(power) + exponent}"


def at(document, where):
    return reduce(lambda inside, key: inside[key], where, document)


def put(document, where, value):
    """Put a value somewhere into the document, and the digest of the program that it then has."""
    at(document, where[:-1])[where[-1]] = value
    if where[0] == "program":
        document["digest"] = digested(document["program"])
