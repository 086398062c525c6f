"""``python -m dynlab.training.queue``, which the Makefile calls: nothing, or pause, status, time, results FILE."""

import sys

from dynlab import io
from dynlab.errors import UserError
from dynlab.training.queue.folder import home, pause, running
from dynlab.training.queue.kept import take_over
from dynlab.training.queue.results import results
from dynlab.training.queue.status import overview, time_all
from dynlab.training.queue.table import QUEUE
from dynlab.training.queue.work import work


def say(line: str) -> None:
    """Write the line to standard output at once, where a log that is followed shows it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Do what the words ask; the number that the process ends with."""
    folder = home()
    try:
        if words not in ([], ["pause"], ["status"], ["time"]) and (words[:1] != ["results"] or len(words) != 2):
            raise UserError(
                f"The queue is asked to `pause`, to `time`, for its `status` or `results FILE`, got {words}."
            )
        if words == ["pause"]:
            process = pause(folder)
            say("The queue is not running." if process is None else f"The queue is paused; it was process {process}.")
        take_over(QUEUE, folder)
        if words in (["status"], ["pause"]):
            process = running(folder)
            say(
                f"The queue in {folder} is " + ("not running." if process is None else f"running in process {process}.")
            )
            for line in overview(QUEUE, folder):
                say(line)
        elif words == ["time"]:
            time_all(QUEUE, folder, say=say)
        elif words:
            kept = io.save(results(QUEUE, folder), words[1], overwrite=True)
            say(f"{kept}: {io.open(kept).attrs['verdict']}")
        else:
            work(QUEUE, folder, say=say)
    except KeyboardInterrupt:
        say("The queue is paused; `make queue` goes on.")
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
