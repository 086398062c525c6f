"""From finished training runs to an entry of the zoo: ``python benchmarks/zoo_entry.py NAME FOLDER RUN RUN …``.

The runs are pairs for each seed: one with training subjects held out, which chooses the seed, and one trained on the
whole training split, whose network is shipped. Or it is one run on the whole training split. No test score chooses
anything.
"""

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dynlab import checkpoints
from dynlab.checkpoints import Checkpoint
from dynlab.errors import UserError
from dynlab.files import write_bytes, write_text
from dynlab.training.prepare import cell_parameters
from dynlab.training.run import NETWORK_FILE

ALONE = (
    "One training on the whole training split, one seed, to its last epoch, with the settings of its source. Where "
    "the source leaves settings open, short trainings on held-out training data chose them; the test split chose "
    "nothing."
)


def zoo_entry(name: str, folder: str | Path, runs: Sequence[str | Path]) -> dict[str, Any]:
    """Copy the network of the best seed into `folder`, with a JSON file that says where it came from.

    Parameters
    ----------
    name : str
        Of the entry.
    folder : str or Path
        Such as ``dynlab/zoo``.
    runs : sequence of str or Path
        Run folders of one preset: for each seed one with held-out data and one without, or one without alone.

    Returns
    -------
    dict
        The entry: what `dynlab.zoo.entries` lists.

    Raises
    ------
    UserError
        Where the runs are neither such pairs nor one alone.
    """
    held: dict[int, Checkpoint] = {}
    retrained: dict[int, tuple[Checkpoint, Path]] = {}
    for run in runs:
        path = Path(run) / NETWORK_FILE
        read = checkpoints.read(path)
        if "validation_accuracy" in read.facts:
            held[read.facts["seed"]] = read
        else:
            retrained[read.facts["seed"]] = (read, path)
    single = not held and len(retrained) == 1
    if not single and (not held or set(held) != set(retrained)):
        raise UserError(
            f"An entry needs for each seed a run with held-out data and one without, got seeds {sorted(held)} and "
            f"{sorted(retrained)}; or one run without held-out data."
        )
    seeds = sorted(retrained)
    best = seeds[0] if single else max(seeds, key=lambda seed: held[seed].facts["validation_accuracy"])
    shipped, path = retrained[best]
    accuracies = [retrained[seed][0].facts["test_accuracy"] for seed in seeds]
    facts = shipped.facts
    entry = {
        "name": name,
        "system": shipped.system.name,
        "config": shipped.system.config,
        "task": shipped.task,
        "test_accuracy": facts["test_accuracy"],
        "test_accuracy_mean": statistics.mean(accuracies),
        "test_accuracy_std": statistics.stdev(accuracies) if len(accuracies) > 1 else None,
        "validation_accuracy": None if single else held[best].facts["validation_accuracy"],
        "cell_parameters": cell_parameters(shipped.system),
        "seeds": seeds,
        "seed": best,
        "command": facts["command"],
        "data_sha256": facts["data"]["sha256"],
        "dynlab_version": facts["versions"]["dynlab"],
        "notes": ALONE if single else _notes(held[best].facts),
        "file": f"{name}.pt",
    }
    folder = Path(folder)
    write_bytes(folder / f"{name}.pt", path.read_bytes())
    write_text(folder / f"{name}.json", json.dumps(entry, indent=1, ensure_ascii=False) + "\n")
    return entry


def _notes(held: dict[str, Any]) -> str:
    subjects = ", ".join(map(str, held.get("validation_subjects") or []))
    return (
        f"Hyper-parameters and seed chosen on held-out training subjects (of the shipped seed: {subjects}), then "
        f"retrained on the whole training split; the test split chose nothing."
    )


if __name__ == "__main__":
    made = zoo_entry(sys.argv[1], sys.argv[2], sys.argv[3:])
    sys.stdout.write(json.dumps(made, indent=1, ensure_ascii=False) + "\n")
