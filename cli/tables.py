"""The tables below the verdicts: one row a point, mode, exponent or bound, made of a diagnostic's Dataset."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr

from dynlab import schema


def fixed_points(ds: xr.Dataset) -> pd.DataFrame:
    """Return a row for each point: of few states where it is; kind, leading eigenvalue, time constant, growth."""
    values, unit = ds["eigenvalue"].values, _unit(ds["eigenvalue"])
    leading = values.real.max(-1, initial=-np.inf) if unit == "s" else np.abs(values).max(-1, initial=0.0)
    rate = leading if unit == "s" else np.log(np.where(leading > 0, leading, np.nan))
    names = schema.settings(ds).get("state_names", [])
    return pd.DataFrame(
        {
            "point": np.arange(len(leading)),
            **dict(zip(names, ds["fixed_point_state"].values.T, strict=False)),
            "kind": np.where(ds["status"] == "fixed point", ds["kind"], ds["status"]),
            "largest Re λ (1/s)" if unit == "s" else "largest |μ|": leading,
            f"τ ({unit})": np.where(rate < 0, -1 / np.where(rate < 0, rate, -1.0), np.nan),
            "growing directions": ds["unstable_directions"].values,
            "found by starts": ds["starts"].values,
        }
    )


def modes(ds: xr.Dataset) -> pd.DataFrame:
    """Return a row for each mode of each point, slowest first."""
    value, unit = ds["eigenvalue"], _unit(ds["eigenvalue"])
    frame = ds[["kind", "fate", "time_constant", "doubling_time", "frequency"]].to_dataframe().reset_index()
    frame["kind"] = frame["kind"].astype(str)
    frame.insert(3, "Re λ (1/s)" if unit == "s" else "|μ|", (value.real if unit == "s" else abs(value)).values.ravel())
    names = {"fixed_point": "point", "time_constant": f"τ ({unit})", "doubling_time": f"doubles in ({unit})"}
    return frame.rename(columns=names | {"frequency": f"frequency (1/{unit})"})


def lyapunov(ds: xr.Dataset) -> pd.DataFrame:
    """Return a row for each exponent, averaged over the samples."""
    found = ds["exponent"] if "exponent" in ds else ds["finite_time_exponent"]
    with np.errstate(invalid="ignore"):  # of exponents −∞, whose mean is −∞ and whose deviation is not known
        mean, spread = found.mean("sample").values, found.std("sample").values
    frame = pd.DataFrame({"exponent": range(1, len(mean) + 1), f"mean ({found.attrs['units']})": mean})
    return frame.assign(**{"std over samples": spread} if ds.sizes["sample"] > 1 else {})


def eigenvalue_bounds(ds: xr.Dataset) -> pd.DataFrame:
    """Return a row for each bound: what was measured, its error, the margin, and whether the bound holds."""
    columns = ("bound", "limit", "measured", "error", "margin", "outcome", "violations", "compared")
    return pd.DataFrame({name: ds[name].values for name in columns})


def basins(ds: xr.Dataset) -> pd.DataFrame:
    """Return a row for each attractor: its kind, period, and share of the starts with its error."""
    names = {"kind": "kind", f"period ({_unit(ds['period'])})": "period", "share": "share", "± share": "share_error"}
    names |= {"share of the box": "box_share", "± box": "box_share_error"}
    columns = {title: ds[name].values for title, name in names.items()}
    return pd.DataFrame({"attractor": range(ds.sizes["attractor"])} | columns).dropna(axis="columns", how="all")


def bifurcation(ds: xr.Dataset) -> pd.DataFrame:
    """Return a row for each bifurcation in the order of the parameter: its value, kind, and what changes."""
    parameter = schema.settings(ds)["parameter"]
    names = {parameter: "parameter", f"± {parameter}": "parameter_error", "kind": "kind", "period": "period"}
    names |= {"stability": "change", "criticality": "criticality"}
    columns = {title: ds[f"bifurcation_{name}"].values for title, name in names.items()}
    found = pd.DataFrame(columns).sort_values(parameter, kind="stable")
    return found if (found["period"] > 1).any() else found.drop(columns="period")


def _unit(variable: xr.DataArray) -> str:
    """Return the unit of time of a rate or a duration."""
    return "s" if variable.attrs["units"] in (schema.PER_SECOND, "s") else "steps"


TABLES: dict[str, Callable[[xr.Dataset], pd.DataFrame]] = {
    "fixed_points": fixed_points,
    "modes": modes,
    "basins": basins,
    "bifurcation": bifurcation,
    "lyapunov": lyapunov,
    "eigenvalue_bounds": eigenvalue_bounds,
}
