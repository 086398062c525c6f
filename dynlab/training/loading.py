"""What is looked at in a checkpoint before its run goes on from it: whose it is, and whether Lightning finds all of it.

Lightning begins anew, without a word, with what a checkpoint lacks.
"""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynlab.training.settings import Settings

if TYPE_CHECKING:
    from lightning.pytorch import Callback, Trainer

MOST_NAMED = 2  # of the options in which two runs differ
NO_STATE = {"gd", None}  # of optimizers, those that remember nothing


def check_of_run(stored: Mapping[str, Any], command: str) -> None:
    """Compare the run that a checkpoint was written of with the one that `command` is of.

    Every checkpoint of a run has its command among the facts, with all settings that decide the result.

    Raises
    ------
    ValueError
        Where they differ, by what.
    """
    theirs, ours = (_parts(one) for one in (stored["dynlab"]["training"]["command"], command))
    if theirs != ours:
        extra, lacking = (_named(one, other) for one, other in ((theirs, ours), (ours, theirs)))
        raise ValueError(f"it is of a run with {extra}, where this one has {lacking}")


def _named(parts: list[str], others: list[str]) -> str:
    """What the others lack, the first few of them."""
    found = [f"`{part}`" for part in parts if part not in others]
    return ", ".join(found[:MOST_NAMED] + ["…"] * (len(found) > MOST_NAMED)) or "no such option"


def _parts(command: str) -> list[str]:
    """The options of a command, each with its value."""
    parts: list[str] = []
    for word in shlex.split(command):
        if word.startswith("--") or not parts:
            parts.append(word)
        else:
            parts[-1] += f" {shlex.quote(word)}"
    return sorted(parts)


def check_whole(stored: Mapping[str, Any], trainer: "Trainer", settings: Settings) -> None:
    """Look for the states of the optimizer, the loops, the processes and the callbacks.

    Raises
    ------
    ValueError
        Where one is missing.
    """
    optimizers, loops, callbacks = (stored.get(name) for name in ("optimizer_states", "loops", "callbacks"))
    remembers = stored["global_step"] and not {settings.optimizer, settings.constrained_optimizer} <= NO_STATE
    if not isinstance(optimizers, list) or len(optimizers) != 1 or (remembers and not optimizers[0]["state"]):
        raise ValueError("it has no state of the optimizer")
    fit = loops.get("fit_loop") if isinstance(loops, Mapping) else None
    places = [name for name in trainer.fit_loop.state_dict() if name.endswith("progress")]
    if not isinstance(fit, Mapping) or any(name not in fit for name in places):
        raise ValueError("it does not say where in the data it was")
    needed = [one.state_key for one in trainer.callbacks if _matters(one)]  # type: ignore[attr-defined]
    if not isinstance(callbacks, Mapping) or any(not isinstance(callbacks.get(name), Mapping) for name in needed):
        raise ValueError("it lacks the rows of metrics or the best score so far")
    if len(stored["processes"]) != trainer.world_size:
        raise ValueError(f"it is of {len(stored['processes'])} processes, where this run has {trainer.world_size}")


def _matters(callback: "Callback") -> bool:
    """Whether a callback has a state on which the result or what is written of it depends."""
    from lightning.pytorch.callbacks import ModelCheckpoint

    if isinstance(callback, ModelCheckpoint):
        return callback.monitor is not None
    return bool(callback.state_dict())


def move(states: Mapping[str, Any], trainer: "Trainer") -> None:
    """Let the savers of a run that was moved or copied go on in its present folder.

    Lightning forgets the best score of one that stands in another folder, with a warning of its own.
    """
    for saver in trainer.checkpoint_callbacks:
        state, folder = states.get(saver.state_key), getattr(saver, "dirpath", None)
        if not isinstance(state, dict) or folder is None:
            continue
        state["dirpath"] = folder
        for name in ("best_model_path", "kth_best_model_path", "last_model_path"):
            if state.get(name):
                state[name] = str(Path(folder) / Path(state[name]).name)
        state["best_k_models"] = {
            str(Path(folder) / Path(path).name): score for path, score in (state.get("best_k_models") or {}).items()
        }
