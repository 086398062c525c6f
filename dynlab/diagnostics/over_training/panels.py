"""The curves of each diagnostic over a training, for its picture and its verdict."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from dynlab import schema


class Course(NamedTuple):
    """A variable, and where in it.

    Attributes
    ----------
    variable : str
    where : mapping of str to int
        Index along dimensions that are not drawn.
    each : str
        A dimension, or a variable of words along one, of which every value has a curve of its own.
    error : str
        The variable that holds its standard error.
    modulus : bool
        Draw its modulus, as always of complex numbers.
    name : str
        Name in the legend and in words, where it is not the variable's own.
    said : str
        "median", "largest" or "smallest": what of many values the verdict follows.
    """

    variable: str
    where: Mapping[str, int] = {}
    each: str = ""
    error: str = ""
    modulus: bool = False
    name: str = ""
    said: str = "median"


class Drawing(NamedTuple):
    """The curves on one pair of axes.

    Attributes
    ----------
    curves : tuple of Course
        Drawn where the first of them is there; the others where they are.
    drawn : str
        "bands", "points" (fixed points by their stability), "kinds" (bifurcations), "parts" (of a whole).
    label : str
        Label of the vertical axis; the first curve's name where it is empty.
    border : float, optional
        A value that divides what a reader wants to tell apart, with `border_name`.
    border_units : str
        Units in which alone it does: 0 is no border of the real parts of a step's multipliers.
    log : bool
        Make the vertical axis logarithmic where values are far apart; only what is positive is drawn.
    """

    curves: tuple[Course, ...]
    drawn: str = "bands"
    label: str = ""
    border: float | None = None
    border_name: str = ""
    border_units: str = ""
    log: bool = False


LAST = {schema.TIME: -1}
SAME_SIZE: dict[str, Any] = {"border": 0.0, "border_name": "neither grows nor shrinks"}
MEETING: dict[str, Any] = {"border": 0.0, "border_name": "orbits meet below 0"}
# By the variable that tells the diagnostic, the first of these that there is.
PANELS: dict[str, tuple[Drawing, ...]] = {
    "transient_growth": (
        Drawing(
            (Course("transient_growth"), Course("kreiss_constant")),
            label="factor of growth",
            border=1.0,
            border_name="nothing grows",
            log=True,
        ),
        Drawing(
            (Course("spectral_radius"), Course("numerical_radius")),
            label="modulus",
            border=1.0,
            border_name="border of stability",
        ),
        Drawing(
            (Course("spectral_abscissa"), Course("numerical_abscissa")),
            label="real part",
            border=0.0,
            border_name="border of stability",
        ),
    ),
    "basin_entropy": (
        Drawing(
            (
                Course("share", each="attractor_class"),
                Course("leaving_share"),
                Course("undecided_share"),
            ),
            "parts",
            label="share of the starts",
        ),
        Drawing(
            (Course("basin_entropy"), Course("boundary_basin_entropy", name="basin entropy on borders")),
            label="entropy (nat)",
            border=float(np.log(2)),
            border_name="ln 2: smooth borders keep below it",
        ),
    ),
    "time_constant": (
        Drawing(
            (
                Course("time_constant", name="time constant of what decays", said="largest"),
                Course("doubling_time", name="doubling time of what grows", said="smallest"),
            ),
            label="time constant, or doubling time",
            log=True,
        ),
        Drawing((Course("frequency", modulus=True, name="frequency |arg μ|/2π", said="largest"),)),
    ),
    "participation_ratio": (
        Drawing((Course("participation_ratio", error="participation_ratio_error"),)),
        Drawing((Course("explained_variance", each=schema.MODE),), "parts"),
    ),
    "drift": (
        Drawing((Course("drift", LAST, each=schema.INTEGRATOR, modulus=True),), log=True),
        Drawing((Course("dissipation"),), border=0.0, border_name="conserved"),
    ),
    "lyapunov_residual": (
        Drawing((Course("semi_axis"),), log=True),
        Drawing(
            (Course("rate", name="proved at most"), Course("sampled_rate", name="largest in samples")),
            label="factor of √V in a step",
        ),
    ),
    "norm_bound": (
        Drawing(
            (
                Course("norm_bound", name="proved bound on a common norm"),
                Course("sampled_norm", name="sampled values of that norm", said="largest"),
                Course("sampled_spectral_radius", name="sampled spectral radii", said="largest"),
            ),
            label="modulus or norm of the step's Jacobian",
            border=1.0,
            border_name="contracts below 1",
        ),
        Drawing(
            (
                Course("abscissa_bound", name="proved bound on the real part"),
                Course("sampled_logarithmic_norm", name="sampled logarithmic norms", said="largest"),
                Course("sampled_abscissa", name="sampled spectral abscissas", said="largest"),
            ),
            label="real part",
            border=0.0,
            border_name="decays below 0",
            border_units=schema.PER_SECOND,
        ),
    ),
    "bifurcation_parameter": (Drawing((Course("bifurcation_parameter", said="smallest"),), "kinds"),),
    "log_norm": (
        Drawing((Course("log_norm", {schema.TIME: 1}),), **SAME_SIZE),  # ‖∂h_T/∂h_1‖: what h_0 does is the start's
        Drawing((Course("log_loss_gradient", {schema.TIME: 1}),)),
    ),
    "log_singular_value": (
        Drawing(
            (
                Course(
                    "log_singular_value",
                    LAST | {schema.MODE: 0},
                    name="ln σ₁, the largest singular value of ∂h_T/∂h_0",
                ),
            ),
            **SAME_SIZE,
        ),
    ),
    "spectral_radius": (Drawing((Course("spectral_radius"),), border=1.0, border_name="modulus 1"),),
    "finite_time_exponent": (Drawing((Course("finite_time_exponent", {schema.MODE: 0}),), **MEETING),),
    "exponent": (Drawing((Course("exponent", {schema.MODE: 0}),), **MEETING),),
    "predicted_rate": (
        Drawing(
            (Course("rate", name="measured rate"), Course("predicted_rate", name="predicted rate")),
            label="rate per iteration",
            border=1.0,
            border_name="approaches below 1",
        ),
    ),
    "critical_step": (Drawing((Course("critical_step"), Course("used_step")), label="step size ε", log=True),),
    "fixed_point_state": (Drawing((Course("eigenvalue", {schema.MODE: 0}),), "points"),),
    "eigenvalue": (Drawing((Course("eigenvalue", {schema.MODE: 0}),)),),
}


def panels_of(ds: xr.Dataset) -> list[Drawing]:
    """Return the first panels that the result has variables for, else its first variable."""
    candidates = [_there(panels, ds) for key, panels in PANELS.items() if key in ds]
    first = next(iter(map(str, ds.data_vars)))
    return next(filter(None, candidates), [Drawing((Course(first),))])


def _there(panels: Sequence[Drawing], ds: xr.Dataset) -> list[Drawing]:
    return [
        panel._replace(curves=tuple(curve for curve in panel.curves if curve.variable in ds))
        for panel in panels
        if panel.curves[0].variable in ds
    ]


def chosen(ds: xr.Dataset, curve: Course) -> xr.DataArray:
    """Return the part of the variable that the curve takes."""
    return ds[curve.variable].isel(dict(curve.where))


def name_of(array: xr.DataArray, curve: Course) -> str:
    """Return the curve's name, with the time at which it is taken in the place of every t."""
    if curve.name:
        return curve.name
    name = str(array.attrs["long_name"])
    time = {1: "h_1", -1: "h_T"}.get(curve.where.get(schema.TIME, 0), "h_t")
    name = name.replace("h_t", time).replace("_i", "_1" if schema.MODE in curve.where else "_i")
    return ("modulus of the " if array.dtype.kind == "c" else "") + name


def described(panel: Drawing, ds: xr.Dataset) -> dict[str, Any]:
    """Return the panel as a picture reads it, in what JSON has."""
    curves = [
        {
            "variable": curve.variable,
            "isel": dict(curve.where),
            "name": name_of(chosen(ds, curve), curve),
            "each": curve.each,
            "error": curve.error,
            "modulus": curve.modulus,
        }
        for curve in panel.curves
    ]
    units = ds[panel.curves[0].variable].attrs["units"]
    return panel._asdict() | {"curves": curves, "border": panel.border if panel.border_units in ("", units) else None}
