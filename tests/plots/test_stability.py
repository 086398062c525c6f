"""The pictures of stability show the numbers of the Dataset."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib.colors import to_hex
from pictures import outside, overlapping
from sentences import numbers_in

import dynlab as dl
from dynlab import schema
from dynlab.plots import dark, style
from dynlab.plots.critical_steps import plot_critical_steps, plot_diffusion_plane
from dynlab.plots.stability import plot_step_region
from dynlab.plots.theory_bounds import plot_theory_bounds
from dynlab.systems import create
from dynlab.wording import share


@pytest.fixture(scope="module")
def ds():
    torch.manual_seed(0)
    system = create("antisymmetric", input_size=2, state_size=4, step_size=0.3, gamma=0.1, sigma_w=2.0).double()
    return dl.stability(system, np.random.default_rng(0).normal(size=(3, 20, 2)))


@pytest.mark.parametrize("close_up", [False, True])
def test_every_eigenvalue_is_drawn_on_the_side_it_is_on(ds, close_up):
    ax = plot_step_region(ds, close_up=close_up)
    drawn = [part for part in ax.collections if part.get_label() and not part.get_label().startswith("_")]
    points = np.concatenate([part.get_offsets() for part in drawn])
    z = (ds["used_step"] * ds["eigenvalue"]).values.ravel()
    np.testing.assert_allclose(np.sort_complex(points[:, 0] + 1j * points[:, 1]), np.sort_complex(z))
    unstable = next(part for part in drawn if part.get_label().startswith("|R(ελ)| > 1"))
    assert len(unstable.get_offsets()) == int((ds["step_modulus"] > 1 + ds["step_modulus_error"]).sum())
    left, right = ax.get_xlim()
    assert left <= z.real.min()
    assert z.real.max() <= right


def test_the_median_of_the_critical_steps(ds):
    ax = plot_critical_steps(ds)
    line = next(line for line in ax.lines if line.get_label() == "critical step: sample median")
    np.testing.assert_allclose(line.get_ydata(), np.median(ds["critical_step"].values, axis=0))
    part, states = numbers_in(ax.get_title(loc="left") + ax.get_title())
    assert (part, states) == (pytest.approx(100 * float((ds["stable"] == 0).mean()), abs=0.05), 60)


def test_where_no_step_is_small_enough_the_line_of_critical_steps_has_a_gap(ds):
    critical = ds["critical_step"].copy(deep=True)
    critical[:, 4], critical[0, 7] = 0.0, 0.0  # (sample, time)
    ax = plot_critical_steps(ds.assign(critical_step=critical, used_step=-ds["used_step"]))
    lines = {line.get_label(): line for line in ax.lines}
    drawn = lines["critical step: median of the samples that have one"].get_ydata()
    expected = np.median(ds["critical_step"].values, axis=0)
    expected[4], expected[7] = np.nan, np.median(ds["critical_step"].values[1:, 7])
    np.testing.assert_allclose(drawn, expected)
    used = "size of the ε that is used; it is negative at all of the states"
    np.testing.assert_allclose(lines[used].get_ydata(), 0.3)
    plt.close("all")


def test_a_strip_shows_at_each_time_the_share_of_samples_without_a_critical_step_by_the_reason(ds):
    critical = ds["critical_step"].copy(deep=True)
    critical[:, 4], critical[0, 7], critical[1, 7] = 0.0, 0.0, np.nan  # (sample, time)
    ax = plot_critical_steps(ds.assign(critical_step=critical))
    (strip,) = ax.child_axes
    never, unknown = (part.get_data() for part in strip.patches)
    expected = np.zeros(20)
    expected[4], expected[7] = 1, 1 / 3
    np.testing.assert_allclose(never.values, expected)
    np.testing.assert_allclose((unknown.values - unknown.baseline)[[4, 7]], [0, 1 / 3])
    times = ds["time"].values
    assert ((never.edges[:-1] < times) & (times < never.edges[1:])).all()
    words = [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]
    assert words[-2:] == [
        f"strip above: no step is small enough (at {share(4 / 60)})",
        f"strip above: the critical step is not known (at {share(1 / 60)})",
    ]
    title = " ".join((ax.get_title(loc="left") + ax.get_title()).split())
    assert title.endswith(f"of 60 states; no step is small enough at {share(4 / 60)} of these 60")
    assert all(handle.get_visible() for handle in ax.get_legend().legend_handles)
    plt.close("all")


def test_where_every_state_has_a_critical_step_there_is_no_strip(ds):
    assert np.isfinite(ds["critical_step"].values).all()
    assert plot_critical_steps(ds).child_axes == []
    plt.close("all")


def test_one_sample_has_no_band_from_the_least_to_the_largest(ds):
    critical = ds["critical_step"].copy(deep=True)
    critical[1:] = 0.0
    few, many = plot_critical_steps(ds.assign(critical_step=critical)), plot_critical_steps(ds)
    assert ["least to largest sample" in ax.get_legend_handles_labels()[1] for ax in (few, many)] == [False, True]
    plt.close("all")


def test_between_gaps_bars_go_from_the_least_to_the_largest(ds):
    critical = ds["critical_step"].copy(deep=True)
    critical[0], critical[1, ::2] = 0.0, 0.0
    ax = plot_critical_steps(ds.assign(critical_step=critical))
    (bars,) = [part for part in ax.collections if part.get_label() == "least to largest sample"]
    pair = np.sort(critical.values[1:, 1::2], axis=0)
    drawn = np.array(bars.get_segments())[:, :, 1].T
    np.testing.assert_allclose(drawn, pair[:, pair[0] < pair[1]])
    plt.close("all")


def test_d1_is_defined_where_a_row_names_it():
    torch.manual_seed(0)
    system = create("ernn", input_size=2, state_size=4, length=5, rank=2, activation="relu").double()
    ds = dl.stability(system, np.zeros((2, 5, 2)))
    assert any("d₁" in str(name) for name in ds["quantity"].values)
    title = " ".join(plot_theory_bounds(ds).get_title(loc="left").split())
    assert title.endswith("Here d₁ is the rank of P U − I")
    product = system.U.matrix().detach().numpy() - np.eye(4)
    assert np.linalg.matrix_rank(product) == 2
    plt.close("all")


def test_the_plane_its_border_and_the_network(ds):
    ax = plot_diffusion_plane(ds)
    lines = {line.get_label(): line for line in ax.lines}
    border = ds["plane_critical_step"].values
    smallest = lines["smallest critical step of the states"]
    np.testing.assert_array_equal(smallest.get_xdata(), border[np.isfinite(border)])
    assert lines["the network"].get_xydata().tolist() == [[0.3, float(ds["own_diffusion"])]]
    (diamond,) = (name for name, line in lines.items() if line.get_marker() == "D")
    np.testing.assert_allclose(lines[diamond].get_xydata(), [[0.3, float(ds["needed_diffusion"])]])
    assert numbers_in(diamond.removeprefix("least γ at which this ε is stable: ")) == [
        pytest.approx(float(ds["needed_diffusion"]), rel=1e-3)
    ]
    plt.close("all")


def test_the_plane_shades_what_is_stable_at_every_state_up_to_the_critical_step_and_nothing_else(ds):
    shaded = plot_diffusion_plane(ds).collections[-1]
    assert to_hex(shaded.get_facecolor()[0]) == style.SHADED.lower()
    modulus = ds["plane_modulus"].transpose(schema.DIFFUSION, schema.STEP_SIZE).values
    places = np.stack(np.meshgrid(ds["plane_step_size"].values, ds["plane_diffusion"].values), axis=-1)
    inside = np.any([path.contains_points(places.reshape(-1, 2), radius=1e-9) for path in shaded.get_paths()], axis=0)
    away = np.abs(modulus - 1) > 1e-6  # what is on the border is on either side
    np.testing.assert_array_equal(
        inside.reshape(modulus.shape)[1:-1, 1:-1][away[1:-1, 1:-1]], (modulus < 1)[1:-1, 1:-1][away[1:-1, 1:-1]]
    )
    plt.close("all")


@pytest.mark.parametrize("theme", style.THEMES)
def test_the_bar_of_the_plane_tells_moduli_near_1_apart(ds, theme):
    figure = plot_diffusion_plane(ds).figure
    if theme == "dark":
        dark.darken(figure)
    figure.draw_without_rendering()
    drawn = [text.get_text() for text in figure.axes[1].get_yticklabels()]
    assert drawn == ["1", "1.001", "1.01", "1.1", "2"]
    plt.close("all")


def test_a_row_for_every_bound(ds):
    ax = plot_theory_bounds(ds)
    words = [text.get_text() for text in ax.texts]
    assert str(ds["quantity"].values[0]) in words
    assert any("holds" in word for word in words)


def test_numbers_and_outcomes_of_the_bounds_are_apart_however_long_they_are(ds):
    ends = {"theory_low": -0.01, "theory_high": -6.042e-13, "measured_low": -0.009719, "measured_high": -2.197e-11}
    long = ds.assign({name: xr.full_like(ds[name], value) for name, value in ends.items()})
    long["quantity"] = long["quantity"].astype(object).where(False, "Re λ of the flow, in [−γ d_max, −γ d_min]")
    figure = plot_theory_bounds(long).figure
    figure.canvas.draw()
    assert overlapping(figure) == []
    assert outside(figure) == []


def test_several_bounds_are_a_table_below_the_panels_and_one_is_in_the_caption_alone(ds):
    torch.manual_seed(0)
    several = dl.stability(create("ernn", input_size=2, state_size=4, length=5, rank=4).double(), np.zeros((2, 5, 2)))
    assert several.sizes[schema.BOUND] > 1 == ds.sizes[schema.BOUND]
    figure = dl.plot_stability(several).figure
    figure.canvas.draw()
    assert overlapping(figure) == []
    assert outside(figure) == []
    words = [text.get_text() for text in figure.axes[-1].texts]
    assert sum("measured" in each for each in words) == several.sizes[schema.BOUND]
    assert not any("measured" in text.get_text() for ax in dl.plot_stability(ds).figure.axes for text in ax.texts)
    plt.close("all")


def test_of_a_system_without_a_flow_the_bounds_alone():
    torch.manual_seed(0)
    system = create("asrnn", input_size=2, state_size=4).double()
    ds = dl.stability(system, np.zeros((2, 5, 2)))
    ax = dl.plot_stability(ds)
    assert "theory" in ax.get_title(loc="left") + ax.get_title()
    assert len(ax.figure.axes) == 1


def test_a_bound_that_is_one_number_is_as_wide_as_a_mark_and_what_meets_it_stands_in_its_middle(ds):
    both = ds.isel(bound=[0, 0]).copy(deep=True)
    for name in ("theory_low", "theory_high", "measured_low", "measured_high"):
        both[name].values[0] = -0.15
    _, ax = plt.subplots(figsize=(9, 2))
    plot_theory_bounds(both, ax=ax)
    bar, line = ax.patches[0], ax.lines[0]
    assert bar.get_width() > 0.04
    np.testing.assert_allclose(line.get_xdata(), bar.get_x() + bar.get_width() / 2)
    plt.close("all")


def test_numbers_alone_need_no_bars(ds):
    one = ds.isel(bound=[0]).copy(deep=True)
    for name in ("theory_low", "theory_high", "measured_low", "measured_high"):
        one[name] = one[name] * 0 - 0.15
    ax = plot_theory_bounds(one)
    assert len(ax.patches) == len(ax.lines) == 0
    assert any("measured −0.15" in text.get_text() for text in ax.texts)
    plt.close("all")


def test_the_title_defines_the_factor_of_the_integrator(ds):
    title = plot_step_region(ds).get_title(loc="left")
    assert "R(z) = 1 + z" in title
    plt.close("all")
