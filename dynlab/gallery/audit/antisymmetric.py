"""Claims of the AntisymmetricRNN paper and of two reviews of it."""

import numpy as np
import torch

from dynlab import io, schema, zoo
from dynlab.diagnostics.phase_plane.panels import planar_portrait
from dynlab.diagnostics.spectrum import spectrum
from dynlab.gallery import accuracies, antisymmetric_2, equilibria, speed
from dynlab.gallery.audit.claim import CONDITION, FAILS, HOLDS, NOT_RUN, UNDECIDED, Claim, Numbers
from dynlab.gallery.time_varying import compute as time_varying
from dynlab.numerics.eigenvalues import approximate_eigenvalues
from dynlab.program.differentiation import jacobian
from dynlab.systems import frozen
from dynlab.systems.antisymmetric import GatedFlow
from dynlab.tasks import driving_inputs
from dynlab.wording import number

DRAWS, UNITS, INPUTS = 20, 128, 96
ROUNDING = 1e-12  # relative: what an identity may be off by in float64
SCALES = (1, 4, 16)  # σ_w of the paper's grid
TRAINED = "antisymmetric-har2"
NOISE_STEPS, PAPER_STEP = 50, 0.1
CLOSE = 1.0  # of |ln mean modulus| after all steps
SLIDE_GAMMA = 0.01
SLIDE_MATRIX, SLIDE_SLOPES = np.array([[1.0, -2.0], [1.0, -1.0]]), np.diag([1.0, 0.5])


def _imaginary() -> Numbers:
    """Of diag(tanh') (W − Wᵀ) at random, and of the flow of the trained network."""
    generator = np.random.default_rng(0)
    W = generator.normal(0, UNITS**-0.5, (DRAWS, UNITS, UNITS))
    slopes = 1 - np.tanh(generator.normal(size=(DRAWS, UNITS, 1))) ** 2
    matrices = slopes * (W - W.swapaxes(1, 2))
    real = np.abs(approximate_eigenvalues(matrices).real).max(axis=-1) / np.linalg.norm(matrices, 2, axis=(1, 2))
    system = zoo.load(TRAINED)
    inputs = driving_inputs(None, system, samples=4, shipped=True).inputs
    found = spectrum(system, inputs, times=16)["flow_eigenvalue"].values.real
    return {"real": real.max(), "lowest": found.min(), "highest": found.max(), "gamma": float(system.config["gamma"])}


def _judge_imaginary(n: Numbers) -> tuple[str, str]:
    ok = n["real"] < ROUNDING and -n["gamma"] - ROUNDING <= n["lowest"] and n["highest"] <= ROUNDING
    return HOLDS if ok else FAILS, (
        f"Largest |Re λ| of {DRAWS} random diag(tanh′)(W − Wᵀ) with {UNITS} units, relative to the norm: below "
        f"{ROUNDING:g}. With diffusion γ = {n['gamma']:g}, along real sequences of the trained {TRAINED}: Re λ between "
        f"{number(n['lowest'], 3)} and {number(n['highest'], 3)} per second, within [−γ, 0]."
    )


def _gated() -> Numbers:
    """Signs of the gated network's diagonal factor and the largest real part, at the paper's start."""
    found: dict[str, float] = {}
    for scale in SCALES:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            flow = frozen(GatedFlow(INPUTS, UNITS, 0.001, scale).double())
            inputs = torch.randn(4, NOISE_STEPS, INPUTS, dtype=torch.float64)
        states = torch.zeros(4, UNITS, dtype=torch.float64)
        worst, negative = [], []
        with torch.no_grad():
            for input in inputs.unbind(1):
                J, M = jacobian(flow, states, input).dense(), flow.M
                # J = diag(c) M: c by least squares over each row
                c = (J * M).sum(-1) / M.square().sum(-1)
                negative.append(float((c < 0).double().mean()))
                worst.append(float(approximate_eigenvalues(J.numpy()).real.max()))
                states = states + PAPER_STEP * flow.velocity(states, input)
        found |= {f"negative_{scale}": float(np.mean(negative)), f"largest_{scale}": max(worst)}
    return found


def _judge_gated(n: Numbers) -> tuple[str, str]:
    said = ". ".join(
        f"σ_w = {scale}: {n[f'negative_{scale}']:.0%} of the diagonal's entries are negative, largest Re λ "
        f"{n[f'largest_{scale}']:+.2f} per second"
        for scale in SCALES
    )
    return FAILS if max(n[f"largest_{scale}"] for scale in SCALES) > 0 else HOLDS, (
        f"The diagonal factor σ′(p_z) tanh(p_h) + σ(p_z) tanh′(p_h) may be negative. These are measured at the "
        f"paper's start, with noise as input. {said}."
    )


def _time_varying() -> Numbers:
    found = time_varying(True)
    return {
        "highest": float(found["growth"]["eigenvalue"].values.real.max()),
        "growth": float(found["growth"]["log_norm"][-1]),
        "product": float(found["shears"]["product_radius"]),
    }


def _judge_flow(n: Numbers) -> tuple[str, str]:
    return (FAILS if n["highest"] < 0 < n["growth"] else HOLDS), (
        f"Markus and Yamabe's A(t) has Re λ = {number(n['highest'], 2)} at every t, and its solution grows to "
        f"e^{n['growth']:.2f} in 20 seconds. It holds where J is constant and no eigenvalue on the imaginary axis is "
        "defective, and where all Re λ are below a negative bound and J varies slowly enough."
    )


def _judge_map(n: Numbers) -> tuple[str, str]:
    return (FAILS if n["product"] > 1 else HOLDS), (
        f"Two matrices whose eigenvalues are all 0.5 have a product of spectral radius {n['product']:.2f}."
    )


def _step() -> Numbers:
    ds = planar_portrait("diff", "feedback")
    return {"critical": float(ds["critical_step"][0]), "modulus": float(np.abs(ds["map_eigenvalue"].values).max())}


def _judge_step(n: Numbers) -> tuple[str, str]:
    return (FAILS if n["modulus"] > 1 else HOLDS), (
        f"At the figure's ε = 0.1 the multipliers have modulus {n['modulus']:.4f} > 1; diffusion stabilises steps up "
        f"to {n['critical']:.4f} only. Trajectories neither vanish nor explode, but for another reason: they end on a "
        "closed curve that tanh's saturation makes."
    )


def _judge_figure_2(n: Numbers) -> tuple[str, str]:
    ds = antisymmetric_2.kept_eigenvalues()
    names = [name for name in ds[schema.NETWORK].values.tolist() if name.startswith("trained antisymmetric")]
    last = ds.isel({schema.TIME: -1})
    off = [abs(float(last["mean"].sel({schema.NETWORK: name}))) for name in names]
    verdict = NOT_RUN if not names else HOLDS if max(off) < CLOSE else FAILS
    return verdict, antisymmetric_2.measured(ds)


def _slides() -> Numbers:
    """The slides' code subtracts γ from every entry; and a matrix with imaginary eigenvalues, of which J has not."""
    generator = np.random.default_rng(0)
    W = generator.normal(0, UNITS**-0.5, (UNITS, UNITS))
    coded = approximate_eigenvalues(W - W.T - SLIDE_GAMMA).real
    ones = -SLIDE_GAMMA * UNITS
    scaled = approximate_eigenvalues(SLIDE_SLOPES @ SLIDE_MATRIX).real
    given = approximate_eigenvalues(SLIDE_MATRIX).real
    return {
        "lowest": coded.min(),
        "highest": coded.max(),
        "rayleigh": ones,
        "scaled": scaled.max(),
        "given": np.abs(given).max(),
    }


def _judge_slides(n: Numbers) -> tuple[str, str]:
    right = np.isclose([n["lowest"], n["highest"]], -SLIDE_GAMMA, atol=1e-6).all()
    return (HOLDS if right else FAILS), (
        f"A scalar is subtracted from every entry, W − Wᵀ − γ11ᵀ. The direction of equal entries has the Rayleigh "
        f"quotient {number(n['rayleigh'], 3)} (−γn). The eigenvalues' real parts lie between "
        f"{number(n['lowest'], 3)} and {number(n['highest'], 2)} in place of −{SLIDE_GAMMA:g} for all ({UNITS} units)."
    )


def _judge_imply(n: Numbers) -> tuple[str, str]:
    return (FAILS if n["scaled"] > ROUNDING else HOLDS), (
        f"W₁ = [[1, −2], [1, −1]] has the eigenvalues ±i, diag(1, ½) W₁ has the real part {n['scaled']:+.2f}. It holds "
        "for antisymmetric W₁."
    )


def _judge_speed(n: Numbers) -> tuple[str, str]:
    ratios = speed.ratios(speed.kept_steps())
    said = "; ".join(f"{machine}: {fused:.0f}×" for machine, (fused, _) in ratios.items())
    verdict = HOLDS if min(fused for fused, _ in ratios.values()) > 1 else FAILS
    return (
        verdict,
        f"A fused LSTM against one stepped in Python, median training steps at T = 784: {said} (the slides: 3.1×).",
    )


def _judge_script(n: Numbers) -> tuple[str, str]:
    ratios = speed.ratios(speed.kept_steps())
    said = "; ".join(f"{machine}: {scripted:.2f}×" for machine, (_, scripted) in ratios.items())
    verdict = HOLDS if min(scripted for _, scripted in ratios.values()) > 1 else FAILS
    return (
        verdict,
        f"AntisymmetricRNN in TorchScript against the same loop in Python, median steps: {said}.",
    )


def _judge_kinds(n: Numbers) -> tuple[str, str]:
    ds = equilibria.table()
    held = all(row[-1] in (equilibria.HOLDS, equilibria.ONLY_FLOW) for row in ds.rows)
    return (CONDITION if held else FAILS), (
        f"{ds.measured} So it holds for the flow. For the map it holds at small steps, but no step is small enough for "
        "the center."
    )


def of_table(table: accuracies.Accuracies) -> tuple[str, str]:
    """The verdict on a table of accuracies as a whole, and its sentence."""
    ds = accuracies.measured(io.open(accuracies.RECORDED), table.names)
    words = ds["meaning"].values.tolist()
    run = [word for word in words if word not in (accuracies.NOT_RUN, accuracies.NOT_COMPLETE)]
    # a training that diverged, or was not repeated, tells of its recipe and its seed
    open_ = [word for word in run if word == accuracies.DIVERGED or word.endswith(accuracies.ONE_TRAINING)]
    if len(run) < len(words) or open_:
        return (UNDECIDED if run else NOT_RUN), str(ds.attrs["verdict"])
    reached = [word.startswith("reached") for word in run]
    return (HOLDS if all(reached) else CONDITION if any(reached) else FAILS), str(ds.attrs["verdict"])


def table_claim(name: str, table: accuracies.Accuracies) -> Claim:
    """The row of a table of accuracies; it holds if every row is reached without choosing an epoch on test."""
    command = f"dynlab table {name}"
    source, _, words = table.title.partition(": ")
    return Claim(name, source, f"{words}: {table.claim}", lambda _: of_table(table), command)


PAPER, REVIEW, SLIDES = "AntisymmetricRNN", "Review of AntisymmetricRNN", "Slides on AntisymmetricRNN"
CLAIMS = (
    Claim(
        "imaginary",
        f"{PAPER}, section 3.2",
        "The Jacobian diag(tanh′)(W − Wᵀ) has imaginary eigenvalues, Re λ = 0 for all i.",
        _judge_imaginary,
        "dynlab table audit --recompute",
        _imaginary,
    ),
    Claim(
        "gated",
        f"{REVIEW}, “Gating Mechanism”",
        "With gate, the Jacobian is a diagonal matrix multiplied by the antisymmetric one; the real part of the "
        "eigenvalues will still be close to zero.",
        _judge_gated,
        "dynlab table audit --recompute",
        _gated,
    ),
    Claim(
        "proposition-1",
        f"{PAPER}, Proposition 1",
        "The solution of an ODE is stable if max Re λ(J(t)) ≤ 0 for all t ≥ 0.",
        _judge_flow,
        "dynlab figure time-varying",
        _time_varying,
    ),
    Claim(
        "proposition-2",
        f"{PAPER}, Proposition 2",
        "The forward propagation is stable if max |1 + ελ(J_t)| ≤ 1 for all t.",
        _judge_map,
        "dynlab figure time-varying",
        _time_varying,
    ),
    Claim(
        "critical-step",
        f"{PAPER}, Figure 1 (h)",
        "With diffusion the discretisation is stable: trajectories neither vanish nor explode.",
        _judge_step,
        "dynlab figure critical-step",
        _step,
    ),
    Claim(
        "figure-2",
        f"{PAPER}, Figure 2",
        "Of trained AntisymmetricRNNs the eigenvalues of the end-to-end Jacobian keep a mean modulus close to 1, "
        "unless γ is too large; an LSTM's go to 0 quickly.",
        _judge_figure_2,
        "dynlab figure antisymmetric-2",
    ),
    Claim(
        "kinds",
        f"{REVIEW}, Table 1",
        "The eigenvalues at an equilibrium tell of six kinds how the RNN behaves.",
        _judge_kinds,
        "dynlab table equilibria",
    ),
    Claim(
        "imply",
        f"{SLIDES}, section 3",
        "If the eigenvalues of W₁ are all imaginary, then those of J = diag(tanh′) W₁ are all imaginary.",
        _judge_imply,
        "dynlab table audit --recompute",
        _slides,
    ),
    Claim(
        "scalar-gamma",
        f"{SLIDES}, code",
        "`weight_hh.t() - weight_hh - gamma` is W − Wᵀ − γI.",
        _judge_slides,
        "dynlab table audit --recompute",
        _slides,
    ),
    Claim(
        "fused",
        f"{SLIDES}, “Speed Comparison”",
        "A fused kernel increases the speed of an LSTM a lot.",
        _judge_speed,
        "python benchmarks/training_step.py --device cuda --cells lstm",
    ),
    Claim(
        "torchscript",
        f"{SLIDES}, “Why Pytorch”",
        "TorchScript fuses operations and optimises our code automatically.",
        _judge_script,
        "python benchmarks/training_step.py --device cuda --cells antisymmetric",
    ),
    table_claim("antisymmetric-1", accuracies.antisymmetric_1),
    table_claim("antisymmetric-2", accuracies.antisymmetric_2),
)
