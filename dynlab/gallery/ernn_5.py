"""Figure 5 of the ERNN paper: the eigenvalues of φ′PU − I over HAR-2, which are said to be all negative."""

import matplotlib.pyplot as plt

from dynlab import zoo
from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.gallery.made import Made
from dynlab.plots import style
from dynlab.plots.ernn_spectrum import plot_ernn_spectrum
from dynlab.tasks import driving_inputs

NETWORKS = {"K = 1": "ernn-har2-k1", "K = 3": "ernn-har2-k3", "K = 5": "ernn-har2-k5"}


def make(fast: bool = False) -> Made:
    """One histogram for each of the zoo's ERNNs, on real sequences."""
    results = {}
    for name in NETWORKS.values():
        system = zoo.load(name)
        driving = driving_inputs(None, system, samples=4 if fast else 32)
        results[name] = ernn_spectrum(
            system, driving.inputs, times=8 if fast else 64, inputs_description=driving.description
        )
    with style.style((13.0, 4.2)) as size:
        figure, axes = plt.subplots(1, 3, figsize=size, sharey=True)
        for ax, (label, name) in zip(axes, NETWORKS.items(), strict=True):
            plot_ernn_spectrum(results[name], ax=ax)
            ax.set_title(f"trained ERNN, {label}")
            ax.label_outer()
    return Made(
        "ERNN, Figure 5: eigenvalues of the inner flow on HAR-2",
        "“All the eigenvalues are negative” (section 6.1), so that Lemma 1's matrix is non-singular and by Lemma 2 the "
        "equilibria are asymptotically stable.",
        " ".join(f"{label}: {results[name].attrs['verdict']}" for label, name in NETWORKS.items()),
        figure,
        results,
    )
