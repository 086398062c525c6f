"""The two checkers' own intervals, and the explorer's own step, beside Arb's balls and torch, of random programs."""

import json

import numpy as np
import pytest
import torch
from node import in_node_of

pytest.importorskip("flint")

from flint import arb, ctx
from random_programs import ANYWHERE, POSITIVE, random_program, value

from dynlab.certificate_check import Arithmetic, Reader, Rejected, evaluate
from dynlab.explore.network import written as written_for_the_page
from dynlab.explore.page import FOLDER as EXPLORER
from dynlab.program import Program
from dynlab.program.enclosure import NonSmooth, enclose
from dynlab.program.operations import OPERATIONS
from dynlab.proofs.document import written
from dynlab.report.page import FOLDER as REPORT

BITS = 200  # of the checkers' grid
SEEDS = range(45)
ONLY_SLOPES = {"tanh_slope", "sigmoid_slope", "erf_slope", "step", "sign", "modrelu_slope"}  # no step consists of these
EVALUATED = """given.map(([operations, size, bits, box]) => {
  try {
    const program = new document.Reader().program(strict_json.parsed(operations), size);
    const pairs = box.map((pair) => pair.map(BigInt));
    const { values, jacobian } = step_over_box.evaluate(new intervals.Arithmetic(bits), program, pairs);
    const flat = jacobian.mids.flatMap((row, i) => row.map((m, j) => [m, jacobian.rads[i][j]]));
    return [...values, ...flat].map(([m, r]) => [`${m}`, `${r}`]);
  } catch (error) { if (!(error instanceof rejected.Rejected)) throw error; return error.message; }
})"""


def boxes(seed, program):
    """A point, and a small box about it, on the grid of the checkers."""
    chance = np.random.default_rng(1000 + seed)
    middles = [int(entry * 2**60) << (BITS - 60) for entry in chance.uniform(-2, 2, program.size)]
    return [[(m, radius) for m in middles] for radius in (0, 1 << (BITS - 20))]


def intervals(program, box):
    """What Python's checker says of the step and its Jacobian, row by row, or why it refuses."""
    try:
        operations = Reader().program(json.loads(json.dumps(written(program))), program.size)
        found, (mids, rads) = evaluate(Arithmetic(BITS), operations, box)
    except Rejected as error:
        return str(error)
    return [*found, *((m, r) for rows in zip(mids, rads, strict=True) for m, r in zip(*rows, strict=True))]


@pytest.fixture(scope="module")
def cases():
    found = []
    for seed in SEEDS:
        program = random_program(seed)
        found += [(program, box, intervals(program, box)) for box in boxes(seed, program)]
    return found


def test_random_programs_have_every_operation(cases):
    names = {each["name"] for program, *_ in cases for each in written(program)}
    assert names >= {*(set(OPERATIONS) - ONLY_SLOPES), "linear", "take", "join", "sum", "constant", "number", "state"}
    assert sum(isinstance(found, str) for *_, found in cases) < len(cases) / 4  # refused at a kink


def test_intervals_of_the_checker_meet_balls_and_hold_values(cases):
    wider = []  # than Arb's, by what factor
    for program, box, found in cases:
        with ctx.workprec(256):
            try:
                balls = enclose(program, [arb(m, r) / 2**BITS for m, r in box])
            except NonSmooth:
                assert isinstance(found, str)
                continue
            if isinstance(found, str):  # where a wider interval touches a kink
                assert box[0][1] > 0 or "smooth" in found
                continue
            for (m, r), ball in zip(found, [*balls.value, *balls.derivative.entries()], strict=True):
                assert (arb(m, r) / 2**BITS).overlaps(ball)
                wider.append(r / 2**BITS / (float(ball.rad()) + 1e-50))
        state = torch.tensor([m / 2**BITS for m, _ in box], dtype=torch.float64)
        reach = [1e-9 * max(1.0, abs(m) / 2**BITS) + r / 2**BITS for m, r in found[: program.size]]
        for truth, (m, _), off in zip(value(program, state).tolist(), found, reach, strict=False):
            assert abs(truth - m / 2**BITS) <= off
    assert np.mean(np.array(wider) < 4) > 0.95  # a difference x − x has no slope for Arb, and 0 ± r for the checker


def test_a_box_and_a_radius_hold_all_states_and_stored_numbers():
    """Values at states of the box, of programs whose stored numbers are moved by as much as their radii allow."""
    for seed in SEEDS[:10]:
        program = random_program(seed)
        _, box = boxes(seed, program)
        found = intervals(program, box)
        if isinstance(found, str):
            continue
        chance = np.random.default_rng(seed)
        moved = Program(program.size, 0, program.operations, output=program.output)
        for constant, share in zip(program.constants, program.errors, strict=True):
            signs = torch.from_numpy(chance.choice([-1.0, 1.0], tuple(constant.shape)))
            moved.store(constant + 0.99 * share * constant.abs().max() * signs)
        state = [m + int(r * chance.uniform(-1, 1)) for m, r in box]
        with ctx.workprec(256):
            balls = enclose(moved, [arb(m) / 2**BITS for m in state])
            for (m, r), ball in zip(found, [*balls.value, *balls.derivative.entries()], strict=True):
                assert (arb(m, r) / 2**BITS).contains(ball)


def test_the_checker_of_reports_computes_the_same_integers(cases):
    given = [
        [json.dumps(written(program)), program.size, BITS, [[str(each) for each in pair] for pair in box]]
        for program, box, _ in cases
    ]
    modules = ("document", "strict_json", "step_over_box", "intervals", "rejected")
    told = in_node_of(REPORT)(EVALUATED, given, *modules)
    for (*_, expected), found in zip(cases, told, strict=True):
        assert found == (expected if isinstance(expected, str) else [[str(m), str(r)] for m, r in expected])


def test_the_explorer_takes_the_same_step():
    names = tuple(name for name in (*ANYWHERE, *POSITIVE) if name != "erf")  # which no browser has
    given, truths = [], []
    for seed in SEEDS:
        program = random_program(seed, names)
        state = torch.from_numpy(np.random.default_rng(seed).uniform(-2, 2, program.size))
        sources = {name: rule.scalar for name, rule in OPERATIONS.items()}
        given.append([written_for_the_page(program), sources, state.tolist()])
        truths.append(value(program, state).tolist())
    run = "given.map(([operations, sources, state]) => "
    run += "[...program.stepOf(operations, sources)(Float64Array.from(state), new Float64Array(0))])"
    for found, truth in zip(in_node_of(EXPLORER)(run, given, "program"), truths, strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-9)
