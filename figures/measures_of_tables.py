"""What claims of the ERNN paper about accuracies, sizes and times are measured by: its own tables, and trainings."""

from typing import Any

import numpy as np

from dynlab import schema
from dynlab.training import PRESETS

from . import accuracies, data_sets, ernn_4
from .har2 import LEAST_SEEDS, STANDARD_ERRORS, compared
from .kept import trainings

TASKS = {  # the paper's names of the six data sets that it counts
    "har2": "HAR-2",
    "dsa19": "DSA-19",
    "google12": "Google-12",
    "google30": "Google-30",
    "smnist": "Pixel-MNIST",
    "yelp5": "Yelp-5",
}
BYTES = 4  # of a number
STEPS = 300  # of a sequence of PTB, each with an η of its own
CLAIMED, HALF_DIGIT = 3.5, 0.05  # times FastRNN's speed at least, as the paper rounds it


def _published(task: str, fact: str = "") -> dict[str, float]:
    """Return the accuracies of a task's rows in Table 3, or another number of them."""
    start, facts = f"ernn-{task}-", accuracies.facts()
    return {
        name.removeprefix(start): accuracies.number(facts[name][fact] if fact else one.reported)
        for name, one in PRESETS.items()
        if name.startswith(start) and "sigmoid" not in name
    }


def _of_ernn(rows: dict[str, float]) -> dict[str, float]:
    return {row: value for row, value in rows.items() if row.startswith("ernn")}


def always() -> dict[str, Any]:
    """Return where an ERNN is less accurate than FastRNN in the paper's Table 3."""
    below = [
        f"{TASKS[task]}, K = {row[-1]}, {value:.2f} < {rows['fastrnn']:.2f}"
        for task in TASKS
        for rows in [_published(task)]
        for row, value in _of_ernn(rows).items()
        if value < rows["fastrnn"]
    ]
    return {"below": len(below), "exceptions": "; ".join(below)}


def gated() -> dict[str, Any]:
    """Return on how many data sets the best ERNN is above FastGRNN in the paper's Table 3, and by how much."""
    lead = {task: max(_of_ernn(rows).values()) - rows["fastgrnn"] for task in TASKS for rows in [_published(task)]}
    ahead = [f"{TASKS[task]} by {value:.2f}" for task, value in lead.items() if value > 0]
    return {"ahead": len(ahead), "of": len(TASKS), "leads": ", ".join(ahead)}


def smaller() -> dict[str, Any]:
    """Return where an ERNN is not smaller than FastRNN and FastGRNN in the paper's Table 3."""
    larger = []
    for task, name in TASKS.items():
        rows = _published(task, "kilobytes")
        largest, least = max(_of_ernn(rows).values()), min(rows["fastrnn"], rows["fastgrnn"])
        larger += [f"{name} {largest:g} KB beside {least:g} KB"] if largest >= least else []
    return {"larger": len(larger), "exceptions": "; ".join(larger)}


def _compare(better: str, worse: str) -> dict[str, Any]:
    """Return by how much one network is above another on HAR-2 under dynlab's recipe, and the margin of error."""
    ds = compared(trainings()).sel({schema.RECIPE: "own", schema.SELECTION: "chosen"})
    ends = [ds.sel({schema.NETWORK: name}) for name in (better, worse)]
    (high, low), seeds = (float(one["accuracy"]) for one in ends), [int(one["seeds"]) for one in ends]
    errors = [float(one["accuracy_std"]) / max(count, 1) ** 0.5 for one, count in zip(ends, seeds, strict=True)]
    return {
        "missing": sum(count < LEAST_SEEDS for count in seeds),
        "lead": high - low,
        "lag": low - high,
        "margin": STANDARD_ERRORS * sum(error**2 for error in errors) ** 0.5,
        "said": f"{better} {high:.2f} ± {errors[0]:.2f} % ({seeds[0]} seeds), {worse} {low:.2f} ± {errors[1]:.2f} % "
        f"({seeds[1]} seeds; standard errors)",
    }


def inner_steps() -> dict[str, Any]:
    """Return that of K = 5 and K = 1, and how many trainings diverged under the paper's recipe."""
    recorded = trainings()
    counts = []
    for K in (1, 3, 5):
        mine = [name for name in recorded[schema.TRAINING].values if name.startswith(f"har2-published-ernn-k{K}-")]
        lost = int((recorded["diverged"].sel({schema.TRAINING: mine}) != "").sum())
        counts.append(f"{lost} of {len(mine)} with K = {K}")
    return _compare("ernn-k5", "ernn-k1") | {"lost": ", ".join(counts)}


def fewer() -> dict[str, Any]:
    """Return that of ERNN with K = 1 and the LSTM."""
    return _compare("ernn-k1", "lstm")


def published_speed_ups() -> dict[str, float]:
    """Return FastRNN's hours over those of the most accurate ERNN, of equal ones the faster, by data set."""
    found = {}
    for task, name in TASKS.items():
        hours, accuracy = _published(task, "train_time"), _published(task)
        best = max(_of_ernn(accuracy), key=lambda row: (accuracy[row], -hours[row]))
        found[name] = hours["fastrnn"] / hours[best]
    return found


def speed_ups() -> dict[str, Any]:
    """Return the paper's own speed-ups, and how long an iteration takes here."""
    published, recorded = published_speed_ups(), trainings()
    below = [f"{name} {value:.1f}" for name, value in published.items() if value < CLAIMED - HALF_DIGIT]
    hours = _published("har2", "train_time")
    per_step = {}
    for network in ("fastrnn", "ernn-k1", "ernn-k5"):
        mine = [name for name in recorded[schema.TRAINING].values if name.startswith(f"har2-own-{network}-")]
        ran = recorded.sel({schema.TRAINING: mine})
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
    """Return whether ERNN with K = 1 has the least loss after ten epochs and at the end."""
    recorded = trainings()
    found = {network: ernn_4.summary(recorded, network) for network in ernn_4.BASELINES}
    ernn = found.pop("ernn-k1")
    (early, soon), (late, end) = (min((each[i], name) for name, each in found.items()) for i in (0, 1))
    return {
        "first": (ernn[0] < early) + (ernn[1] < late),
        "order": f"ERNN with K = 1 has the {'least' if ernn[1] < late else 'no lower'} loss in the end, {ernn[1]:.3f} "
        f"beside {late:.3f} of {end}. It is {'' if ernn[0] < early else 'not '}ahead after {ernn_4.TENTH} epochs, "
        f"{ernn[0]:.3f} beside {early:.3f} of {soon}, and larger K diverge.",
        "said": ernn_4.measured(recorded),
    }


def sizes() -> dict[str, Any]:
    """Return how many rows of the paper's Table 1 are wrong."""
    made = data_sets.table_1()
    return {"wrong": sum(row[-1] == data_sets.WRONG for row in made.rows), "said": made.measured}


def ratios() -> dict[str, Any]:
    """Return how many rows of the paper's Table 2 are wrong."""
    made = data_sets.table_2()
    return {"wrong": sum(row[-1] == data_sets.WRONG for row in made.rows), "said": made.measured}


def columns() -> dict[str, Any]:
    """Return how many numbers the kilobytes of Table 6 are, beside its column of parameters."""
    facts = {name: accuracies.facts()[name] for name in accuracies.ernn_6.names}
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
