"""The optimizers by name, and two of them side by side: one for most parameters, one for constrained ones."""

from collections.abc import Callable
from typing import Any, cast

import torch

# Public name to torch's class and what is given to it beside the learning rate and weight decay.
OPTIMIZERS: dict[str, tuple[str, dict[str, object]]] = {
    "adam": ("Adam", {}),
    "adamw": ("AdamW", {}),
    "sgd": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "gd": ("SGD", {}),
    "rmsprop": ("RMSprop", {}),
    "adagrad": ("Adagrad", {}),
}


def optimizer_named(name: str, groups: list[dict[str, Any]], alpha: float) -> torch.optim.Optimizer:
    """The optimizer of that name; each group has its own ``lr`` and ``weight_decay``, `alpha` is ``rmsprop``'s."""
    kind, extra = OPTIMIZERS[name]
    if name == "rmsprop":
        extra = extra | {"alpha": alpha}
    return cast(torch.optim.Optimizer, getattr(torch.optim, kind)(groups, **extra))


class SideBySide(torch.optim.Optimizer):
    """Several optimizers as one, whose groups and states are theirs: each steps along its own.

    To schedules, clipping and checkpoints it is one optimizer with all groups.

    Parameters
    ----------
    parts : Optimizer
        Optimizers of different parameters.
    """

    def __init__(self, *parts: torch.optim.Optimizer) -> None:
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})
        for part in parts:
            self.state.update(part.state)  # some have one before the first step
        self._share()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        first, *others = self.parts
        loss = first.step(closure)  # which gives all their gradients, before any of them steps
        for part in others:
            part.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)  # which puts new groups and a new state in the place of the old ones
        self._share()

    def _share(self) -> None:
        """Give each part its groups and the one state, in which each finds its own parameters."""
        groups = iter(self.param_groups)
        for part in self.parts:
            part.param_groups = [next(groups) for _ in part.param_groups]
            part.state = self.state
