"""Names of recurrent layers inside a larger model: the module's prefix, then ``:1`` or ``:1r``.

``encoder.rnn`` is a whole unidirectional stack as one system; ``encoder.rnn:1`` its second layer (torch counts from 0,
and so do we), ``encoder.rnn:1r`` the reverse direction of the second layer. At the root of a file or model the prefix
is empty: ``:1r``.
"""

from collections.abc import Mapping
from typing import NamedTuple

from dynlab.errors import UserError, entry
from dynlab.systems import System
from dynlab.systems.torch_layers import RecurrentModule, layer_names

SHOWN = 12  # names in a sentence
ROOT = "(root)"  # how the layer is told, and may be named, whose prefix is empty


class Choice(NamedTuple):
    """One system inside a module: a layer, a direction of a layer, or with `number` None the whole stack."""

    prefix: str
    number: int | None = None
    reverse: bool = False

    @property
    def name(self) -> str:
        """The name that chooses this system again."""
        return self.prefix if self.number is None else f"{self.prefix}:{self.number}{'r' if self.reverse else ''}"


def layers_in(prefix: str, part: System | RecurrentModule) -> list[Choice]:
    """The layers of a recurrent module, in each of its directions."""
    names = [] if isinstance(part, System) else layer_names(part)
    return [Choice(prefix, int(name.strip(":r")), name.endswith("r")) for name in names]


def system_choices(prefix: str, part: System | RecurrentModule) -> list[Choice]:
    """The systems that one recurrent module is: one where it is a stack, else one for each layer and direction."""
    return layers_in(prefix, part) if getattr(part, "bidirectional", False) else [Choice(prefix)]


def choose(parts: Mapping[str, System | RecurrentModule], layer: str | None) -> Choice:
    """The system that `layer` names, or the only one there is.

    Parameters
    ----------
    parts : mapping of str to module
        Every recurrent module by its prefix; at least one.
    layer : str, optional

    Raises
    ------
    UserError
        If there are several and `layer` is not given, or it names none of them.
    """
    choices = {each.name: each for prefix, part in parts.items() for each in system_choices(prefix, part)}
    shown = ", ".join(name or ROOT for name in list(choices)[:SHOWN])
    if len(choices) > SHOWN:
        shown += f" … (`dynlab inspect` lists all {len(choices):,})"
    if layer is None and len(choices) == 1:
        return next(iter(choices.values()))
    if layer is None:
        raise UserError(f"There are {len(choices)} recurrent systems: choose one with --layer (layer=): {shown}.")
    if layer in parts and layer not in choices:
        raise UserError(f"{layer!r} runs in both directions and has no joint step: choose one of {shown}.")
    named = {each.name: each for prefix, part in parts.items() for each in layers_in(prefix, part)} | choices
    named |= {ROOT: named[""]} if "" in named else {}
    return entry(named, str(layer), "layer", "dynlab inspect" if len(named) > SHOWN else "")
