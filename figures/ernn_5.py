"""Figure 5 of the ERNN paper: the eigenvalues of φ′PU − I over HAR-2, which are said to be all negative."""

import numpy as np
import xarray as xr

from dynlab import schema
from dynlab.diagnostics.ernn.spectrum import ernn_spectrum
from dynlab.plots.ernn_spectrum import plot_ernn_spectrum
from dynlab.words import percent

from .scripts import Drawn, Panels, Results, script, trained

NETWORKS = {"k1": "ernn-har2-k1", "k3": "ernn-har2-k3", "k5": "ernn-har2-k5"}
SAMPLES, TIMES, FEW = 32, 16, 2  # sequences, and states of each
RANGE = -2.5, 1.0  # of the axis, the same for all networks


def compute(fast: bool) -> Results:
    """The spectra of each of the zoo's ERNNs along the sequences that ship with dynlab."""
    return {key: _spectra(name, FEW if fast else TIMES) for key, name in NETWORKS.items()}


def _spectra(name: str, times: int) -> xr.Dataset:
    """Their real parts, rounded to single precision: the nearest to 0 are 1e-5, and the errors 1e-7 at most."""
    system, driving = trained(name, SAMPLES)
    ds = ernn_spectrum(system, driving.inputs, times=times)
    real, error = (ds[f"inner_eigenvalue{part}"].real.astype(np.float32) for part in ("", "_error"))
    return ds.assign(inner_eigenvalue=real, inner_eigenvalue_error=error)


def shares(results: Results) -> dict[str, dict[str, float]]:
    """Return for each K the shares of real parts below 0, 0 and above, and of singular ∇F, and the largest part."""
    found = {}
    for key, ds in results.items():
        real, error = ds["inner_eigenvalue"].values, ds["inner_eigenvalue_error"].values
        sides = {
            "below": real < -error,
            "zero": abs(real) <= error,
            "above": real > error,
            "singular": ds["inner_rank"].values < real.shape[-1],
        }
        found[key[1:]] = {name: float(side.mean()) for name, side in sides.items()} | {"largest": float(real.max())}
    return found


@script("ernn-5", (13.0, 5.6), compute, ncols=3, sharex=True, sharey=True)
def figure(results: Results, axes: Panels) -> Drawn:
    """Draw one histogram for each network."""
    for ax, (key, ds) in zip(axes, results.items(), strict=True):
        plot_ernn_spectrum(ds, ax=ax)
        ax.set(title=f"trained ERNN, K = {key[1:]}", xlabel="real part (1/s)", xlim=RANGE)
        ax.label_outer()
    said = [
        f"K = {K}: singular at {percent(found['singular'], 1)} of the states; of the eigenvalues' real parts "
        f"{percent(found['below'], 1)} are below 0, {percent(found['zero'], 1)} are 0 and "
        f"{percent(found['above'], 1)} above 0, up to {found['largest']:.3f} per second."
        for K, found in shares(results).items()
    ]
    steps = results["k1"].sizes[schema.TIME]
    return Drawn(
        f"∇F = diag(φ′)PU − I of each trained ERNN, where F is its inner flow, at {steps} evenly spaced steps of the "
        f"{SAMPLES} test sequences of HAR-2 that ship with dynlab. {' '.join(said)}",
    )
