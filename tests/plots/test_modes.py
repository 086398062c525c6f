"""The picture of modes: its markers stand at frequency and time constant, its tables hold drives and read-outs."""

import matplotlib.pyplot as plt
import numpy as np

from dynlab.diagnostics.modes import modes
from dynlab.plots.modes import plot_modes
from dynlab.systems import from_function
from dynlab.systems.textbook import LinearMap

MATRIX = np.array([[1.2, 0.3, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0], [0.0, 0.0, 0.5, -0.5], [0.0, 0.0, 0.5, 0.5]])


def test_markers_stand_at_frequency_and_time_constant():
    ds = modes(LinearMap(MATRIX.tolist()))
    _, ax = plt.subplots()
    assert plot_modes(ds, ax=ax) is ax
    drawn = np.concatenate([each.get_offsets().data for each in ax.collections])
    pair = -1 / np.log(np.sqrt(0.5))
    expected = [[0, np.log(2) / np.log(1.2)], [0, -1 / np.log(0.8)], [0.125, pair]]  # of the complex pair one
    np.testing.assert_allclose(sorted(map(tuple, drawn)), sorted(map(tuple, expected)), atol=1e-12)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["point 0: decays (time constant)", "point 0: grows (doubling time)"]
    plt.close("all")


def test_the_tables_hold_drives_and_read_outs():
    M = MATRIX[:2, :2]
    ds = modes(from_function(lambda h, x: h @ h.new_tensor(M).T + x, 2, 2), readout=lambda h: 3 * h[..., :1])
    _, drive, read = plot_modes(ds).figure.axes
    shares = [float(text.get_text()) for text in drive.texts]
    np.testing.assert_allclose(shares, 100 * ds["input_share"].values[0].ravel(), atol=0.51)
    outputs = ds["output_read"].values[0].ravel()
    np.testing.assert_allclose([float(text.get_text()) for text in read.texts], outputs, rtol=0.051)
    assert [text.get_text() for text in drive.get_yticklabels()] == ["doubles in 3.8 steps", "τ 4.48 steps"]
    plt.close("all")
