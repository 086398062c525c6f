"""Claims of the ERNN paper that are measured on networks."""

import numpy as np
import torch

from dynlab import io, schema, zoo
from dynlab.gallery import ernn_2, ernn_5, ernn_6, zoo_comparison
from dynlab.gallery.audit.claim import CONDITION, FAILS, HOLDS, UNDECIDED, Claim, Numbers
from dynlab.gallery.kept import kept
from dynlab.numerics.singular_values import singular_values
from dynlab.program.differentiation import along
from dynlab.systems import frozen
from dynlab.systems.ernn import ERNN
from dynlab.systems.fastrnn import FastRNN
from dynlab.tasks import driving_inputs
from dynlab.trajectories.driven import Driven
from dynlab.trajectories.simulation import orbit
from dynlab.wording import number, power, share

TRAINED = {1: "ernn-har2-k1", 3: "ernn-har2-k3", 5: "ernn-har2-k5"}
SAMPLES, EVERY = 4, 16
ROUNDING = 1e-10  # of states and Jacobians: what an identity may be off by after 128 steps in float64
INNER = 300  # iterations at η = 0.5 of an inner map that contracts: far below rounding
MOVES = 0.01  # of the state's norm in a step: more is no rest


def _driven(name: str) -> tuple[ERNN, Driven]:
    system = zoo.load(name)
    if not isinstance(system, ERNN):
        raise TypeError(f"{name} is {type(system).__name__}")
    return system, ernn_5.along(system, driving_inputs(None, system, samples=SAMPLES, shipped=True).inputs)


def _to_equilibrium() -> tuple[ERNN, torch.Tensor, torch.Tensor]:
    """The dense ERNN of Figure 6, its inner iteration run to its end at every step of real sequences."""
    _, given = _driven(TRAINED[1])
    inputs = given.inputs[:1]
    cell = ernn_6.dense(inner_steps=INNER, eta=ernn_6.ETA)
    states = orbit(cell, inputs, torch.zeros(1, cell.state_size, dtype=torch.float64)).detach()
    return cell, inputs, states


def _manifold() -> Numbers:
    cell, inputs, states = _to_equilibrium()
    z = states[:, 1:] + states[:, :-1]
    drive_ = torch.nn.functional.linear(inputs, cell.W, cell.b)
    with torch.no_grad():
        residual = (cell.transition(z, drive_) - z).abs().max()
    found = {"dense": float(residual), "jacobian": _off(cell, states, inputs, +1)}
    for K, name in TRAINED.items():
        system, driven = _driven(name)
        held = frozen(system)
        z = driven.states[:, 1:] + driven.states[:, :-1]
        off = held.transition(z, torch.nn.functional.linear(driven.inputs, held.W, held.b)) - z
        found[f"trained_{K}"] = float((off.norm(dim=-1) / z.norm(dim=-1)).median())
    return found


def _off(system: ERNN, states: torch.Tensor, inputs: torch.Tensor, sign: int) -> float:
    """The median of ‖∂h_k/∂h_{k−1} ± I‖₂ over every sixteenth step."""
    J = along(frozen(system), states, inputs).dense()[:, ::EVERY]
    return float(np.median(singular_values((J + sign * torch.eye(system.state_size)).detach().numpy())[..., 0]))


def _judge_manifold(n: Numbers) -> tuple[str, str]:
    trained = ", ".join(f"K = {K}: {n[f'trained_{K}']:.2g}" for K in TRAINED)
    return (CONDITION if n["dense"] < ROUNDING else FAILS), (
        f"If the inner iteration is run to its end: h_k = z*(x_k) − h_{{k−1}} to below {ROUNDING:g}, so that a step "
        f"keeps the state but for its sign, and adds what depends on x_k alone. On the trained networks, which stop "
        f"after K steps, what is left of ‖F‖ is, relative to ‖z‖ (medians), {trained}."
    )


def _near_identity() -> Numbers:
    found = {}
    for K, name in TRAINED.items():
        system, driven = _driven(name)
        for word, sign in (("plus", -1), ("minus", +1)):
            found[f"{word}_{K}"] = _off(system, driven.states, driven.inputs, sign)
    return found


def _judge_near_identity(n: Numbers) -> tuple[str, str]:
    said = ". ".join(f"K = {K}: ‖J − I‖ = {n[f'plus_{K}']:.2f}, ‖J + I‖ = {n[f'minus_{K}']:.2f}" for K in TRAINED)
    nearer = [n[f"plus_{K}"] < n[f"minus_{K}"] for K in TRAINED]
    return (FAILS if all(nearer) else UNDECIDED), f"Medians along real sequences of the trained networks. {said}."


def _fastrnn() -> Numbers:
    """ERNN with K = 1 beside a FastRNN that has its weights, at each step's η."""
    system, driven = _driven(TRAINED[1])
    held = frozen(system)
    U = held.U.matrix()
    with torch.no_grad():
        twin = FastRNN(system.input_size, system.state_size, "relu").double()
        twin.U.copy_(2 * held.recurrent_matrix())
        twin.W.copy_(U @ held.W)
        twin.b.copy_(U @ held.b)
        worst, possible = 0.0, [t for t in range(driven.steps) if 0 < float(held.eta[0, t]) < 1 / 2]
        for t in possible:
            eta = held.eta[0, t]
            twin.alpha.copy_(torch.logit(eta))
            twin.beta.copy_(torch.logit(1 - 2 * eta))
            after = twin.step(driven.states[:, t], driven.inputs[:, t])
            worst = max(worst, float((after - driven.states[:, t + 1]).abs().max()))
    reach = {"lowest": float(held.eta.min()), "highest": float(held.eta.max())}
    return reach | {"difference": worst, "possible": float(len(possible)), "steps": float(driven.steps)}


def _judge_fastrnn(n: Numbers) -> tuple[str, str]:
    return (CONDITION if n["difference"] < ROUNDING else FAILS), (
        f"On {TRAINED[1]} a step is one of a FastRNN with α = η_t, β = 1 − 2η_t and the matrix 2PU, to less than "
        f"{ROUNDING:g}. That is at the {n['possible']:.0f} of {n['steps']:.0f} steps where 0 < η_t < ½. η_t is learned "
        f"for each step ({number(n['lowest'], 3)} to {number(n['highest'], 3)}), where a FastRNN has one positive α. "
        "So what K = 1 gains over FastRNN it gains by that and its low rank, not by an equilibrium."
    )


def _judge_lemma_1(n: Numbers) -> tuple[str, str]:
    shares = ernn_5.shares()
    said = ", ".join(f"{label} {one['singular']:.1%}" for label, one in shares.items())
    return (CONDITION if n["jacobian"] < ROUNDING else FAILS), (
        f"Where ∇F is not singular and the iteration is run to its end it holds (‖J + I‖ {_small(n['jacobian'])}). On "
        f"the trained networks ∇F is singular at these shares of 20,000 (window, step) pairs: {said}."
    )


def _small(value: float) -> str:
    return f"below {ROUNDING:g}" if value < ROUNDING else f"{value:.1e}"


def _judge_figure_5(n: Numbers) -> tuple[str, str]:
    shares = ernn_5.shares()
    said = ". ".join(
        f"{label}: {one['below']:.1%} below 0, {one['zero']:.1%} equal to 0, {one['above']:.1%} above"
        for label, one in shares.items()
    )
    return (FAILS if any(one["above"] + one["zero"] for one in shares.values()) else HOLDS), (
        f"Real parts at the states that the trained networks visit. {said}. The lemma itself is Lyapunov's, that "
        "eigenvalues below 0 make an equilibrium stable; what does not hold is its premise."
    )


def _judge_theorem_1(n: Numbers) -> tuple[str, str]:
    """From what the figure of the zoo keeps: the same sequences, the same numbers."""
    results = kept(zoo_comparison.make.name, lambda: zoo_comparison.compute(False))
    last = results[f"{TRAINED[5]}.end_to_end"]["log_singular_value"].isel({schema.TIME: -1})
    largest, middle = (float(last.isel({schema.MODE: mode}).median()) for mode in (0, last.sizes[schema.MODE] // 2))
    title = next(title for title, name in zoo_comparison.NETWORKS.items() if name == TRAINED[5])
    table = results["table"].sel({schema.NETWORK: title})
    return (HOLDS if largest == middle == 0 else CONDITION), (
        f"It follows from Lemma 1 where its premise holds at every step. On trained {TRAINED[5]} the product over "
        f"{int(table['steps'])} steps is no multiple of an isometry: largest singular value {power(largest)}, middle "
        f"one {power(middle)}; {table['surviving'].values} directions keep a tenth of their size (medians of "
        f"{last.sizes[schema.SAMPLE]} sequences)."
    )


def _shares(name: str, condition: str) -> str:
    """At how many of the iterates that Figure 6 keeps a condition holds, of those at which it can be told."""
    values = kept(ernn_6.make.name, lambda: ernn_6.compute(False))[name][condition].values
    return share(float((values[np.isfinite(values)] < 1).mean()))


def _judge_theorem_2(n: Numbers) -> tuple[str, str]:
    results = kept(ernn_6.make.name, lambda: ernn_6.compute(False))
    settled, one = results["dense"]["outcome"].values == "converges", results["trained"]["equilibrium_status"].values
    return (CONDITION if settled.all() else FAILS), (
        f"Equation 12 holds at {_shares('dense', 'theorem2')} of the iterates of a dense ERNN with ‖PU‖ = 0.81, which "
        f"converges at the predicted rate. It holds at {_shares('trained', 'theorem2')} of the iterates of "
        f"{ernn_6.TRAINED}. There a search finds one equilibrium of the inner flow at "
        f"{int((one == 'one equilibrium').sum())} of {one.size} steps, and the iteration converges to it at none "
        "within 2,000 iterations."
    )


def _judge_corollary_1(n: Numbers) -> tuple[str, str]:
    return CONDITION, (
        f"Its premise ‖I + η∇F‖ < 1 holds at {_shares('dense', 'corollary1')} of the iterates of the dense ERNN and at "
        f"{_shares('trained', 'corollary1')} of those of {ernn_6.TRAINED}: about the trained network it says nothing."
    )


def _noise() -> Numbers:
    """How far the trained networks move in a step of noise around the inputs' mean after a sequence, and without it."""
    found: dict[str, float] = {}
    for K, name in TRAINED.items():
        system, driven = _driven(name)
        generator = torch.Generator().manual_seed(0)
        mean = driven.inputs.mean(dim=(0, 1))
        half = driven.steps // 2
        noise = mean + torch.randn(SAMPLES, half, system.input_size, generator=generator, dtype=torch.float64)
        padded = torch.cat([driven.inputs[:, :half], noise], dim=1)
        states = ernn_5.along(system, padded.numpy()).states
        moved = (states[:, 1:] - states[:, :-1]).norm(dim=-1) / states[:, 1:].norm(dim=-1)
        found |= {f"data_{K}": float(moved[:, :half].median()), f"noise_{K}": float(moved[:, half:].median())}
    return found


def _judge_noise(n: Numbers) -> tuple[str, str]:
    said = ". ".join(f"K = {K}: {n[f'noise_{K}']:.1%} under noise, {n[f'data_{K}']:.1%} under data" for K in TRAINED)
    still = [n[f"noise_{K}"] < MOVES for K in TRAINED]
    return (HOLDS if all(still) else FAILS), (
        f"Medians of how far a network trained on HAR-2 moves in a step, relative to its state. Noise has variance 1 "
        f"around the inputs' mean. {said}. At equilibrium, h_k = z*(x_k) − h_{{k−1}}, noise adds to the state in every "
        "step. Networks trained on noise-padded data: not run."
    )


def _figure_2() -> Numbers:
    recorded = io.open(ernn_2.RECORDED)["log_norm"].isel({schema.TIME: 0}).median(schema.SAMPLE)
    later = recorded.isel({schema.TRAINING_STEP: slice(recorded.sizes[schema.TRAINING_STEP] // 2, None)})
    found: dict[str, float] = {}
    for index, name in enumerate(ernn_2.LOOK):
        one = later.sel({schema.NETWORK: name})
        found |= {f"low_{index}": float(one.min()), f"high_{index}": float(one.max())}
    return found


def _judge_figure_2(n: Numbers) -> tuple[str, str]:
    said = ". ".join(
        f"{name}: {power(n[f'low_{index}'])} to {power(n[f'high_{index}'])}" for index, name in enumerate(ernn_2.LOOK)
    )
    return CONDITION, (
        f"‖∂h_T/∂h_1‖ in the second half of training, medians. {said}. It holds of a tanh RNN from torch's start; one "
        "with ReLU that starts at the identity keeps 2 % to 9 %."
    )


PAPER = "ERNN"
AUDIT = "dynlab table audit --recompute"
CLAIMS = (
    Claim(
        "manifold",
        f"{PAPER}, equations 7 and 8",
        "ERNN evolves on the equilibrium manifold: h_k = z*(x_k) − h_{k−1}.",
        _judge_manifold,
        AUDIT,
        _manifold,
    ),
    Claim(
        "near-identity",
        f"{PAPER}, section 3 (“achieves equilibrium in less than 5 steps”)",
        "With K ≤ 5 steps at a learned η around 0.01 the Jacobian is that of the equilibrium, −I.",
        _judge_near_identity,
        AUDIT,
        _near_identity,
    ),
    Claim(
        "fastrnn",
        f"{PAPER}, equation 11 with K = 1",
        "ERNN with K = 1 is a FastRNN (not said by the paper, which compares them as different methods).",
        _judge_fastrnn,
        AUDIT,
        _fastrnn,
    ),
    Claim(
        "lemma-1",
        f"{PAPER}, Lemma 1",
        "If ∇f − γI is non-singular at equilibrium, ∂h_eq/∂h_{k−1} = −I.",
        _judge_lemma_1,
        "dynlab figure ernn-5",
        _manifold,
    ),
    Claim(
        "lemma-2",
        f"{PAPER}, Lemma 2, section 6.1 and Figure 5",
        "All the eigenvalues of ∇φU − I are negative on HAR-2, so that the equilibria are asymptotically stable.",
        _judge_figure_5,
        "dynlab figure ernn-5",
    ),
    Claim(
        "theorem-1",
        f"{PAPER}, Theorem 1",
        "∂h_m/∂h_n = (−1)^{m−n} I, so that ‖∂h_m/∂h_n‖ = 1.",
        _judge_theorem_1,
        "dynlab figure zoo",
    ),
    Claim(
        "theorem-2",
        f"{PAPER}, Theorem 2",
        "Under equation 12 the Euler iteration converges locally with linear rate.",
        _judge_theorem_2,
        "dynlab figure ernn-6",
    ),
    Claim(
        "corollary-1",
        f"{PAPER}, Corollary 1",
        "If ‖I + η∇F‖ < 1 the forward propagation is stable and converges with linear rate.",
        _judge_corollary_1,
        "dynlab figure ernn-6",
    ),
    Claim(
        "noise",
        f"{PAPER}, “Noise Padded Datasets”",
        "Under noise around its mean the resulting states cease to be updated: ERNN recalls the last "
        "informative state.",
        _judge_noise,
        AUDIT,
        _noise,
    ),
    Claim(
        "ernn-figure-2",
        f"{PAPER}, Figure 2",
        "RNN suffers from serious vanishing gradients in training, ERNN's are close to 1.",
        _judge_figure_2,
        "dynlab figure ernn-2",
        _figure_2,
    ),
)
