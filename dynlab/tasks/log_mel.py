"""Log-mel features of one second of sound, as the sources have them, computed by kaldi-native-fbank.

References
----------
.. [1] Microsoft's EdgeML, ``examples/pytorch/SRNN/process_google.py``: 32 filters, windows of 25 ms every 10 ms.
.. [2] S. Davis, P. Mermelstein, "Comparison of Parametric Representations for Monosyllabic Word Recognition in
   Continuously Spoken Sentences", IEEE Trans. Acoust. Speech Signal Process. 28 (1980).
"""

from functools import cache
from typing import Any

import numpy as np

from dynlab.errors import require_extra

RATE = 16_000  # samples a second; sequences are a second long
FILTERS = 32
WINDOW, HOP, SPECTRUM = 400, 160, 512  # samples: 25 ms, 10 ms, and what a window is filled up to with zeros
STEPS = 1 + -(-(RATE - WINDOW) // HOP)  # the last window reaches beyond the end, where there are zeros
PREEMPHASIS = 0.97
FLOOR = 1e-10  # of a filter's power before the logarithm


def log_mel(samples: np.ndarray) -> np.ndarray:
    """ln(power + 1e-10) of 32 mel filters in 99 windows.

    Parameters
    ----------
    samples : ndarray, shape (time,)
        At most 16,000, in the units of 16-bit sound; zeros are put before fewer.

    Returns
    -------
    ndarray, shape (step, filter), float32

    Raises
    ------
    UserError
        Without kaldi-native-fbank.

    Notes
    -----
    x_t − 0.97 x_{t−1} is cut into windows of Hamming's, whose power spectrum is abs(DFT)²/512. The filters are
    triangles from 0 to 8 kHz, equally far apart on the scale 2595 log₁₀(1 + f/700), with their corners moved down to
    whole places 513 f/16,000 of the spectrum: so are those of python_speech_features, the sources' library, whose
    features these are up to single precision.
    """
    sound = np.zeros((STEPS - 1) * HOP + WINDOW, np.float32)
    sound[RATE - len(samples) : RATE] = samples
    sound[1:RATE] -= np.float32(PREEMPHASIS) * sound[: RATE - 1]
    bank = require_extra("kaldi_native_fbank", "speech").OnlineFbank(_options())
    bank.accept_waveform(RATE, sound.tolist())
    powers = np.stack([bank.get_frame(step) for step in range(STEPS)])
    return np.log(powers / SPECTRUM + FLOOR, dtype=np.float32)


@cache
def _options() -> Any:
    """The library's, whose names for the source's filters are librosa's with floored corners."""
    options = require_extra("kaldi_native_fbank", "speech").FbankOptions()
    frames, filters = options.frame_opts, options.mel_opts
    frames.samp_freq, frames.frame_length_ms, frames.frame_shift_ms = RATE, 1000 * WINDOW / RATE, 1000 * HOP / RATE
    frames.window_type, frames.dither, frames.remove_dc_offset = "hamming", 0, False
    frames.preemph_coeff = 0  # the library's looks within a window alone
    filters.num_bins, filters.low_freq, filters.high_freq = FILTERS, 0, RATE / 2
    filters.is_librosa, filters.norm = True, ""
    filters.use_slaney_mel_scale, filters.floor_to_int_bin = False, True
    options.use_log_fbank = False
    return options
