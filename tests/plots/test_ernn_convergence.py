"""The picture of convergence: its lines are the Dataset's distances, its dashed line has the predicted slope."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_hex

from dynlab.diagnostics.ernn.convergence import ernn_convergence
from dynlab.errors import UserError
from dynlab.plots import style
from dynlab.plots.ernn_convergence import NEAR, PREDICTED, plot_ernn_convergence
from dynlab.systems import create


def measured(activation, seed=0, **settings):
    torch.manual_seed(seed)
    system = create("ernn", input_size=1, state_size=6, length=8, activation=activation, **settings)
    return ernn_convergence(
        system, np.random.default_rng(0).standard_normal((1, 8, 1)), eta=0.5, iterations=30, times=2
    )


def test_lines_are_distances_and_the_dashed_one_is_the_prediction():
    ds = measured("tanh", rank=None)
    assert (ds["outcome"].values == "converges").all()
    ax = plot_ernn_convergence(ds)
    *drawn, prediction = ax.lines
    np.testing.assert_array_equal([line.get_ydata() for line in drawn], ds["distance"].values[0])
    slope = np.diff(np.log(prediction.get_ydata()))
    np.testing.assert_allclose(slope, np.log(np.median(ds["predicted_rate"].values)), rtol=1e-9)
    assert ax.get_yscale() == "log"
    assert ax.get_xlabel() == ds["iteration"].attrs["long_name"]
    assert ax.get_ylabel() == ds["distance"].attrs["long_name"]
    assert "2 steps: converges" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_without_equilibrium_the_speed_is_drawn_and_named():
    ds = measured("relu", seed=2, rank=2)
    assert (ds["outcome"].values == "no equilibrium to converge to").all()
    ax = plot_ernn_convergence(ds)
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], ds["speed"].values[0])
    assert ax.get_ylabel() == ds["speed"].attrs["long_name"]
    assert "no equilibrium was found" in ax.get_legend().get_texts()[0].get_text()


def test_where_the_iteration_stays_at_the_equilibrium_a_line_at_one_rounding_is_drawn():
    torch.manual_seed(0)
    system = create("ernn", input_size=1, state_size=2, length=8, activation="tanh", rank=None)
    with torch.no_grad():
        system.b.zero_()
    ds = ernn_convergence(system, np.zeros((1, 8, 1)), eta=0.5, iterations=30, times=8)
    assert (ds["outcome"].values == "stays at the equilibrium").all()
    (line,) = plot_ernn_convergence(ds).lines
    assert (line.get_ydata() == 2.0**-52).all()


def test_of_many_steps_the_median_of_each_outcome_is_drawn():
    torch.manual_seed(0)
    system = create("ernn", input_size=1, state_size=6, length=8, activation="tanh", rank=None)
    ds = ernn_convergence(system, np.random.default_rng(0).standard_normal((3, 8, 1)), eta=0.5, iterations=30, times=3)
    chosen = ds["outcome"].values.ravel() == "converges"
    assert chosen.sum() > 3
    label = f"{chosen.sum()} steps: converges"
    (median,) = [line for line in plot_ernn_convergence(ds).lines if str(line.get_label()).startswith(label)]
    distances = ds["distance"].values.reshape(9, -1)[chosen]
    assert (distances > 1e-17).all()
    np.testing.assert_allclose(median.get_ydata(), np.median(distances, axis=0))


def test_it_draws_where_it_is_told_to_and_needs_its_variables():
    _, ax = plt.subplots()
    ds = measured("tanh", rank=None)
    assert plot_ernn_convergence(ds, ax=ax, lw=3.0) is ax
    assert ax.lines[0].get_linewidth() == 3
    with pytest.raises(UserError, match="speed"):
        plot_ernn_convergence(ds.drop_vars("speed"), ax=ax)


def test_every_outcome_has_a_panel_on_one_scale():
    ds = measured("tanh", rank=None)
    ds["outcome"].values[0, 0] = "does not converge"
    figure = plot_ernn_convergence(ds).figure
    one, other = figure.axes
    titles = [" ".join(ax.get_title(loc="left").split()) for ax in figure.axes]
    assert titles == [
        "1 of 2 steps: converges",
        "1 of 2 steps: the equilibrium repels, though all end nearer",
    ]
    np.testing.assert_array_equal(one.lines[0].get_ydata(), ds["distance"].values[0, 1])
    np.testing.assert_array_equal(other.lines[0].get_ydata(), ds["distance"].values[0, 0])
    assert one.get_ylim() == other.get_ylim()
    assert figure.legends[0].get_texts()[0].get_text() == "one step"


@pytest.mark.parametrize(
    "ends, said",
    [
        ([0.5, 0.5], "the equilibrium repels, though all end nearer"),
        ([0.5, 2.0], "the equilibrium repels, though 1 end nearer"),
        ([2.0, 2.0], "the equilibrium repels"),
        ([2.0, np.inf], "the equilibrium repels, or overflow"),
    ],
)
def test_the_title_says_how_many_end_nearer_to_an_equilibrium_that_repels(ends, said):
    torch.manual_seed(0)
    system = create("ernn", input_size=1, state_size=6, length=8, activation="tanh", rank=None)
    inputs = np.random.default_rng(0).standard_normal((1, 8, 1))
    ds = ernn_convergence(system, inputs, eta=0.5, iterations=30, times=3)
    ds["outcome"].values[0, :2] = "does not converge"
    ds["distance"].values[0, :2, 0], ds["distance"].values[0, :2, -1] = 1.0, ends
    titles = [" ".join(ax.get_title(loc="left").split()) for ax in plot_ernn_convergence(ds).figure.axes]
    assert f"2 of 3 steps: {said}" in titles
    plt.close("all")


def test_the_title_names_the_letters_of_the_iterates_and_the_equilibrium():
    figure = plot_ernn_convergence(measured("tanh", rank=None)).figure
    title = " ".join(figure.texts[0].get_text().split())
    assert title.startswith("Inner iterates g⁽ⁱ⁾ and equilibrium g*")
    plt.close("all")


def test_the_speed_where_no_equilibrium_was_found_has_a_scale_and_a_label_of_its_own():
    ds = measured("tanh", rank=None)
    ds["outcome"].values[0, 0] = "no equilibrium to converge to"
    distance, speed = plot_ernn_convergence(ds).figure.axes
    title = " ".join(speed.get_title(loc="left").split())
    assert title == "1 of 2 steps: no equilibrium found: the speed ‖F‖₂"
    np.testing.assert_array_equal(speed.lines[0].get_ydata(), ds["speed"].values[0, 0])
    assert (distance.get_ylabel(), speed.get_ylabel()) == tuple(
        ds[each].attrs["long_name"] for each in ("distance", "speed")
    )
    assert distance.get_ylim() != speed.get_ylim()
    plt.close("all")


@pytest.mark.parametrize("settled, begins", [(1, PREDICTED), (0, NEAR)])
def test_a_rate_that_nothing_is_compared_with_is_said_to_be_that_near_the_equilibrium(settled, begins):
    ds = measured("tanh", rank=None)
    ds["settled"].values[:] = settled
    *_, line = plot_ernn_convergence(ds).lines
    rate = np.median(ds["predicted_rate"].values)
    assert line.get_label() == f"{begins}: {rate:.4f} per iteration (median)"
    assert to_hex(line.get_color()) == (style.BLACK if settled else style.GREY.lower())
    np.testing.assert_allclose(np.diff(np.log(line.get_ydata())), np.log(rate), rtol=1e-9)
    plt.close("all")
