"""Claims of the asRNN paper and its repository, and of the NumPy RNN tutorial."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dynlab import io, schema, zoo
from dynlab.gallery import accuracies, collapsed_rule, copying, copying_modes, movie
from dynlab.gallery.audit.antisymmetric import table_claim
from dynlab.gallery.audit.claim import CONDITION, FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Numbers
from dynlab.gallery.kept import kept
from dynlab.numerics.singular_values import singular_values
from dynlab.program.differentiation import jacobian
from dynlab.systems import create, frozen
from dynlab.systems.asrnn import ASRNN
from dynlab.systems.vanilla import Vanilla

UNITS, STEPS = 64, 200
ROUNDING = 1e-9  # of states after 200 steps: what an identity may be off by
TRAINED = ("asrnn-smnist", "asrnn-pmnist")
SPREADS = (0.02, 0.8, 3.0)  # S ~ U(SPREADS[1], SPREADS[2]) is the source's start on PTB


def _cell(**config: Any) -> tuple[ASRNN, torch.Tensor]:
    """An asRNN at its start, and noise as its input."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        cell = create("asrnn", input_size=8, state_size=UNITS, **config).double()
        inputs = torch.randn(STEPS, 8, dtype=torch.float64)
    if not isinstance(cell, ASRNN):
        raise TypeError(f"asrnn is {type(cell).__name__}")
    return cell, inputs


def _run(step: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], inputs: torch.Tensor) -> torch.Tensor:
    state, states = torch.zeros(UNITS, dtype=torch.float64), []
    with torch.no_grad():
        for one in inputs:
            state = step(state, one)
            states.append(state)
    return torch.stack(states)


def _frozen_saturation() -> Numbers:
    cell, inputs = _cell(a=0.0, b=0.0, eps=1e-5, init="henaff")
    held = frozen(cell)
    bent = _run(held.step, inputs)
    straight = _run(lambda h, x: held.V @ x + held.W @ h + held.b, inputs)
    S = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    S.abs().sum().backward()
    gradient = 0.0 if S.grad is None else float(S.grad.abs().max())
    return {"off": float((bent - straight).norm() / straight.norm()), "gradient": gradient} | _saturations()


def _saturations() -> dict[str, float]:
    """The extremes of D_f, trained, and where it started, of the networks of the zoo that learn it."""
    found: dict[str, float] = {}
    for name in TRAINED:
        held = frozen(zoo.load(name))
        if not isinstance(held, ASRNN):
            raise TypeError(f"{name} is {type(held).__name__}")
        D_f = held.saturation().detach()
        start = float(held.config["b"]) + float(held.config["eps"])
        found |= {f"least_{name}": float(D_f.min()), f"most_{name}": float(D_f.max()), f"start_{name}": start}
    return found


def _judge_frozen(n: Numbers) -> tuple[str, str]:
    learned = "; ".join(f"{name} {n[f'least_{name}']:.3f} to {n[f'most_{name}']:.2f}" for name in TRAINED)
    moves = all(n[f"most_{name}"] > 2 * n[f"start_{name}"] for name in TRAINED)
    return (CONDITION if moves and n["gradient"] == 0 else HOLDS if moves else FAILS), (
        f"It does where S starts above 0. From D_f = {n[f'start_{TRAINED[0]}']:g} the trained networks on MNIST have "
        f"learned these: {learned}. In the copying setting a = b = 0, and automatic differentiation gives |S| at S = 0 "
        f"the gradient {n['gradient']:g}: D_f = 1e-5 never learns. There the states differ from those of a linear "
        f"orthogonal network by {n['off']:.0e} of their norm in {STEPS} steps of noise."
    )


def _expressivity() -> Numbers:
    cell, inputs = _cell(a=SPREADS[1], b=SPREADS[2])
    held = frozen(cell)
    states = _run(held.step, inputs)
    D_f = held.saturation()
    W_f, inverse = held.U_f * D_f, held.U_f.mT / D_f.unsqueeze(-1)
    plain = Vanilla(8, UNITS).double()
    with torch.no_grad():
        plain.W.copy_(W_f @ held.W @ inverse)
        plain.V.copy_(W_f @ held.V)
        plain.b.copy_(W_f @ held.b)
    turned = _run(plain.step, inputs) @ inverse.mT
    moduli = np.abs(torch.linalg.eigvals(plain.W).detach().numpy())
    return {"off": float((turned - states).norm() / states.norm()), "radius": float(np.abs(moduli - 1).max())}


def _judge_expressivity(n: Numbers) -> tuple[str, str]:
    return (CONDITION if n["off"] < ROUNDING else UNDECIDED), (
        f"In u = W_f h it is a vanilla tanh RNN with the matrix W_f W W_f⁻¹: states agree to below {ROUNDING:g} of "
        f"their norm. So it has at most a vanilla RNN's capacity, and of those only the matrices that are similar to "
        f"an orthogonal one (all eigenvalues' moduli 1 to below {ROUNDING:g}). With large D_f it saturates as they do."
    )


def _norm() -> Numbers:
    cell, inputs = _cell(a=SPREADS[1], b=SPREADS[2])
    with torch.no_grad():  # U_f = I is where it starts: a turned one is what it may learn
        skew = next(one for name, one in cell.named_parameters() if "U_f" in name)
        skew.copy_(torch.randn(skew.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
    held = frozen(cell)
    states = _run(held.step, inputs)[:-1]
    J = jacobian(held, states, inputs[1:]).dense().detach().numpy()
    D_f = held.saturation().detach()
    return {"norm": float(singular_values(J).max()), "bound": float(D_f.max() / D_f.min())}


def _judge_norm(n: Numbers) -> tuple[str, str]:
    surviving = copying_modes.above(io.open(copying_modes.RECORDED), copying.NAMES["exprnn"])[1]
    return (CONDITION if n["norm"] > 1 + ROUNDING else HOLDS), (
        f"Of an orthogonal RNN the norm is at most 1, and modReLU shuts units: trained to copy over 2,000 steps expRNN "
        f"keeps {surviving} of 190 directions to a tenth or more. asRNN's Jacobian W_f⁻¹ diag(tanh′) W_f W is bounded "
        f"by the quotient of D_f's extremes only. With U_f turned and D_f in (0.8, 3) as on PTB its norm reaches "
        f"{n['norm']:.2f} (bound {n['bound']:.2f})."
    )


def _judge_copying(n: Numbers) -> tuple[str, str]:
    found = [one for one in copying.curves() if one.delay > copying.DELAYS[0]]
    run = [one for one in found if one.outcome != copying.NOT_RUN]
    said = f"{len(run)} of {len(found)} trainings have ended. {copying.measured(copying.curves())}"
    if not run:
        return NOT_RUN, said
    lstm = [one for one in run if one.name.startswith("LSTM")]
    others = [one for one in run if not one.name.startswith("LSTM")]
    as_said = all(one.outcome == copying.STAYED for one in lstm) and all(
        one.outcome == copying.COPIES for one in others
    )
    return (HOLDS if as_said and len(run) == len(found) else CONDITION), said


def _judge_first(n: Numbers) -> tuple[str, str]:
    """In which order the networks halve the baseline at each delay of the source."""
    said, first = [], []
    for delay in copying.DELAYS[1:]:
        done = [one for one in copying.curves() if one.delay == delay and one.halved.replace(",", "").isdigit()]
        if len(done) > 1:
            order = sorted(done, key=lambda one: int(one.halved.replace(",", "")))
            first.append(order[0].short)
            said.append(f"L = {delay:,}: {', '.join(f'{one.short} {one.halved}' for one in order)}")
    if not first:
        return NOT_RUN, "No two networks that learn to copy have ended at one of the source's delays."
    verdict = HOLDS if set(first) == {"asRNN"} else CONDITION
    return verdict, (
        f"Steps until the loss is half of what needs no memory: {'; '.join(said)}; an LSTM never. "
        f"{'' if verdict == HOLDS else 'asRNN is not the first of them. '}One training each."
    )


def _judge_tutorial(n: Numbers) -> tuple[str, str]:
    """From what the figure keeps: its starts, its columns and its training."""
    results = kept(collapsed_rule.make.name, lambda: collapsed_rule.compute(False))
    earlier = results["columns"]["error"].isel({schema.TIME: slice(0, -1)})
    return (FAILS if float(earlier.min()) > ROUNDING else HOLDS), (
        "∂s/∂W kept as a matrix of the size of W sums what should be kept apart. "
        f"{collapsed_rule.measured(results['training'], results['starts'], results['columns'])}"
    )


def _judge_losses(n: Numbers) -> tuple[str, str]:
    found = {along: movie.ends(along) for along in (collapsed_rule.RULE, collapsed_rule.GRADIENT)}
    best = [min(each, key=lambda name: each[name]) == movie.SOFT for each in found.values()]
    said = ". ".join(
        f"{along[0].upper()}{along[1:]}: {', '.join(f'{name} {value:.4f}' for name, value in each.items())}"
        for along, each in found.items()
    )
    return (HOLDS if all(best) else CONDITION if any(best) else FAILS), (
        f"Root of the mean squared error on the windows held out after {movie.EPOCHS:,} epochs from the tutorial's "
        f"start. {said}. Its rule is no gradient, and favours another loss than the gradient does."
    )


PAPER, TUTORIAL = "asRNN", "NumPy RNN tutorial"
AUDIT = "dynlab table audit --recompute"
CLAIMS = (
    Claim(
        "frozen-saturation",
        f"{PAPER}, abstract; its copying code",
        "asRNN dynamically adjusts the saturation level between an orthogonal and a vanilla RNN.",
        _judge_frozen,
        AUDIT,
        _frozen_saturation,
    ),
    Claim(
        "expressivity",
        f"{PAPER}, abstract",
        "asRNN enjoys both the capacity of a vanilla RNN and the training stability of orthogonal RNNs.",
        _judge_expressivity,
        AUDIT,
        _expressivity,
    ),
    Claim(
        "unit-norm",
        f"{PAPER}, abstract",
        "“Thanks to orthogonal parameters and non-saturated activation functions, gradients in such models are "
        "constrained to unit norms” (of orthogonal RNNs).",
        _judge_norm,
        AUDIT,
        _norm,
    ),
    Claim(
        "copying",
        f"{PAPER}, copying memory",
        "Orthogonal networks and asRNN copy over 1,000 and 2,000 steps, an LSTM stays at the baseline.",
        _judge_copying,
        "dynlab figure copying",
    ),
    Claim(
        "copying-first",
        f"{PAPER}, abstract",
        "Encouraging results of asRNN compared to several strong competitors (copying memory).",
        _judge_first,
        "dynlab table copying",
    ),
    table_claim("asrnn-mnist", accuracies.asrnn_mnist),
    table_claim("asrnn-ptb", accuracies.asrnn_ptb),
    Claim(
        "full-derivative",
        TUTORIAL,
        "“… this implementation has been optimized for computing the full derivative without truncation.”",
        _judge_tutorial,
        "dynlab figure collapsed-rule",
    ),
    Claim(
        "huber",
        TUTORIAL,
        "“Ultimately I found the third loss function the best. It was pretty stable and worked fast.”",
        _judge_losses,
        "dynlab figure movie",
    ),
)
