"""How a recurrent layer inside a larger model is named: the module's prefix, then ``:1`` or ``:1r``.

``encoder.rnn`` is a whole unidirectional stack as one system; ``encoder.rnn:1`` its second layer (torch counts from 0,
and so do we), ``encoder.rnn:1r`` the reverse direction of the second layer. At the root of a file or model the prefix
is empty: ``:1r``.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from dynlab.errors import UserError, unknown
from dynlab.words import counted

_PATTERN = re.compile(r"(?P<prefix>.*?)(?::(?P<index>\d{1,18})(?P<reverse>r?))?", re.DOTALL)


SHOWN = 12  # names in a sentence
ROOT = "(root)"  # how the layer is told, and may be named, whose prefix is empty


class Extent(NamedTuple):
    """How many layers a recurrent module stacks, and whether it runs in both directions."""

    layers: int
    bidirectional: bool


class Choice(NamedTuple):
    """One system inside a module: a layer, a direction of a layer, or with `number` None the whole stack."""

    prefix: str
    number: int | None
    reverse: bool

    @property
    def name(self) -> str:
        """The name that chooses this system again."""
        return self.prefix if self.number is None else f"{self.prefix}:{self.number}{'r' if self.reverse else ''}"


def system_names(prefix: str, extent: Extent) -> list[str]:
    """The names of the systems of one recurrent module: one for a stack, one for each (layer, direction) otherwise."""
    if not extent.bidirectional:
        return [prefix]
    return [f"{prefix}:{index}{direction}" for index in range(extent.layers) for direction in ("", "r")]


def choose(extents: Mapping[str, Extent], layer: str | None) -> Choice:
    """The system that `layer` names, or the only one there is.

    Parameters
    ----------
    extents : mapping of str to Extent
        Every recurrent module by its prefix; at least one.
    layer : str, optional

    Raises
    ------
    UserError
        Where there are several and `layer` is not given, or it names none of them.
    """
    names = [name for prefix, extent in extents.items() for name in system_names(prefix, extent)]
    if layer is None:
        if len(names) > 1:
            raise UserError(
                f"There are {len(names)} recurrent systems: choose one with --layer (layer=): {_list(names)}."
            )
        layer = names[0]
    if not isinstance(layer, str):
        raise UserError(f"layer= is a name, one of {_list(names)}; got {layer!r}.")
    layer = "" if layer == ROOT and layer not in names else layer
    if layer in extents and layer in names:  # a name of its own, though it ends as in ``:1``
        return Choice(layer, None, False)
    found = _PATTERN.fullmatch(layer)
    if found is None or found["prefix"] not in extents:
        listed = "dynlab inspect" if len(names) > SHOWN else ""
        raise unknown("layer", layer, [name or ROOT for name in names], listed)
    extent = extents[found["prefix"]]
    reverse = found["reverse"] == "r"
    if found["index"] is None:
        if extent.bidirectional:
            raise UserError(f"{layer!r} runs in both directions and has no joint step: choose one of {_list(names)}.")
        return Choice(found["prefix"], None, False)
    if int(found["index"]) >= extent.layers or (reverse and not extent.bidirectional):
        kind = "bidirectional" if extent.bidirectional else "unidirectional"
        raise UserError(
            f"There is no layer {layer!r}: {found['prefix'] or 'the model'} has "
            f"{counted(extent.layers, f'{kind} layer')}, counted from 0; choose from {_list(names)}."
        )
    return Choice(found["prefix"], int(found["index"]), reverse)


def _list(names: list[str]) -> str:
    shown = ", ".join(name or ROOT for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} … (`dynlab inspect` lists all {len(names):,})"
