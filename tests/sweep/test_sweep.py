"""Sweeps: the store of every way to compute one is that of a serial run, whose values are known in closed form."""

import functools
import json

import numpy as np
import pytest
import xarray as xr
from sweep_cells import failing, line, refused

import dynlab as dl
from dynlab import sweep
from dynlab.cli.sweep_grid import axis
from dynlab.errors import UserError

GRID = [sweep.Axis("x", (0.5, 1, 2)), sweep.Axis("n", (1, 2, 3, 4))]
ABOUT = {"function": "line"}


def swept(compute, path, **how):
    """Carry a sweep out, or go on with it; the cells of this time, each with why it failed."""
    return list(sweep.run(compute, sweep.opened(compute, GRID, path, ABOUT), **how))


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    path = tmp_path_factory.mktemp("serial") / "line.zarr"
    assert len(swept(line, path, workers=0)) == 11  # the first cell was computed to make the store
    return path


def check_same(path, other):
    one, two = (xr.open_zarr(each, consolidated=False).load().drop_attrs(deep=False) for each in (path, other))
    xr.testing.assert_identical(one, two)


def test_values_lie_along_the_grid_with_their_coordinates_and_nothing_where_a_cell_has_less(serial):
    ds = dl.open(serial)
    np.testing.assert_array_equal(ds["square"], np.array([0.5, 1, 2])[:, None] ** 2 * np.ones(4))
    for n in (1, 2, 3, 4):
        one = ds.sel(x=2, n=n)
        assert one["kind"].values.tolist() == ["saddle"] * n + ["not there"] * (4 - n)
        np.testing.assert_array_equal(one["stable"], [*(np.arange(n) % 2 == 0), *[np.nan] * (4 - n)])
        curve = np.full((8, 2), np.nan, complex)
        curve[: 2 * n] = 2j * np.outer(np.arange(1, 2 * n + 1), [1, -1])
        np.testing.assert_array_equal(one["root"], curve)
        np.testing.assert_array_equal(one["product"], 2 * np.linspace(0, n, 3))
        own = np.linspace(0, n, 3) if n != 1 else np.full(3, np.nan)
        np.testing.assert_array_equal(one["y_of_cell"], own)
        assert json.loads(str(one["settings"].values)) == {"x": 2, "n": n}
        assert str(one["verdict"].values) == "x is 2."
    np.testing.assert_array_equal(ds["time"], np.arange(1, 9))
    np.testing.assert_array_equal(ds["y"], np.linspace(0, 1, 3))
    assert ds["root"].attrs == {"long_name": "roots", "units": "1"}
    assert (ds["done"] == 1).all()


def test_an_interrupted_sweep_goes_on_with_what_is_not_done_and_can_be_read_meanwhile(serial, tmp_path):
    path = tmp_path / "line.zarr"
    store = sweep.opened(line, GRID, path, ABOUT)
    run = sweep.run(line, store, workers=0)
    for _ in range(4):
        next(run)
    run.close()
    meanwhile = dl.open(path)
    done = meanwhile["done"].values == 1
    assert done.sum() == 5
    np.testing.assert_array_equal(np.isfinite(meanwhile["square"]), done)
    with pytest.raises(UserError, match="Another process writes to"):
        sweep.opened(line, GRID, path, ABOUT)
    del store, run
    assert len(swept(line, path, workers=0)) == 7
    assert swept(line, path, workers=0) == []
    check_same(path, serial)


def test_a_cell_that_fails_is_recorded_with_its_sentence_and_tried_again(serial, tmp_path):
    path, marker = tmp_path / "line.zarr", tmp_path / "fail"
    marker.touch()
    compute = functools.partial(failing, marker=str(marker))
    found = swept(compute, path, workers=0)
    assert [each for each in found if each[1]] == [((2, 2), "Two times three is refused.")]
    ds = dl.open(path).sel(x=2, n=3)
    assert (int(ds["done"]), str(ds["problem"].values)) == (0, "Two times three is refused.")
    assert np.isnan(ds["square"])
    assert swept(compute, path, workers=0) == [((2, 2), "Two times three is refused.")]
    marker.unlink()
    assert swept(compute, path, workers=0) == [((2, 2), "")]
    check_same(path, serial)


def test_a_sweep_whose_first_cell_fails_is_not_begun(tmp_path):
    with pytest.raises(UserError, match=r"no, not 0\.5\."):
        sweep.opened(refused, GRID, tmp_path / "line.zarr", ABOUT)
    assert [*tmp_path.iterdir()] == []


def test_a_store_of_something_else_is_left_alone(serial, tmp_path):
    for grid, about in ((GRID[:1], ABOUT), (GRID, {"function": "failing"})):
        with pytest.raises(UserError, match="begun with another"):
            sweep.opened(line, grid, serial, about)
    (tmp_path / "mine.zarr").mkdir()
    with pytest.raises(UserError, match="is not the store of a sweep"):
        sweep.opened(line, GRID, tmp_path / "mine.zarr", ABOUT)
    assert [*(tmp_path / "mine.zarr").iterdir()] == []


def test_an_axis_of_the_name_of_a_variable_gets_another(tmp_path):
    grid = [sweep.Axis("x", (1, 2)), sweep.Axis("n", (1,)), sweep.Axis("square", ("a", "b"))]
    sweep.opened(line, grid, tmp_path / "line.zarr", ABOUT)
    assert dl.open(tmp_path / "line.zarr")["done"].dims == ("x", "n", "grid_square")


@pytest.mark.parametrize(
    "text, values",
    [
        ("k=1:9:3", (1, 5, 9)),
        ("k=0:1:3", (0.0, 0.5, 1.0)),
        ("k=0.1:10:log3", (0.1, 1.0, 10.0)),
        ("--max-memory=1,2.5", (1.0, 2.5)),
        ("inputs=noise:1.0,zero", ("noise:1.0", "zero")),
    ],
)
def test_an_axis_is_what_its_text_says(text, values):
    found = axis(text).values
    assert found == pytest.approx(values) if isinstance(values[0], float) else found == values
    assert [*map(type, found)] == [*map(type, values)]
