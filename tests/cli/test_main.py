"""The entry point: help, completion, exit codes, and what is imported."""

import re
import subprocess
import sys

import click
import pytest
from click.shell_completion import get_completion_class
from public_names import DIAGNOSTICS

from dynlab.cli import COMMANDS, GROUPS, HIDDEN, OTHERWISE
from dynlab.cli.main import group, run
from dynlab.errors import lookup


def test_help_groups_every_command_by_what_one_wants(capsys):
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{title}:\n" in out for title in GROUPS)
    assert all(f"\n  {name} " in out for names in GROUPS.values() for name in names)
    assert not any(f"\n  {name} " in out for name in HIDDEN)
    assert run(["basins", "--help"]) == 0
    sections = re.findall(r"^(\w.*):$", capsys.readouterr().out, re.MULTILINE)
    assert sections == ["Options", "What to analyse", "What drives it", "Computing", "Output"]


@pytest.mark.parametrize(
    "words, found", [("spectrum gru", "gru-flipflop"), ("train --preset har2-ernn-k3", "har2-ernn-k3")]
)
def test_a_shell_completes_networks_and_presets(words, found, capsys):
    assert run(["completion", "bash"]) == 0
    assert "_DYNLAB_COMPLETE=bash_complete" in capsys.readouterr().out
    *before, begun = words.split()
    complete = get_completion_class("bash")(group, {}, "dynlab", "_DYNLAB_COMPLETE")
    assert [each.value for each in complete.get_completions(before, begun)] == [found]


def test_every_diagnostic_is_a_command_or_a_line_that_there_is():
    assert {name.replace("_", "-") for name in DIAGNOSTICS} <= {*COMMANDS, *OTHERWISE, "end-to-end"}
    for line in OTHERWISE.values():
        command, *option = line.split()
        params = lookup(COMMANDS, command, "command").params
        known = {opt for each in params for opt in each.opts}
        choices = {choice for each in params if isinstance(each.type, click.Choice) for choice in each.type.choices}
        assert set(option) <= known | choices


@pytest.mark.parametrize(
    "error, code, said",
    [
        (RuntimeError("broken"), 3, "dynlab's own"),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (PermissionError(13, "Permission denied", "a.png"), 2, "a.png could not be read or written: Permission denied"),
    ],
)
def test_every_end_has_its_exit_code(error, code, said, monkeypatch, capsys):
    def fail():
        raise error

    monkeypatch.setattr(group, "get_command", lambda ctx, name: click.command("phase")(fail))
    assert run(["phase"]) == code
    assert said in capsys.readouterr().err


def test_a_signal_to_terminate_ends_with_143():
    code = (
        "import click, os, signal; from dynlab.cli import main\n"
        "end = click.command('phase')(lambda: os.kill(os.getpid(), signal.SIGTERM))\n"
        "main.group.get_command = lambda ctx, name: end\n"
        "main.main(['phase'])"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 143


def test_version_and_help_import_nothing_heavy():
    code = (
        "import sys; from dynlab.cli.main import run\n"
        "for words in (['--version'], ['--help'], ['phase', '--matrix', 'nosuch']): run(words)\n"
        "print(sorted({'torch', 'xarray', 'matplotlib', 'scipy', 'numba'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
