"""Stores that lost or changed what a sweep wrote: it is computed again, or the store is refused and left as it is."""

import errno
import fcntl
import json
import os
import shutil

import numpy as np
import pytest
import xarray as xr
import zarr
from sweep_cells import line

import dynlab as dl
from dynlab import sweep
from dynlab.errors import UserError
from dynlab.sweep import arrays, comparing, digests, engine

GRID = [sweep.Axis("x", (0.5, 1, 2)), sweep.Axis("n", (1, 2, 3, 4))]
ABOUT = {"function": "line"}
FAR = 10**9


def swept(path):
    """Go on with a sweep; its store and how many cells were computed this time."""
    opened, trial = sweep.opened(line, GRID, path, ABOUT)
    found = [] if trial is None else [*trial.outcomes, *sweep.run(line, opened, trial, workers=0)]
    assert [each.problem for each in found] == [""] * len(found)
    return opened, len(found)


def contents(path):
    return {each: each.read_bytes() for each in path.rglob("*") if each.is_file() and not each.is_symlink()}


def check_same(path, other):
    one, two = (xr.open_zarr(each, consolidated=False).load() for each in (path, other))
    for ds in (one, two):
        del ds.attrs["created"]
    xr.testing.assert_identical(one, two)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "line.zarr"
    swept(path)
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "line.zarr")


def remove(name):
    return lambda path: shutil.rmtree(path / name)


def remove_chunks(name):
    return lambda path: [each.unlink() for each in (path / name / "c").rglob("*") if each.is_file()]


def overwrite_chunks(name, content):
    return lambda path: [each.write_bytes(content) for each in (path / name / "c").rglob("*") if each.is_file()]


def assign(name, place, value):
    def damage(path):
        zarr.open_group(path, mode="r+")[name][place] = value

    return damage


def describe(name, **changes):
    """Change what an array's or, where `name` is empty, the store's own description says."""

    def damage(path):
        file = path / name / "zarr.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changes))

    return damage


def say(**changes):
    """Change what the attribute of the sweep says."""

    def damage(path):
        attributes = json.loads((path / "zarr.json").read_text())["attributes"]
        told = json.loads(attributes["sweep"]) | changes
        told = {key: value for key, value in told.items() if value is not None}
        describe("", attributes=attributes | {"sweep": json.dumps(told)})(path)

    return damage


def without_version(path):
    attributes = json.loads((path / "zarr.json").read_text())["attributes"]
    del attributes["dynlab_version"]
    describe("", attributes=attributes)(path)


def write(name, content):
    return lambda path: (path / name).write_bytes(content)


@pytest.mark.parametrize(
    "damage, lost",
    [
        (remove("square"), 12),
        (remove("verdict"), 12),
        (remove_chunks("kind"), 12),
        (lambda path: (path / "root" / "zarr.json").unlink(), 12),
        (assign("square", (1, 2), 99.0), 1),
        (assign("square", (1, 2), np.nan), 1),
        (assign("stable", (0, 0, 3), 1.0), 1),  # where the cell has no value
        (assign("root", (slice(None), 3, 7, 1, 0), -1e-300), 3),
        (assign("verdict", (2, 2), "x is 3."), 1),
        (assign("problem", (2, 2), "none"), 1),
        (assign("digest", (slice(0, 2), 1), 0), 2),
        (assign("square", (0, slice(None)), 4.0), 4),  # those of other cells
    ],
)
def test_a_done_cell_whose_data_are_not_what_was_written_is_computed_again(path, whole, damage, lost):
    damage(path)
    opened, computed = swept(path)
    assert (opened.lost, computed) == (lost, lost)
    del opened
    check_same(path, whole)
    opened, computed = swept(path)
    assert (opened.lost, computed) == (0, 0)


def test_a_cell_that_is_only_said_to_be_done_is_computed(path, whole):
    for name, nothing in (("square", np.nan), ("kind", "not there"), ("digest", 0)):
        assign(name, (2, 3), nothing)(path)
    opened, computed = swept(path)
    assert (opened.lost, computed) == (1, 1)
    check_same(path, whole)


def test_what_is_lost_is_no_longer_said_to_be_done_before_it_is_computed(path):
    remove("square")(path)
    opened = sweep.Store(path)
    opened.check_done()
    assert (dl.open(path)["status"] == 0).all()


@pytest.mark.parametrize(
    "damage",
    [
        remove("status"),
        remove("problem"),
        remove("digest"),
        remove("x"),
        remove("time"),
        assign("x", 1, 5.0),
        assign("y", 1, 5.0),
        overwrite_chunks("square", b"\0"),
        overwrite_chunks("status", b"junk"),
        overwrite_chunks("verdict", bytes(range(256))),
        overwrite_chunks("x", b""),
        describe("square", shape=[FAR, 4]),
        describe("square", shape=[-3, 4]),
        describe("square", shape=[2, 4]),
        describe("status", shape=[9, 4]),
        describe("n", shape=[5]),
        describe("stable", shape=[3, 4, FAR]),
        describe("time", shape=[FAR]),
        describe("root", dimension_names=["x"] * 4),
        describe("root", dimension_names=["x", "n", "time", "time"]),
        describe("root", dimension_names=None),
        describe("square", data_type="int8"),
        describe("square", data_type="nothing"),
        describe("square", data_type="int8", fill_value=0),
        describe("square", fill_value=5.0),
        describe("square", codecs=[{"name": "nothing"}]),
        describe("square", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [0, 0]}}),
        describe("square", chunk_grid={"name": "regular", "configuration": {"chunk_shape": [FAR, FAR]}}),
        describe("square", node_type="group"),
        describe("square", zarr_format=9),
        describe("", zarr_format=9),
        describe("", attributes=None),
        write("square/zarr.json", b"{}"),
        write("square/zarr.json", b"null"),
        write("square/zarr.json", b"[" * 100_000),
        write("zarr.json", b"[" * 100_000),
        write("zarr.json", b"\xff"),
        without_version,
        say(arrays=None),
        say(arrays=[1]),
        say(arrays={"../line.zarr": 1}),
        say(sizes={"time": "long"}),
        say(sizes={"time": 10**30}),
        say(grid=[["x", list(range(4000))], ["n", list(range(4000))]]),
        say(grid=[]),
        say(dims=["x"]),
    ],
)
def test_a_damaged_store_is_refused_in_a_sentence_and_left_as_it_is(path, damage):
    damage(path)
    before = contents(path)
    with pytest.raises(UserError, match=r"line\.zarr.*[.]$") as told:
        sweep.opened(line, GRID, path, ABOUT)
    assert "\n" not in str(told.value)
    assert contents(path) == before


def test_a_store_without_digests_is_read_but_not_gone_on_with(path):
    say(arrays=None, sizes=None)(path)
    with pytest.raises(UserError, match="its cells have no digests, as in stores of earlier versions"):
        sweep.opened(line, GRID, path, ABOUT)
    assert (dl.open(path)["status"] == 1).all()


def test_a_variable_that_cannot_be_read_is_computed_again_where_it_is_removed_as_the_sentence_says(path, whole):
    overwrite_chunks("square", b"\0")(path)
    with pytest.raises(UserError, match=r"line\.zarr/square .* Or remove it, and its cells are computed again\."):
        sweep.opened(line, GRID, path, ABOUT)
    remove("square")(path)
    swept(path)
    check_same(path, whole)


def test_lengths_that_all_of_a_store_claims_are_not_allocated(path):
    say(sizes={"time": FAR, "mode": 2, "y": 3, "part": 2, "fixed_point": 4})(path)
    describe("time", shape=[FAR])(path)
    describe("root", shape=[3, 4, FAR, 2, 2])(path)
    with pytest.raises(UserError, match="takes more memory than"):
        sweep.opened(line, GRID, path, ABOUT)


@pytest.mark.parametrize("there", [True, False])
def test_a_store_is_not_written_through_a_symbolic_link(path, there):
    link = path.with_name("link.zarr")
    link.symlink_to(path if there else path.with_name("none.zarr"))
    assign("status", ..., 0)(path)
    before = contents(path)
    with pytest.raises(UserError, match=r"link\.zarr is a symbolic link, and nothing is written through one"):
        sweep.opened(line, GRID, link, ABOUT)
    assert contents(path) == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["line.zarr", "link.zarr"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "link"])
def test_a_link_or_a_pipe_in_a_store_is_named(path, make):
    make(path / "square" / "c" / "odd")
    with pytest.raises(UserError, match="has square/c/odd, which is a link, a pipe or a device"):
        sweep.opened(line, GRID, path, ABOUT)


def test_what_else_lies_in_a_store_stays_and_is_no_part_of_the_sweep(path):
    (path / "mine.txt").write_text("mine")
    (path / "folder").mkdir()
    group = zarr.open_group(path, mode="r+")
    group.create_array("mine", data=np.ones((3, 4)), dimension_names=["x", "n"])
    assign("square", (0, 0), 7.0)(path)
    mine = contents(path / "mine") | {path / "mine.txt": b"mine"}
    opened, computed = swept(path)
    assert (opened.lost, computed) == (1, 1)
    assert contents(path).items() >= mine.items()
    assert (path / "folder").is_dir()


def test_an_array_of_somebody_else_is_not_replaced_by_one_of_the_sweep(path):
    opened = sweep.Store(path)
    arrays = {name: stamp for name, stamp in opened._arrays.layout.arrays.items() if name != "square"}
    del opened
    say(arrays=arrays)(path)
    mine = contents(path / "square")
    with pytest.raises(UserError, match="has a square that this sweep did not write: move it away"):
        swept(path)
    assert contents(path / "square") == mine


def test_a_sweep_that_finds_no_room_says_that_the_same_line_goes_on(whole, tmp_path, monkeypatch):
    def full(self, name, *_):
        if name == "verdict":
            raise OSError(errno.ENOSPC, "No space left on device")
        return lay(self, name, *_)

    path, lay = tmp_path / "line.zarr", arrays.Arrays.lay
    with monkeypatch.context() as patched:
        patched.setattr(arrays.Arrays, "lay", full)
        with pytest.raises(UserError, match=r"\(No space left on device\): the store is begun, .* same line goes on"):
            sweep.opened(line, GRID, path, ABOUT)
    opened, computed = swept(path)
    assert (opened.lost, computed) == (0, 12)
    check_same(path, whole)


def test_a_coordinate_that_a_process_ended_in_is_made_whole(path, whole):
    """As where it was killed when it had lengthened one that counts, and when it had made one without its values."""
    arrays = json.loads(zarr.open_group(path).attrs["sweep"])["arrays"]
    assign("time", slice(3, None), 0)(path)
    say(arrays=arrays | {"y": None})(path)
    for name in ("status", "digest"):
        assign(name, ..., 0)(path)
    assign("y", ..., np.nan)(path)
    assert swept(path)[1] == 12
    check_same(path, whole)


def test_a_sweep_that_ends_between_any_two_writings_goes_on_to_the_same_store(tmp_path, monkeypatch):
    """Of cells whose first one has nothing of what later ones have, so that arrays and lengths come one by one."""

    class Killed(BaseException):
        pass

    def growing(values):
        ds = line({"x": values["x"], "n": values["n"] - 1})
        return ds.drop_dims("y") if values["n"] < 3 else ds

    def go_on(path, most):
        """Write a cell at a time, until so many files are written."""
        left = iter(range(most))

        def put(*arguments, **named):
            if next(left, None) is None:
                raise Killed
            return written(*arguments, **named)

        with monkeypatch.context() as patched:
            patched.setattr(zarr.storage._local, "_put", put)
            opened, trial = sweep.opened(growing, grid, path, ABOUT)
            found = [] if trial is None else sweep.run(growing, opened, trial, workers=0)
            assert [each.problem for each in found if each.problem] == []
            assert opened.lost == 0

    written, grid = zarr.storage._local._put, [sweep.Axis("x", (1,)), sweep.Axis("n", (1, 2, 3, 4))]
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)  # a lock goes with its process
    monkeypatch.setattr(engine, "BETWEEN", 0.0)
    monkeypatch.setattr(engine, "MOST_IN_TASK", 1)
    go_on(tmp_path / "line.zarr", 10**6)
    path, most = tmp_path / "killed.zarr", 0
    while True:
        try:
            go_on(path, most := most + 7)
            break
        except Killed:
            continue
    check_same(path, tmp_path / "line.zarr")


@pytest.mark.parametrize("damage", [remove_chunks("time"), assign("time", 0, 5), assign("time", 7, 0)])
def test_a_coordinate_that_counts_is_known_without_its_values_and_mended(path, whole, damage):
    damage(path)
    assert swept(path)[1] == 0
    check_same(path, whole)


def test_a_cell_with_texts_where_others_have_numbers_fails_alone(tmp_path):
    def mixed(values):
        ds = line(values)
        return ds.assign(square=ds["square"].astype(str)) if values["n"] == 2 else ds

    opened, trial = sweep.opened(mixed, GRID, tmp_path / "line.zarr", ABOUT)
    found = [*trial.outcomes, *sweep.run(mixed, opened, trial, workers=0)]
    assert len(found) == 12
    problem = "its variable square has texts, and that of cells before has numbers."
    assert [*opened.problems()] == [((x, 1), problem) for x in range(3)]


def test_digests_are_the_same_in_whatever_regions_they_are_looked_at(path, monkeypatch):
    monkeypatch.setattr(comparing, "MOST_READ", 1)
    monkeypatch.setattr(comparing, "MOST_IN_CHUNK", 1)
    assert swept(path)[0].lost == 0


@pytest.mark.parametrize(
    "values, nothing",
    [
        (np.array([[1.0, np.nan], [np.nan, -0.0]]), np.nan),
        (np.array(["a", "not there", "b"], dtype=object), "not there"),
        (np.array([0, 3]), 0),
    ],
)
def test_a_digest_is_that_of_values_whatever_they_are_padded_to(values, nothing):
    padded = np.full([length + 2 for length in values.shape], nothing, values.dtype)
    padded[tuple(slice(0, length) for length in values.shape)] = values
    one = digests.of_values("v", values, nothing)
    assert digests.of_values("v", padded, nothing) == one
    others = [digests.of_values("w", values, nothing), digests.of_values("v", values[::-1], nothing), 0]
    assert one not in others
    assert digests.of_values("v", np.full(3, nothing, values.dtype), nothing) == 0
