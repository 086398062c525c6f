"""Tables of published accuracies: each row is a preset, and its measurement is what the queue's trainings of it gave.

What a row reports stands with its preset (`dynlab.training.PRESETS`), the sizes and times beside it in
``published.toml``. A row that no finished training measures is "not run"; with ``core_hours`` in that file it says what
it would take here.
"""

import fnmatch
import re
from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.training import PRESETS
from dynlab.words import capital, counted

from .scores import ACCURACY, BEST, BYTES, CHOSEN, LAST, NOT_RUN, PERPLEXITY, Row, measured, with_deviations
from .scripts import Table, TableScript, table_script, told, trainings
from .training_queue import queue

FACT_NAMES = {
    "parameters": "parameters, published",
    "kilobytes": "kilobytes, published",
    "train_time": "training, published",
    "test_time": "test, published",
}
AWAY = ("dsa19", "google12", "google30", "yelp5")  # tasks whose data nobody had here
HERE = ("cell parameters, here", "training, here")
NUMBER = re.compile(r"\d+(\.\d+)?")


def presets_of(table: str) -> list[str]:
    """Return the presets that are the rows of a table: those that its patterns name, or their sources."""
    patterns = told("sources.toml")["tables"][table]["rows"]
    return [
        name
        for name, one in PRESETS.items()
        if any(fnmatch.fnmatch(each, pattern) for pattern in patterns for each in (name, one.source))
    ]


def scores_of(table: str) -> xr.Dataset:
    """Return what the trainings of a table's rows score."""
    return measured(trainings(), {name: row_of(name) for name in presets_of(table)}, _verdict)


def _table(name: str) -> Table:
    """Return a table that ``sources.toml`` describes.

    There ``rows`` are patterns of presets or of their sources, ``facts`` columns of ``published.toml``, ``remark`` what
    a reader must know, and ``held_out`` is true where the score at a chosen epoch is shown.
    """
    said, ds = told("sources.toml")["tables"][name], scores_of(name)
    selections = [CHOSEN, LAST, BEST] if said.get("held_out") else [LAST, BEST]
    beside = [FACT_NAMES[fact] for fact in said["facts"]]
    shown = ds.sel({schema.SELECTION: selections})
    return Table(
        name,
        f"{ds.attrs['verdict']} {said['remark']}",
        ["preset", "published", *selections, "seeds", "iterations", *beside, *HERE, "verdict"],
        [_cells(shown.sel({schema.NETWORK: preset}), said["facts"]) for preset in presets_of(name)],
        ["published", *selections, "iterations", *beside, *HERE],
        ds,
    )


def facts() -> Any:
    """Return what ``published.toml`` has of each preset, as texts by their names."""
    return told("published.toml")


def number(reported: str) -> float:
    """Return the number in what is reported, NaN where there is none."""
    found = NUMBER.search(str(reported).replace(",", ""))
    return float(found.group()) if found else float("nan")


def published_size(preset: str) -> float:
    """Return of how many numbers in use the published kilobytes are, NaN where none are published."""
    beside = facts().get(preset, {})
    return number(beside.get("kilobytes", "")) * 1024 / BYTES - number(beside.get("unused", "0"))


def row_of(preset: str) -> Row:
    """Return a preset's published number with the queue's trainings that measure it, on all that is not tested."""
    names = [name for name in queue() if preset.removeprefix("antisymmetricrnn-") == name.partition("-seed")[0]]
    network = preset.removeprefix("ernn-har2-").removeprefix("edgeml-har2-")
    of_har2 = [name for name in queue() if re.fullmatch(rf"har2-published-{network}-seed\d+-whole", name)]
    score = PERPLEXITY if PRESETS[preset].task == "ptb-word" else ACCURACY
    return Row(number(PRESETS[preset].reported), names or of_har2, score, published_size(preset))


def _cells(one: xr.Dataset, columns: list[str]) -> list[str]:
    preset, meaning = str(one[schema.NETWORK].values), str(one["meaning"].values)
    seeds = f"{int(one['seeds'])} of {int(one['queued'])}" if one["queued"] else "none queued"
    seeds += f", {int(one['diverged'])} diverged" if one["diverged"] else ""
    beside = facts()[preset]
    hours = f" (about {beside['core_hours']} core-hours)" if "core_hours" in beside else ""
    why = " (its data are not at hand)" if PRESETS[preset].task in AWAY else hours
    return [
        preset,
        PRESETS[preset].reported,
        *with_deviations(one),
        seeds,
        f"{int(one['iterations']):,}" if one["iterations"] else "",
        *(beside[column] for column in columns),
        f"{int(one['cell_parameters']):,}" if one["seeds"] else "",
        str(one["hours"].values),
        meaning + why * (meaning == NOT_RUN),
    ]


def _verdict(ds: xr.Dataset) -> str:
    words = ds["meaning"].values.tolist()
    said = ". ".join(f"{capital(each)}: {words.count(each)}" for each in dict.fromkeys(words))
    done, queued = int(ds["seeds"].sum() + ds["diverged"].sum()), int(ds["queued"].sum())
    finished = (
        f"Finished are {done} of {counted(queued, 'training')} for them" if queued else "No training measures them"
    )
    return f"Here are the outcomes of {counted(len(words), 'published number')}. {said}. {finished}.{_least(ds)}"


def _least(ds: xr.Dataset) -> str:
    """Return which network has the least perplexity, and where the one published as the least stands."""
    names = ds[schema.NETWORK].values.tolist()
    scores = ds["score"].sel({schema.SELECTION: CHOSEN}).values
    if not all(PRESETS[name].task == "ptb-word" for name in names) or np.isnan(scores).any():
        return ""
    best, claimed = int(scores.argmin()), int(ds["published"].values.argmin())
    row = [name.removeprefix("ernn-ptb-word-") for name in names]
    return (
        f" The least perplexity here is that of {row[best]}, {scores[best]:.2f}; {row[claimed]} has "
        f"{scores[claimed]:.2f}, number {int((scores < scores[claimed]).sum()) + 1} of {len(names)}."
    )


def _script(name: str) -> TableScript:
    return table_script(name)(lambda: _table(name))


antisymmetric_1, antisymmetric_2 = map(_script, ("antisymmetric-1", "antisymmetric-2"))
asrnn_mnist, asrnn_ptb = map(_script, ("asrnn-mnist", "asrnn-ptb"))
ernn_3, ernn_4, ernn_5, ernn_6 = map(_script, ("ernn-3", "ernn-4", "ernn-5", "ernn-6"))
