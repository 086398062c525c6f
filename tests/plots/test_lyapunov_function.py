"""The picture of what has no Lyapunov function: the eigenvalues that forbid it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dynlab.diagnostics.lyapunov_function import lyapunov_function
from dynlab.plots.lyapunov_function import plot_lyapunov_function
from dynlab.systems.textbook import LinearMap

pytest.importorskip("flint")


def test_the_eigenvalues_of_what_is_not_stable_are_drawn():
    ax = plot_lyapunov_function(lyapunov_function(LinearMap([[1.25, 0.0], [0.0, 0.5]]), starts=4))
    (markers,) = ax.collections
    np.testing.assert_allclose(sorted(markers.get_offsets()[:, 0]), [0.5, 1.25])
    assert ax.get_title(loc="left") == "Largest |μ|: 1.25; a stable point's is below 1"
    assert ax.figure.texts[0].get_text().startswith("No Lyapunov function: the linear map")
    plt.close("all")
