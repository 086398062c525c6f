"""Whether an ERNN moves on its equilibrium manifold: its states against the equilibria of the inner flow."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from dynlab import schema, simulation
from dynlab.diagnostics.ernn.equilibria import InnerFlow, inner_equilibria
from dynlab.errors import UserError
from dynlab.numerics.roots import solve
from dynlab.systems import Map, frozen
from dynlab.systems.checked import checked
from dynlab.systems.ernn import ERNN
from dynlab.wording import at_most, counted, number

CURVE_POINTS = 401
NOT_EVERYWHERE = ("pair_sum", "equilibrium", "equilibrium_residual", "equilibrium_iterations", "distance")
ON_MANIFOLD = 1e-6  # of the states' size: a network counts as moving on its manifold where no distance is larger
OFF = 1e-3  # of 1 + |z|: where the search for an equilibrium starts beside the network's own state
EQUILIBRIUM = (
    "The manifold holds the equilibria z*(x) of the inner iteration under inputs x. "
    "A network takes K steps of it, of size η."
)
AT_END = "If that iteration is run to its end, {} = z*(x_k)."
METHOD = (
    "Equilibria z* = φ(P (U z* + W x + b)) are found by Levenberg–Marquardt steps from beside the network's own h_k + "
    "s h_{k−1}. Where that fails, pseudo-transient continuation and random states follow. The residual is at most "
    "max(1e-12, 10 n ε ‖z‖)"
)


@checked
def ernn_manifold(
    system: Map,
    inputs: Any,
    *,
    beside: Mapping[str, Map] | None = None,
    initial_state: Any = None,
    dtype: str = "float64",
    device: str = "cpu",
    seed: int = 0,
) -> xr.Dataset:
    """An ERNN's trajectory and its equilibrium manifold, beside other networks driven by the same inputs.

    Parameters
    ----------
    system : Map
        An ERNN.
    inputs : array_like, shape (time, input) or (sample, time, input)
    beside : mapping of str to Map, optional
        Networks of the same sizes to be driven alike, by the name under which they are shown.
    initial_state : array_like, shape (state,) or (sample, state), optional
        Zero where it is not given.
    dtype, device : str
        Of the computation.
    seed : int
        Of the random states from which an equilibrium is sought where the search from the network's own state fails.

    Returns
    -------
    xarray.Dataset
        ``trajectory(network, sample, time, state)``, the first network being `system`. The next five are of the
        networks that are an ERNN, and NaN for others. ``pair_sum(network, sample, time, state)`` = h_k + s h_{k−1}, and
        ``equilibrium`` is z*(x_k) with the same dimensions. ``equilibrium_residual(network, sample, time)`` = ‖F(z*)‖₂,
        with the ``equilibrium_iterations`` of its search. ``distance(network, sample, time)`` = ‖h_k + s h_{k−1} −
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
    copies: dict[str, Map] = {}
    states: list[Tensor] = []
    for name, network in networks.items():
        copies[name], given, initial = simulation.prepare(network, inputs, initial_state, dtype, device)
        states.append(simulation.orbit(copies[name], copies[name].drive(given), initial))
    exact, given, _ = simulation.prepare(system, inputs, initial_state, dtype, device)
    driven = exact.drive(given)
    variables = _variables(exact, copies, torch.stack(states), driven, np.random.default_rng(seed))
    settings = {
        "initial_state": states[0][:, 0].tolist(),
        "beside": list(beside or {}),
        "inner": {
            name: [network.inner_steps, network.eta.mean().item()]
            for name, network in networks.items()
            if isinstance(network, ERNN)
        },
        "start": system.start,
        "sign": system.sign,
        "dtype": dtype,
        "device": device,
        "seed": seed,
        "config": system.json_config,
    }
    return schema.dataset(
        variables,
        system=system.name,
        source=system.source,
        settings=settings,
        verdict=_verdict,
        method=METHOD,
        coords={
            schema.NETWORK: schema.variable((schema.NETWORK,), np.array(list(networks), dtype=object), "network"),
            schema.TIME: schema.time_coordinate(np.arange(states[0].shape[1])),
        },
        flags=_flags(variables),
    )


def _variables(
    system: ERNN, networks: dict[str, Map], states: Tensor, driven: Tensor, generator: np.random.Generator
) -> dict[str, xr.Variable]:
    """All variables, from the states (network, sample, time + 1, state) and what drove them."""
    dims = (schema.NETWORK, schema.SAMPLE, schema.TIME, schema.STATE)
    sums, equilibria = torch.full_like(states, torch.nan), torch.full_like(states, torch.nan)
    residuals, iterations = (torch.full_like(states[..., 0], torch.nan) for _ in range(2))
    for i, network in enumerate(networks.values()):
        if isinstance(network, ERNN):
            sums[i, :, 1:] = states[i, :, 1:] + network.sign * states[i, :, :-1]
            equilibria[i, :, 1:], iterations[i, :, 1:] = _equilibria(network, driven, sums[i, :, 1:], generator)
            nothing = states.new_zeros(network.state_size)
            residuals[i, :, 1:] = network.inner_velocity(equilibria[i, :, 1:], nothing, driven).norm(dim=-1)
    path = _inner_path(system, states[0, :, 0], driven[:, 0])
    variables = {
        "trajectory": schema.variable(dims, _array(states), "state h"),
        "pair_sum": schema.variable(dims, _array(sums), "h_k + s h_{k−1}"),
        "equilibrium": schema.variable(dims, _array(equilibria), "equilibrium z*(x_k)"),
        "equilibrium_residual": schema.variable(dims[:-1], _array(residuals), "residual ‖F(z*)‖₂"),
        "equilibrium_iterations": schema.variable(
            dims[:-1], _array(iterations), "iterations of the search for the equilibrium"
        ),
        "distance": schema.variable(
            dims[:-1], _array((sums - equilibria).norm(dim=-1)), "distance of h_k + s h_{k−1} from z*(x_k)"
        ),
        "inner_path": schema.variable(
            (schema.SAMPLE, schema.ITERATION, schema.STATE), _array(path), "inner iterates of the first step"
        ),
    }
    if driven.shape[-1] == 1:
        values = torch.linspace(float(driven.min()), float(driven.max()), CURVE_POINTS, dtype=driven.dtype).to(driven)
        start = driven.new_zeros(CURVE_POINTS, system.state_size)
        curve, _ = _equilibria(system, values[:, None], start, generator)
        variables["curve"] = schema.variable((schema.X, schema.STATE), _array(curve), "equilibrium manifold z*(x)")
        variables[schema.X] = schema.variable((schema.X,), _array(values), "input x")
    return variables


def _equilibria(network: ERNN, driven: Tensor, starts: Tensor, generator: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Roots z* of φ(P (U z + W x + b)) = z, shape as `starts` (..., state), NaN where there is none; and iterations."""
    inputs = driven.reshape(-1, driven.shape[-1])
    nothing, shape = starts.new_zeros(network.state_size), starts.shape
    # Off the network's own state, lest a state that is nearly an equilibrium be returned as the equilibrium.
    starts = (starts + OFF * (1 + starts.abs())).reshape(-1, network.state_size)
    found = solve(
        lambda z, rows: network.inner_velocity(z, nothing, inputs[rows]),
        lambda z, rows: network.inner_jacobian(z, nothing, inputs[rows]).dense().expand(len(z), *2 * z.shape[-1:]),
        starts,
    )
    equilibria = torch.where(found.converged[:, None], found.states, torch.nan)
    lost = ~found.converged
    if lost.any():
        exact = frozen(network, torch.float64, "cpu")
        begin = starts[lost].double().cpu()
        flow = InnerFlow(exact, torch.zeros_like(begin), inputs[lost].double().cpu())
        again = inner_equilibria(flow, begin, begin, generator)
        equilibria[lost] = torch.as_tensor(again.states).to(equilibria)
        found.iterations[lost] += torch.as_tensor(again.iterations).to(found.iterations)
    return equilibria.reshape(shape), found.iterations.reshape(shape[:-1]).to(equilibria)


def _inner_path(system: ERNN, initial: Tensor, first: Tensor) -> Tensor:
    """The inner iterates of the first step plus s h_0, shape (sample, K + 1, state)."""
    g = system.inner_start(initial)
    path = [g]
    for eta in system.step_etas(0):
        g = g + eta * system.inner_velocity(g, initial, first)
        path.append(g)
    return torch.stack(path, dim=1) + system.sign * initial[:, None]


def _flags(variables: dict[str, xr.Variable]) -> dict[str, str]:
    reason = "NaN at the initial state, for a network that is no ERNN, and where no equilibrium was found"
    diverged = dict.fromkeys(("trajectory", "inner_path"), "not finite where a network's trajectory diverges")
    return {name: reason for name in NOT_EVERYWHERE if name in variables} | schema.not_finite(variables, diverged)


def _array(values: Tensor) -> np.ndarray:
    return values.double().cpu().numpy()


def _verdict(ds: xr.Dataset) -> str:
    """Sentences on the distance of each ERNN from its manifold, from a Dataset of `dynlab.ernn_manifold`."""
    settings = schema.settings(ds)
    pair = f"h_k {'+' if settings['sign'] == 1 else '−'} h_{{k−1}}"  # h_k by itself need not lie on the manifold
    sentences = []
    for name in ds["network"].values:
        one = ds.sel(network=name)
        distances = one["distance"].values[:, 1:]
        if not np.isfinite(one["pair_sum"].values[:, 1:]).any():
            continue
        found = np.isfinite(distances)
        who = _who(str(name), settings)
        if not found.any():
            sentences.append(f"{who}: no equilibrium was found at any of {found.size:,} steps.")
            continue
        steps = f"{counted(found.size, 'step')} of {counted(len(found), 'sequence')}"
        share = f" over {steps}" if found.all() else f", over the {found.sum():,} of {steps} at which z* was found"
        largest, middle = np.nanmax(distances), np.nanmedian(distances)
        size = np.nanmax(np.abs(one["pair_sum"].values))
        if largest <= ON_MANIFOLD * size:
            to = f"to {at_most(largest, 2)}" if largest else "exactly"
            sentences.append(f"{who}: {pair} = z*(x_k), on the manifold, {to}{share}.")
        else:
            away = number(largest, 2)
            if found.sum() > 1:
                lengths = np.linalg.norm(one["equilibrium"].values[:, 1:], axis=-1)
                away = f"{number(middle, 2)} in the median and at most {at_most(largest, 3)}, where the median of "
                away += f"‖z*(x_k)‖ is {number(np.nanmedian(lengths), 2)}"
            sentences.append(f"{who} is off the manifold: the distance of {pair} from z*(x_k) is {away}{share}.")
    if sentences:
        return f"{EQUILIBRIUM} {AT_END.format(pair)} {' '.join(sentences)}"
    return "No state of an ERNN is finite beyond the first one: the trajectories diverge."


def _who(name: str, settings: dict[str, Any]) -> str:
    steps, eta = settings["inner"][name]
    return f"ERNN with K = {steps}, η = {number(eta, 3)}"
