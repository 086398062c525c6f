"""Sine windows: from six points of a sine wave say the next eight; each point comes in on an input line of its own.

References
----------
.. [1] "Recurrent Neural Networks – Code", a tutorial in NumPy: windows of 6 + 8 points, slid by one over a sine wave on
   68 points of [0, 4π]; its input of step t is a vector whose entry t alone is not zero.
"""

from pathlib import Path

import numpy as np

from dynlab.tasks.task import Split, Task, digest, of_few

POINTS = 68
SHOWN, ASKED = 6, 8  # the tutorial's T and output_dim
TEST_SIZE = 4
DESCRIPTION = (
    f"54 windows of a sine wave on {POINTS} points of [0, 4π]: {SHOWN} points are shown, the next {ASKED} asked for. "
    f"The point of step t comes in on input t, the other inputs are 0. The source tests on {TEST_SIZE} windows drawn "
    "without a seed: here on a fixed draw; of the other 50 it holds none out, as retrain does here. Windows overlap, "
    "so that the test asks for points that were trained on."
)


def sine(*, seed: int = 0, retrain: bool = False, data_dir: str | Path | None = None) -> Task:
    """Windows of a sine wave, to be continued.

    Parameters
    ----------
    seed : int
        Chooses the training windows held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        Not needed: the windows are computed.

    Returns
    -------
    Task
    """
    everything = windows()
    return of_few(
        everything,
        TEST_SIZE,
        seed,
        retrain,
        name="sine",
        output_size=ASKED,
        loss="mse",
        description=DESCRIPTION,
        source={"origin": "generated", "sha256": digest(everything.inputs)},
    )


def windows() -> Split:
    """Return all windows in order: position-coded inputs (54, 6, 6), the points that follow (54, 8)."""
    wave = np.sin(np.linspace(0, 4 * np.pi, POINTS)).astype(np.float32)
    slid = np.lib.stride_tricks.sliding_window_view(wave, SHOWN + ASKED)[: POINTS - SHOWN - ASKED]
    return Split(slid[:, :SHOWN, None] * np.eye(SHOWN, dtype=np.float32), slid[:, SHOWN:].copy())
