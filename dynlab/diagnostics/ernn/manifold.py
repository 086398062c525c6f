"""An ERNN's states against its equilibrium manifold, the equilibria of the inner flow.

At the end stand the networks and the input of Figure 1 of the ERNN paper: random and planar, driven by a scalar walk.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from dynlab import schema
from dynlab.diagnostics.ernn.inner_flow import InnerFlow, inner_equilibria, iterates
from dynlab.errors import UserError
from dynlab.numerics.arrays import Real
from dynlab.numerics.roots import solve
from dynlab.systems import Map, frozen
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.systems.fastgrnn import FastRNN
from dynlab.systems.vanilla import Vanilla
from dynlab.trajectories.driven import Driven, drive
from dynlab.words import at_most, counted, number

CURVE_POINTS = 401
NOT_EVERYWHERE = "NaN at the initial state, for a network that is no ERNN, and where no equilibrium was found"
DIVERGED = "not finite where a network's trajectory diverges"
REASONS = {
    **dict.fromkeys(
        ("pair_sum", "equilibrium", "equilibrium_residual", "distance", "curve"),
        NOT_EVERYWHERE,
    ),
    **dict.fromkeys(("trajectory", "inner_path"), DIVERGED),
}
ON_MANIFOLD = 1e-6  # of the states' size: a network counts as moving on its manifold where no distance is larger
OFF = 1e-3  # of 1 + |z|: where the search for an equilibrium starts beside the network's own state
METHOD = (
    "Equilibria z* = φ(P (U z* + W x + b)) are found by Levenberg–Marquardt steps from beside the network's own h_k + "
    "s h_{k−1}. Where that fails, pseudo-transient continuation and random states follow. The residual is at most "
    "max(1e-12, 10 n ε ‖z‖)"
)


@checked
def ernn_manifold(
    system: Map,
    inputs: Any = None,
    *,
    beside: Mapping[str, Map] | None = None,
    initial_state: Any = None,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """Compare an ERNN's trajectory with its equilibrium manifold, beside other networks driven by the same inputs.

    Parameters
    ----------
    system : Map
        An ERNN.
    inputs : array_like, shape (time, input) or (sample, time, input), optional
        By default those recorded with the system.
    beside : mapping of str to Map, optional
        Networks of the same sizes to be driven alike, by the name under which they are shown.
    initial_state : array_like, shape (state,) or (sample, state), optional
        By default zero.
    dtype, device : str
        Type and device of the computation.
    seed : int
        Seed of the random starts where the search from the network's own state fails.

    Returns
    -------
    xarray.Dataset
        ``trajectory(network, sample, time, state)``, the first network being `system`. The next five are of the
        networks that are an ERNN, and NaN for others. ``pair_sum(network, sample, time, state)`` = h_k + s h_{k−1}, and
        ``equilibrium`` is z*(x_k) with the same dimensions. ``equilibrium_residual(network, sample, time)`` = ‖F(z*)‖₂.
        ``distance(network, sample, time)`` = ‖h_k + s h_{k−1} −
        z*(x_k)‖₂, which vanishes where the inner iteration has converged. It is NaN where no equilibrium was found. Of
        `system` ``inner_path(sample, iteration, state)``: the inner iterates of the first step with s h_0 added, from
        where they start to h_1 + s h_0. For a scalar input ``curve(x, state)`` is z* over the range of the inputs.

    Raises
    ------
    UserError
        For a system that is no ERNN, and inputs that do not fit.

    Notes
    -----
    The equilibrium condition of F(g) = φ(P (U (g + s h_{k−1}) + W x_k + b)) − (g + s h_{k−1}) depends on g + s h_{k−1}
    alone. So at equilibrium h_k = z*(x_k) − s h_{k−1}: what moves on the manifold {z*(x)} is h_k + s h_{k−1}, and h_k
    itself is an alternating sum of its points.

    References
    ----------
    Kag, Zhang and Saligrama, "RNNs evolving on an equilibrium manifold", arXiv 1908.08574, Figure 1 and section 1.1.
    """
    if not isinstance(system, ERNN):
        raise UserError(
            f"Only an ERNN has an equilibrium manifold, got a {system.name!r} network; choose one of those."
        )
    networks: dict[str, Map] = {"ernn": system, **(beside or {})}
    where: dict[str, Any] = {"dtype": dtype, "device": device, "seed": seed, "inputs_description": ""}
    driven = [drive(network, inputs, initial_state, **where) for network in networks.values()]
    ernns = {name: network for name, network in networks.items() if isinstance(network, ERNN)}
    return schema.result(
        system,
        _table(driven, np.random.default_rng(seed)),
        settings={
            "initial_state": driven[0].states[:, 0].tolist(),
            "beside": list(beside or {}),
            "inner": {name: [network.inner_steps, network.eta.mean().item()] for name, network in ernns.items()},
            "start": system.start,
            "sign": system.sign,
            "dtype": dtype,
            "device": device,
            "seed": seed,
        },
        verdict=_verdict,
        method=METHOD,
        coords={
            schema.NETWORK: schema.variable((schema.NETWORK,), np.array(list(networks), dtype=object), "network"),
            schema.TIME: schema.time_coordinate(np.arange(driven[0].steps + 1)),
        },
        reasons=REASONS,
    )


def _table(every: list[Driven], generator: np.random.Generator) -> dict[str, tuple[Any, ...]]:
    """Return all variables from the trajectories of the networks, of which the first is an ERNN."""
    dims = (schema.NETWORK, schema.SAMPLE, schema.TIME, schema.STATE)
    system, driven, states = cast(ERNN, every[0].system), every[0].inputs, torch.stack([each.states for each in every])
    sums, equilibria, single = (torch.full_like(states, torch.nan) for _ in range(3))
    residuals, nothing = single[..., 0], states.new_zeros(states.shape[-1])
    for i, network in enumerate(each.system for each in every):
        if isinstance(network, ERNN):
            sums[i, :, 1:] = states[i, :, 1:] + network.sign * states[i, :, :-1]
            equilibria[i, :, 1:] = _equilibria(network, driven, sums[i, :, 1:], generator)
            residuals[i, :, 1:] = network.inner_velocity(equilibria[i, :, 1:], nothing, driven).norm(dim=-1)
    away, initial = (sums - equilibria).norm(dim=-1), states[0, :, 0]
    etas = system.step_etas(0)[:, None].expand(-1, len(initial))
    path = iterates(InnerFlow(system, initial, driven[:, 0]), system.inner_start(initial), etas, len(etas))
    shifted = path.transpose(0, 1) + system.sign * initial[:, None]
    table: dict[str, tuple[Any, ...]] = {
        "trajectory": (dims, states, "state h"),
        "pair_sum": (dims, sums, "h_k + s h_{k−1}"),
        "equilibrium": (dims, equilibria, "equilibrium z*(x_k)"),
        "equilibrium_residual": (dims[:-1], residuals, "residual ‖F(z*)‖₂"),
        "distance": (dims[:-1], away, "distance of h_k + s h_{k−1} from z*(x_k)"),
        "inner_path": ((schema.SAMPLE, schema.ITERATION, schema.STATE), shifted, "inner iterates of the first step"),
    }
    if driven.shape[-1] == 1:
        values = torch.linspace(float(driven.min()), float(driven.max()), CURVE_POINTS, dtype=driven.dtype).to(driven)
        curve = _equilibria(system, values[:, None], driven.new_zeros(CURVE_POINTS, system.state_size), generator)
        table["curve"] = ((schema.X, schema.STATE), curve, "equilibrium manifold z*(x)")
        table[schema.X] = ((schema.X,), values, "input x")
    return {name: (on, part.double().cpu().numpy(), words) for name, (on, part, words) in table.items()}


def _equilibria(network: ERNN, driven: Tensor, starts: Tensor, generator: np.random.Generator) -> Tensor:
    """Return roots z* of φ(P (U z + W x + b)) = z, shape as `starts` (..., state), NaN where there is none."""
    inputs, n = driven.reshape(-1, driven.shape[-1]), network.state_size
    flow = InnerFlow(network, starts.new_zeros(len(inputs), n), inputs)
    # Off the network's own state, lest a state that is nearly an equilibrium be returned as the equilibrium.
    found = solve(flow.velocity, flow.jacobian, (starts + OFF * (1 + starts.abs())).reshape(-1, n))
    equilibria, lost = torch.where(found.converged[:, None], found.states, torch.nan), ~found.converged
    if lost.any():
        begin, given = (part[lost].double().cpu() for part in (starts.reshape(-1, n), inputs))
        exact = InnerFlow(frozen(network, torch.float64, "cpu"), torch.zeros_like(begin), given)
        equilibria[lost] = torch.as_tensor(inner_equilibria(exact, begin, begin, generator).states).to(equilibria)
    return equilibria.reshape(starts.shape)


def _verdict(ds: xr.Dataset) -> str:
    """Say of each ERNN how far it is from its manifold."""
    settings = schema.settings(ds)
    pair = f"h_k {'+' if settings['sign'] == 1 else '−'} h_{{k−1}}"  # h_k by itself need not lie on the manifold
    sentences = []
    for name, (inner_steps, eta) in settings["inner"].items():
        one = ds.sel(network=name).isel({schema.TIME: slice(1, None)})
        distances, sums = one["distance"].values, np.abs(one["pair_sum"].values)
        said = f": no equilibrium was found at any of {counted(distances.size, 'step')}."
        if not np.isfinite(sums).any():
            said = " diverges."
        elif np.isfinite(distances).any():
            on = np.nanmax(distances) <= ON_MANIFOLD * np.nanmax(sums)
            size = np.nanmedian(np.linalg.norm(one["equilibrium"].values, axis=-1))
            said = (
                f" is {'on' if on else 'off'} the manifold: {pair} is at most {at_most(np.nanmax(distances), 2)} "
                f"from z*(x_k) (median {number(np.nanmedian(distances), 2)}, ‖z*‖ {number(size, 2)})."
            )
        sentences.append(f"ERNN with K = {inner_steps}, η = {number(eta, 3)}{said}")
    return " ".join(sentences)


# The paper gives neither seed nor scales. Weights of the input have the deviation 0.1 of FastRNN's library, without
# which a walk that goes this far would saturate tanh throughout. With this seed ‖U‖₂ = 0.92 < 1, so that every input
# has exactly one equilibrium, the manifold has a bend, and the walk passes the bend again and again.
SEED = 172
VARIANCE, STEPS = 10.0, 1000  # of the walk's increments
INPUT_DEVIATION, BIAS_DEVIATION = 0.1, 0.5
INITIAL_STATE = (-0.6, -0.8)  # off the manifold
INNER_STEPS, ETA = 40, 0.6  # the slowest mode of the inner iteration shrinks to 0.4 in a step: 40 reach rounding
TRAINED_INNER_STEPS, TRAINED_ETA = 5, 0.01  # the paper's own setting for training


def random_planar_networks(seed: int = SEED, steps: int = STEPS) -> tuple[ERNN, Real, dict[str, Any]]:
    """Return an RNN, a FastRNN and two ERNNs with the same random U, W and b, and a walk, for `ernn_manifold`.

    Parameters
    ----------
    seed : int
        Seed of the weights (normal: U with variance 1/2, W with deviation 0.1, b with deviation 0.5) and of the walk.
    steps : int
        Length of the walk, whose increments have variance 10.

    Returns
    -------
    system : ERNN
        One whose inner iteration converges: K = 40, η = 0.6, started at 0 as the paper's equation 13 has it.
    inputs : ndarray, shape (time, 1)
    options : dict
        ``initial_state``, and ``beside``: ``ernn K=5`` with the paper's η = 0.01, started at the previous state,
        ``rnn`` and ``fastrnn``. All use tanh, and φ(U · + W x + b) without the outer P.

    References
    ----------
    Kag, Zhang and Saligrama, arXiv 1908.08574, Figure 1.
    """
    generator = np.random.default_rng(seed)
    U = torch.from_numpy(generator.standard_normal((2, 2)) / np.sqrt(2))
    W = torch.from_numpy(INPUT_DEVIATION * generator.standard_normal(2))[:, None]
    b = torch.from_numpy(BIAS_DEVIATION * generator.standard_normal(2))
    walk = np.cumsum(np.sqrt(VARIANCE) * generator.standard_normal(steps))
    shared: dict[str, Any] = {"length": steps, "rank": None, "activation": "tanh", "projection": False}
    system = ERNN(1, 2, inner_steps=INNER_STEPS, eta=ETA, start="zero", **shared)
    trained = ERNN(1, 2, inner_steps=TRAINED_INNER_STEPS, eta=TRAINED_ETA, **shared)
    rnn, fastrnn = Vanilla(1, 2), FastRNN(1, 2)
    for network, names in ((system, "U.weight W b"), (trained, "U.weight W b"), (rnn, "W V b"), (fastrnn, "U W b")):
        network.double().load_state_dict(dict(zip(names.split(), (U, W, b), strict=True)), strict=False)
    system.name = "ernn"
    beside = {"ernn K=5": trained, "rnn": rnn, "fastrnn": fastrnn}
    return system, walk[:, None], {"beside": beside, "initial_state": INITIAL_STATE}


def chosen(seed: int) -> str:
    """Return a sentence for captions on where the networks come from, and why the default seed is no other."""
    why = ", for which every input has exactly one equilibrium (‖U‖₂ = 0.92 < 1) and the manifold has a bend"
    return f"The networks are random, from seed {seed}{why if seed == SEED else ''}."
