"""Every system, one family a file. The table is `SYSTEMS`."""

from typing import Any

from dynlab.arguments import bound
from dynlab.errors import UserError, lookup, out_of_memory
from dynlab.systems.autonomous import frozen
from dynlab.systems.base import Euler, Flow, Map, System, check_sizes
from dynlab.systems.function import from_function
from dynlab.systems.integrators import ExplicitMidpoint, ExponentialEuler, ImplicitMidpoint, RungeKutta4

__all__ = [
    "SYSTEMS",
    "Euler",
    "ExplicitMidpoint",
    "ExponentialEuler",
    "Flow",
    "ImplicitMidpoint",
    "Map",
    "RungeKutta4",
    "System",
    "create",
    "from_function",
    "frozen",
]

# Public name to "module:attribute": a class or a function that makes the system from sizes and settings.
SYSTEMS = {
    "rnn": "dynlab.systems.torch_layers:rnn",
    "lstm": "dynlab.systems.torch_layers:lstm",
    "gru": "dynlab.systems.torch_layers:gru",
    "vanilla": "dynlab.systems.vanilla:Vanilla",
    "feedback": "dynlab.systems.vanilla:feedback",
    "antisymmetric": "dynlab.systems.antisymmetric:antisymmetric",
    "antisymmetric-gated": "dynlab.systems.antisymmetric:antisymmetric_gated",
    "residual-gated": "dynlab.systems.antisymmetric:residual_gated",
    "fastrnn": "dynlab.systems.fastgrnn:FastRNN",
    "fastgrnn": "dynlab.systems.fastgrnn:FastGRNN",
    "ugrnn": "dynlab.systems.fastgrnn:UGRNN",
    "cornn": "dynlab.systems.cornn:CoRNN",
    "ernn": "dynlab.systems.ernn:ERNN",
    "ernn-deep": "dynlab.systems.ernn:DeepERNN",
    "ernn-exact": "dynlab.systems.ernn_exact:ExactERNN",
    "modrelu": "dynlab.systems.orthogonal_rnn:modrelu_rnn",
    "exprnn": "dynlab.systems.orthogonal_rnn:exprnn",
    "dtriv": "dynlab.systems.orthogonal_rnn:dtriv",
    "scornn": "dynlab.systems.orthogonal_rnn:scornn",
    "asrnn": "dynlab.systems.asrnn:ASRNN",
    "nnrnn": "dynlab.systems.orthogonal_rnn:NNRNN",
    "spectral": "dynlab.systems.spectral:SpectralRNN",
    "soft-orthogonal": "dynlab.systems.spectral:SoftOrthogonalRNN",
    "urnn": "dynlab.systems.urnn:urnn",
    "fc-urnn": "dynlab.systems.urnn:fc_urnn",
    "kru": "dynlab.systems.urnn:KRU",
    "linear": "dynlab.systems.textbook:Linear",
    "logistic": "dynlab.systems.textbook:logistic",
    "henon": "dynlab.systems.textbook:henon",
    "lorenz": "dynlab.systems.textbook:lorenz",
    "roessler": "dynlab.systems.textbook:roessler",
    "markus-yamabe": "dynlab.systems.textbook:MarkusYamabe",
}

MOST_UNITS = 2**31  # whose squares torch can count


def create(name: str, **config: Any) -> System:
    """A system by its public name.

    Parameters
    ----------
    name : str
        A key of `SYSTEMS`.
    **config
        The arguments of that system, such as ``input_size`` and ``state_size``.

    Returns
    -------
    System
        With `name` and the complete `config` set, from which `create` makes an equal one.

    Raises
    ------
    UserError
        For an unknown name, an argument that the system does not take or lacks, one of another kind, and sizes whose
        weights do not fit into memory.

    Examples
    --------
    >>> system = create("vanilla", input_size=1, state_size=4)
    >>> system.config["activation"]
    'tanh'
    """
    make = lookup(SYSTEMS, name, "system")
    complete = bound("system", name, make, config)
    sizes = {key: value for key, value in complete.items() if key.endswith("_size") and isinstance(value, int)}
    check_sizes(sizes.get("state_size", sizes.get("hidden_size", 1)), sizes.get("input_size", 0))
    described = ", ".join(f"{key} {value:,}" for key, value in sizes.items())
    too_much = f"There is not enough memory for the weights of {name} with {described}."
    if max(sizes.values(), default=0) > MOST_UNITS:
        raise UserError(too_much)
    try:
        system: System = make(**complete)
    except (MemoryError, RuntimeError) as error:
        if out_of_memory(error):
            raise UserError(too_much) from error
        raise
    system.name = name
    system.config = complete
    return system
