"""Log-mel features of one second of sound, as the sources have them.

References
----------
.. [1] Microsoft's EdgeML, ``examples/pytorch/SRNN/process_google.py``: 32 filters, windows of 25 ms every 10 ms.
.. [2] S. Davis, P. Mermelstein, "Comparison of Parametric Representations for Monosyllabic Word Recognition in
   Continuously Spoken Sentences", IEEE Trans. Acoust. Speech Signal Process. 28 (1980).
"""

import numpy as np

RATE = 16_000  # samples a second; sequences are a second long
FILTERS = 32
WINDOW, HOP, SPECTRUM = 400, 160, 512  # samples: 25 ms, 10 ms, and what a window is filled up to with zeros
STEPS = 1 + -(-(RATE - WINDOW) // HOP)  # the last window reaches beyond the end, where there are zeros
PREEMPHASIS = 0.97
FLOOR = 1e-10  # of a filter's power before the logarithm


def _filters() -> np.ndarray:
    """The triangles of the filters, shape (filter, place of the spectrum)."""
    mels = np.linspace(0, np.log1p(RATE / 2 / 700), FILTERS + 2)
    corners = np.floor((SPECTRUM + 1) * 700 * np.expm1(mels) / RATE)[:, None]
    low, top, high = corners[:-2], corners[1:-1], corners[2:]
    places = np.arange(SPECTRUM // 2 + 1)
    return np.clip(np.minimum((places - low) / (top - low), (high - places) / (high - top)), 0, None)


TRIANGLES = _filters()


def log_mel(samples: np.ndarray) -> np.ndarray:
    """ln(power + 1e-10) of 32 mel filters in 99 windows.

    Parameters
    ----------
    samples : ndarray, shape (time,)
        At most 16,000, in the units of 16-bit sound; zeros are put before fewer.

    Returns
    -------
    ndarray, shape (step, filter), float32

    Notes
    -----
    x_t − 0.97 x_{t−1} is cut into windows of Hamming's, whose power spectrum is abs(DFT)²/512. The filters are
    triangles from 0 to 8 kHz, equally far apart on the scale 2595 log₁₀(1 + f/700), with their corners moved down to
    whole places 513 f/16,000 of the spectrum: so are those of python_speech_features, the sources' library.
    """
    sound = np.zeros((STEPS - 1) * HOP + WINDOW)
    sound[RATE - len(samples) : RATE] = samples
    sound[1:RATE] -= PREEMPHASIS * sound[: RATE - 1]
    windows = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::HOP] * np.hamming(WINDOW)
    powers = np.abs(np.fft.rfft(windows, SPECTRUM)) ** 2 / SPECTRUM
    return np.log(powers @ TRIANGLES.T + FLOOR).astype(np.float32)
