"""Measures for the ERNN paper's claims about accuracies, sizes and times: its own tables, and trainings."""

from typing import Any

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.errors import lookup
from dynlab.training import PRESETS

from . import TABLES, accuracies, ernn_4
from .data_sets import WRONG
from .har2 import RECIPES, compared
from .scores import BYTES, LAST, LEAST_SEEDS, two_errors
from .scripts import trainings

TASKS = {  # the paper's names of the six data sets that it counts
    "har2": "HAR-2",
    "dsa19": "DSA-19",
    "google12": "Google-12",
    "google30": "Google-30",
    "smnist": "Pixel-MNIST",
    "yelp5": "Yelp-5",
}
STEPS = 300  # of a sequence of PTB, each with an η of its own
CLAIMED, HALF_DIGIT = 3.5, 0.05  # times FastRNN's speed at least, as the paper rounds it
LEAST_FASTER, MOST_FASTER = 2.95, 10.05  # the abstract's 3 to 10, as it rounds them


def _published(fact: str = "") -> dict[str, dict[str, float]]:
    """Return the accuracies of each data set's rows in Table 3, or another number of them."""
    facts = accuracies.facts()
    return {
        name: {
            preset.removeprefix(f"ernn-{task}-"): accuracies.number(facts[preset][fact] if fact else one.reported)
            for preset, one in PRESETS.items()
            if preset.startswith(f"ernn-{task}-") and "sigmoid" not in preset
        }
        for task, name in TASKS.items()
    }


def _of_ernn(rows: dict[str, float]) -> dict[str, float]:
    return {row: value for row, value in rows.items() if row.startswith("ernn")}


def always() -> dict[str, Any]:
    """Return where an ERNN is less accurate than FastRNN in the paper's Table 3."""
    below = [
        f"{name}, K = {row[-1]}, {value:.2f} < {rows['fastrnn']:.2f}"
        for name, rows in _published().items()
        for row, value in _of_ernn(rows).items()
        if value < rows["fastrnn"]
    ]
    return {"below": len(below), "exceptions": "; ".join(below)}


def gated() -> dict[str, Any]:
    """Return on how many data sets the best ERNN is above FastGRNN in the paper's Table 3, and by how much."""
    leads = {name: max(_of_ernn(rows).values()) - rows["fastgrnn"] for name, rows in _published().items()}
    ahead = [f"{name} by {lead:.2f}" for name, lead in leads.items() if lead > 0]
    return {"ahead": len(ahead), "of": len(TASKS), "leads": ", ".join(ahead)}


def smaller() -> dict[str, Any]:
    """Return where an ERNN is not smaller than FastRNN and FastGRNN in the paper's Table 3."""
    larger = []
    for name, rows in _published("kilobytes").items():
        largest, least = max(_of_ernn(rows).values()), min(rows["fastrnn"], rows["fastgrnn"])
        larger += [f"{name} {largest:g} KB beside {least:g} KB"] if largest >= least else []
    return {"larger": len(larger), "exceptions": "; ".join(larger)}


def compare(better: str, worse: str) -> dict[str, Any]:
    """Return by how much one network is above another on HAR-2 under dynlab's recipe, and the margin of error.

    Both were trained on all subjects and are scored at the last epoch, as the paper trains again on the whole split.
    """
    ds = compared(trainings()).sel({schema.RECIPE: "own", schema.SELECTION: LAST})
    ends = [ds.sel({schema.NETWORK: name}) for name in (better, worse)]
    high, low = (float(one["score"]) for one in ends)
    margin = float(sum(two_errors(one) ** 2 for one in ends)) ** 0.5
    told = [
        f"{name} {float(one['score']):.2f} ± {float(one['score_std']):.2f} % ({int(one['seeds'])} seeds, "
        f"{int(one['cell_parameters']):,} parameters)"
        for name, one in zip((better, worse), ends, strict=True)
    ]
    return {
        "missing": sum(int(one["seeds"]) < LEAST_SEEDS for one in ends),
        "lead": high - low,
        "lag": low - high,
        "margin": margin,
        "short": margin - (high - low),
        "smaller": float(ends[1]["cell_parameters"] / ends[0]["cell_parameters"]),
        "said": ", ".join(told),
    }


def _recorded(start: str) -> xr.Dataset:
    """Return the trainings whose names start so."""
    recorded = trainings()
    return recorded.sel(
        {schema.TRAINING: [name for name in recorded[schema.TRAINING].values if name.startswith(start)]}
    )


def inner_steps() -> dict[str, Any]:
    """Return that of K = 5 and K = 1, and how many trainings diverged under the paper's rate."""
    lost = {K: _recorded(f"har2-published-ernn-k{K}-")["diverged"].values != "" for K in (1, 3, 5)}
    counts = [f"{each.sum()} of {each.size} with K = {K}" for K, each in lost.items()]
    return compare("ernn-k5", "ernn-k1") | {"lost": ", ".join(counts)}


def beside_best() -> dict[str, Any]:
    """Return that of ERNN with K = 1 and the most accurate of the other networks."""
    ds = compared(trainings()).sel({schema.RECIPE: "own", schema.SELECTION: LAST})["score"].to_series()
    return compare("ernn-k1", ds.drop([name for name in ds.index if name.startswith("ernn")]).idxmax())


def gains() -> dict[str, Any]:
    """Return by how much the best ERNN is above the RNN in the paper's Table 3, and both on HAR-2 here."""
    found = {name: max(_of_ernn(rows).values()) - rows["rnn"] for name, rows in _published().items()}
    least, most = (choose(found, key=found.__getitem__) for choose in (min, max))
    here = compare("ernn-k1", "rnn")
    return {"low": found[least], "high": found[most], "least": least, "most": most, "said": here["said"]}


def costs() -> dict[str, Any]:
    """Return ERNN's times over the RNN's in the paper's Table 3: of prediction, and the inverse ones of training."""
    times = _published("test_time")
    prediction = {name: each[best] / each["rnn"] for (name, each), best in zip(times.items(), _best(), strict=True)}
    training = published_speed_ups("rnn")
    outside, outside_fast = (
        [f"{name} {value:.1f}" for name, value in found.items() if not LEAST_FASTER <= value <= MOST_FASTER]
        for found in (training, published_speed_ups())
    )
    return {
        "one": max(each["ernn-k1"] / each["rnn"] for each in times.values()),
        "best": max(prediction.values()),
        "predictions": ", ".join(f"{name} {value:.1f}" for name, value in prediction.items()),
        "outside": len(outside),
        "outside_fast": len(outside_fast),
        "exceptions": ", ".join(outside) or "none",
        "exceptions_fast": ", ".join(outside_fast) or "none",
        "low": min(training.values()),
        "high": max(training.values()),
    }


def _best() -> list[str]:
    """Return the most accurate ERNN of each data set in Table 3, of equal ones the one that trains faster."""
    both = zip(_published().values(), _published("train_time").values(), strict=True)
    return [max(_of_ernn(rows), key=lambda row: (rows[row], -hours[row])) for rows, hours in both]


def published_speed_ups(slower: str = "fastrnn") -> dict[str, float]:
    """Return another network's hours of training over those of the most accurate ERNN, by data set."""
    hours = _published("train_time")
    return {name: each[slower] / each[best] for (name, each), best in zip(hours.items(), _best(), strict=True)}


def speed_ups() -> dict[str, Any]:
    """Return the paper's own speed-ups, and how long an iteration takes here."""
    published = published_speed_ups()
    below = [f"{name} {value:.1f}" for name, value in published.items() if value < CLAIMED - HALF_DIGIT]
    hours = _published("train_time")["HAR-2"]
    per_step = {}
    for network in ("fastrnn", "ernn-k1", "ernn-k5"):
        ran = _recorded(f"har2-own-{network}-")
        ran = ran.where((ran["device"] == "cpu") & (ran["iterations"] > 0), drop=True)
        per_step[network] = float((ran["duration"] / ran["iterations"]).median())
    times = [f"{name} {time / per_step['fastrnn']:.1f}" for name, time in per_step.items() if name != "fastrnn"]
    return {
        "below": len(below),
        "of": len(TASKS),
        "exceptions": ", ".join(below),
        "most": max(published.values()),
        "slow": hours["fastrnn"] / hours["ernn-k3"],
        "times": ", ".join(times),
    }


def converges() -> dict[str, Any]:
    """Return under which recipes ERNN is ahead of the baselines after ten epochs, and at its least loss."""
    recorded, found, said = trainings(), {"early": 0, "late": 0, "recipes": len(RECIPES)}, []
    for recipe in RECIPES:
        losses = {name: ernn_4.summary(recorded, recipe, name) for name in ernn_4.LOOK}
        ernns = {name: both for name, both in losses.items() if name.startswith("ernn")}
        if recipe == "published":
            ernns = {"ernn-k1": losses["ernn-k1"]}  # the others diverge
        others = {name: both for name, both in losses.items() if not name.startswith("ernn")}
        for i, when in enumerate(("early", "late")):
            mine, best = (min(each, key=lambda name: each[name][i]) for each in (ernns, others))
            found[when] += ernns[mine][i] < others[best][i]
            said.append(f"{mine} {ernns[mine][i]:.3f}, {best} {others[best][i]:.3f}")
    lost = [diverged for K in (3, 5) for _, diverged in ernn_4.curves(recorded, "published", f"ernn-k{K}")]
    names = ("early_published", "late_published", "early_own", "late_own")
    return found | dict(zip(names, said, strict=True)) | {"lost": sum(lost), "seeds": len(lost)}


def rows(name: str) -> dict[str, Any]:
    """Return how many rows of a table are wrong, and what the table says."""
    made = lookup(TABLES, name, "table")()
    return {"wrong": sum(row[-1] == WRONG for row in made.rows), "said": made.measured}


def columns() -> dict[str, Any]:
    """Return how many numbers the kilobytes of Table 6 are, beside its column of parameters."""
    facts = {name: accuracies.facts()[name] for name in accuracies.presets_of("ernn-6")}
    numbers = {name: float(one["kilobytes"]) * 1024 / BYTES / 1e3 for name, one in facts.items()}
    factors = [numbers[name] / accuracies.number(one["parameters"]) for name, one in facts.items()]
    name = "ernn-ptb-word-ernn-k1"
    cell = PRESETS[name]
    units, rank, vectors = cell.config["state_size"], cell.config["rank"], cell.settings.embedding
    return {
        "least": min(factors),
        "middle": np.median(factors),
        "rows": len(factors),
        "kilobytes": facts[name]["kilobytes"],
        "numbers": numbers[name],
        "parameters": facts[name]["parameters"],
        "units": units,
        "rank": rank,
        "vectors": vectors,
        "counted": (units * (vectors + 1 + 2 * rank) + STEPS) / 1e3,
    }
