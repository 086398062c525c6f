"""The installed package is what is in the folders, and nothing in it names the machine it was made on."""

import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from public_names import PLACES

import dynlab

ROOT = Path(__file__).resolve().parent.parent
SETUP = ConfigParser(interpolation=None)
SETUP.read(ROOT / "setup.cfg")

# a folder of the source tree and the package that it is installed as
INSTALLED_AS = {"dynlab": "dynlab", "cli": "dynlab.cli", "figures": "dynlab.figures"}

# Written in two parts, since this file is searched as well.
HERE = rb"(?<![\w.])/(?:work|root|opt|mnt|Users|home/(?!you/)\w+)" + rb"/|file:" + rb"//"
REGISTRIES = rb"|pypi" + rb"\.org|python" + rb"hosted\.org|npm" + rb"js\.org|debian" + rb"\.org|crates" + rb"\.io"


def listed(section, option):
    """The lines of a setup.cfg option that holds one item a line."""
    return re.findall(r"^\s*([^\s#].*)$", SETUP[section][option], re.MULTILINE)


def package_of(folder):
    """The name under which a folder of the source tree is installed."""
    top, *rest = folder.relative_to(ROOT).parts
    return ".".join([INSTALLED_AS[top], *rest])


def sources():
    """Every file of the packages, without the pictures in figures and what Python leaves there."""
    patterns = ("dynlab/**/*", "cli/**/*", "figures/*.*", "figures/kept/*")
    files = [file for pattern in patterns for file in ROOT.glob(pattern) if file.is_file()]
    return [file for file in files if file.suffix not in (".pyc", ".png")]


def tracked():
    """Return what git has, or would have at the next `git add`."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def test_packages_are_the_folders():
    folders = {file.parent for file in sources() if file.suffix == ".py"}
    assert sorted(listed("options", "packages")) == sorted(package_of(folder) for folder in folders)


def test_requirements_are_pinned_within_their_bounds():
    pinned = re.findall(r"^([^#\s]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    pins = {canonicalize_name(name): version for name, version in pinned}
    requirements = listed("options", "install_requires")
    for extra in SETUP["options.extras_require"]:
        requirements += listed("options.extras_require", extra)
    for asked in map(Requirement, requirements):
        assert asked.specifier.contains(pins.get(canonicalize_name(asked.name), "0")), asked


def test_every_public_name_is_there():
    assert sorted(PLACES) == dynlab.__all__
    assert all(callable(getattr(dynlab, name)) for name in PLACES)


def test_files_of_the_other_package_of_that_name_are_said(tmp_path):
    """An unrelated package has the import name dynlab too; its files, among ours, would take ours with them."""
    for name in ("__init__.py", "__init__.pyi"):
        shutil.copy(ROOT / "dynlab" / name, tmp_path)
    (tmp_path / "flows.py").touch()
    with pytest.warns(UserWarning, match="pip uninstall dynlab, then pip install --force-reinstall"):
        runpy.run_path(str(tmp_path / "__init__.py"))


def test_import_contract_knows_every_module():
    named = set(re.findall(r"[\w.]+", " ".join(listed("importlinter:contract:layers", "layers"))))
    folder = ROOT / "dynlab"
    modules = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert {f"dynlab.{name}" for name in modules - {"__init__"}} <= named


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist of what git has, and the wheel of that sdist, made in a copy so that nothing else gets into them."""
    copy = tmp_path_factory.mktemp("source")
    for file in tracked():
        place = copy / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "dist"


def test_sdist_holds_what_git_has_and_the_wheel_every_file(built):
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        packed = {each.name.partition("/")[2] for each in archive if not each.isdir()}
    packed = {name for name in packed if ".egg-info/" not in name} - {"PKG-INFO"}
    assert packed == {file.relative_to(ROOT).as_posix() for file in tracked()}, "name them in MANIFEST.in"
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        installed = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"{package_of(file.parent).replace('.', '/')}/{file.name}" for file in sources()}
    assert installed == expected, "name them in setup.cfg, [options.package_data]"


def test_the_version_is_the_same_wherever_it_stands():
    assert f"\nversion: {dynlab.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE).group(1) == dynlab.__version__


def test_the_licence_of_every_dependency_is_listed():
    page = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    listed = {name for row in re.findall(r"^\| (.+?) \|", page, re.MULTILINE) for name in row.split(", ")}
    extras = dict(SETUP["options.extras_require"])
    for only_for_developers in ("docs", "bench", "browser", "dev"):
        del extras[only_for_developers]
    asked = "\n".join([SETUP["options"]["install_requires"], *extras.values()])
    assert {name.lower() for name in re.findall(r"^\s*([\w.-]+)", asked, re.MULTILINE)} <= listed


@pytest.mark.slow
def test_wheel_works_outside_the_source_tree(built, tmp_path):
    """A wheel is a zip file of what is installed, and Python imports from it as it is unpacked."""
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        archive.extractall(tmp_path)
    script = f"""
import importlib, sys
sys.path.insert(0, {str(tmp_path)!r})
from dynlab.cli import COMMANDS, main
for place in ["dynlab.sweep", "dynlab.figures", "dynlab.training", *COMMANDS.values()]:
    assert importlib.import_module(place.partition(":")[0]).__file__.startswith({str(tmp_path)!r})
main.main(["inspect", "gru-flipflop"])
"""
    run = subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "gru-flipflop" in run.stdout


def test_no_file_names_this_machine_or_a_registry():
    pattern = re.compile(HERE + REGISTRIES)
    found = {str(file.relative_to(ROOT)): pattern.search(file.read_bytes()) for file in tracked()}
    assert {name: match.group().decode() for name, match in found.items() if match} == {}
