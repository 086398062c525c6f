"""The frame of the command line: help, exit codes, one sentence for what is wrong."""

import subprocess
import sys

import click
import pytest

from dynlab.cli import COMMANDS, OTHERWISE, signals
from dynlab.cli.examples import example
from dynlab.cli.main import group, run
from dynlab.diagnostics import DIAGNOSTICS
from dynlab.errors import UserError, lookup


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_every_option_says_what_it_does(name, capsys):
    assert run([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: dynlab")
    command = lookup(COMMANDS, name, "command")
    assert command.help
    assert [p.name for p in command.params if isinstance(p, click.Option) and not p.help] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_where_something_must_be_named_an_example_shows_it(name):
    context = click.Context(lookup(COMMANDS, name, "command"), info_name=name)
    needed = any(option.required for option in context.command.params)
    assert not needed or example(context).startswith(f"dynlab {name} ")


def test_help_lists_the_commands_in_order(capsys):
    assert run(["--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.partition("Commands:\n")[2].splitlines() if line]
    assert [name for name in listed if name in COMMANDS] == list(COMMANDS)


def test_help_cuts_no_sentence_off(capsys):
    assert run(["--help"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for name in COMMANDS:
        first = lookup(COMMANDS, name, "command").help.split("\n\n")[0]
        assert " ".join(first.split()).removesuffix(".") in printed


def test_help_imports_neither_torch_nor_xarray_nor_matplotlib():
    code = (
        "import sys; from dynlab.cli.main import run; run(['--help']);"
        "print(sorted({'torch', 'xarray', 'matplotlib', 'numpy', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["spectrun", "x.pt"], "did you mean 'spectrum'"),
        (["covarient-vectors", "x.pt"], "`dynlab lyapunov --covariant` does that"),
        (["bifurcation", "x.pt"], "--parameter, --from and --to are missing"),
        (["table"], "NAME is missing"),
        (["covarient", "x.pt"], "`dynlab lyapunov --covariant` does that"),
        (["fixed-points", "x.pt", "--certfy"], "Did you mean --certify?"),
        (["check", "x.pt", "--max-spectral-radius", "1"], "dynlab check --help lists those there are"),
        (["gradient", "x.pt", "--max-modulus", "1"], "No such option '--max-modulus' here: `dynlab check` has it."),
        (["gradient", "x.pt", "--at", "1,2"], " other commands have it."),
        (["spectrum", "x.pt", "--sample", "2"], "Did you mean --samples?"),
        (["spectrum", "x.pt", "--out", "a.png"], "Did you mean --output?"),
        (["phase", "--matrix", "diff", "--epsilon", "0.1"], "Did you mean --step?"),
        (["phase", "--matrix", "diff", "--dt", "0.1"], "Did you mean --step?"),
        (["spectrum", "x.pt", "--force"], "Did you mean --overwrite?"),
        (["spectrum", "x.pt", "-o"], "dynlab spectrum: -o is given without a value: -o FIGURE."),
        (["train", "--set"], "dynlab train: --set is given without a value: --set KEY=VALUE."),
        (
            ["bifurcation"],
            "are missing. For example: `dynlab bifurcation --matrix diff --parameter step_size --from 0.01",
        ),
        (["spectrum", "a.pt", "b.pt"], "or compare them by `dynlab compare a.pt b.pt`."),
        (["basins", "a.pt", "b.pt", "c.pt"], "takes one checkpoint, got 3"),
        (["phase", "x.pt"], "Of a network `dynlab geometry x.pt` shows the trajectories"),
        (["spectrum"], "Got nothing to look at"),
        (["spectrum", "no-such-file.pt"], "no-such-file.pt"),
        (["phase", "--no-such-option"], "No such option"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments, sentence, refused):
    refused(arguments, sentence)


@pytest.mark.parametrize("matrix", ["nosuch", "1,2,3", "1,2,3;4,5,6;7,8,9"])
def test_a_matrix_that_is_none_is_refused_before_anything_heavy_is_imported(matrix):
    code = (
        "import sys; from dynlab.cli.main import run; code = run(sys.argv[1:]);"
        "print(code, sorted({'torch', 'xarray', 'matplotlib', 'scipy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, "phase", "--matrix", matrix]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2 []\n"


def test_an_error_of_dynlabs_own_is_3_and_an_interruption_130(monkeypatch, capsys):
    def fail(exception):
        def command():
            raise exception

        return click.command("phase")(command)

    monkeypatch.setattr(group, "get_command", lambda ctx, name: fail(RuntimeError("broken")))
    assert run(["phase"]) == 3
    assert "dynlab's own" in capsys.readouterr().err
    monkeypatch.setattr(group, "get_command", lambda ctx, name: fail(KeyboardInterrupt()))
    assert run(["phase"]) == 130


@pytest.mark.parametrize("stopped, code", [(KeyboardInterrupt(), 130), (signals.Terminated(), 143)])
@pytest.mark.parametrize("around", [RuntimeError("Error calling __set_name__"), UserError("The file is damaged.")])
def test_an_interruption_that_became_another_error_on_its_way_is_one(stopped, code, around, monkeypatch, capsys):
    """As Python 3.11 makes one of it while a class is made, and a library while it imports."""

    def fails(**given):
        try:
            raise stopped
        except BaseException as error:
            raise around from error

    monkeypatch.setattr(group, "main", fails)
    assert run(["phase"]) == code
    assert capsys.readouterr().err in ("Interrupted.\n", "Terminated.\n")


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes")])
def test_what_does_not_fit_into_memory_is_one_sentence(error, monkeypatch, capsys):
    def fails(**given):
        raise error

    monkeypatch.setattr(group, "main", fails)
    assert run(["phase"]) == 2
    assert capsys.readouterr().err == (
        "dynlab: This needs more memory than there is: ask for fewer steps, samples or points.\n"
    )


def test_what_python_alone_has_as_a_command_leads_to_the_line_that_does_it():
    """Every diagnostic is a command or stands in the table, and every line of the table is one that there is."""
    names = {name.replace("_", "-") for name in DIAGNOSTICS}
    assert names <= {*COMMANDS, *OTHERWISE}
    for line in OTHERWISE.values():
        command, *option = line.split()
        assert set(option) <= {opt for each in lookup(COMMANDS, command, "command").params for opt in each.opts}


def test_threads_that_are_still_at_work_do_not_hold_or_change_the_end():
    code = (
        "import threading, time; from dynlab.cli.main import main;"
        "threading.Thread(target=time.sleep, args=(600,)).start(); main(['nothing'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr == f"dynlab: Unknown command 'nothing': dynlab --help lists the {len(COMMANDS)} there are.\n"


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["gradient", "rnn-har2", "--steps", "1.5"], "'1.5' is no whole number of at least 1."),
        (["lyapunov", "rnn-har2", "-k", "x"], "'x' is no whole number of at least 1."),
        (["check", "rnn-har2", "--max-modulus", "x"], "'x' is no number of at least 0."),
        (["check", "rnn-har2", "--max-modulus", "-1"], "-1.0 is no number of at least 0."),
        (["spectrum", "--system", "x" * 10_000], "Unknown system 'xxx"),
    ],
)
def test_what_is_no_number_is_told_with_what_is_taken(arguments, sentence, capsys):
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said) < 1500


def test_a_working_folder_that_was_removed_is_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert run(["zoo"]) == 2
    said = capsys.readouterr().err
    assert said == "dynlab: The working folder is not there any more (No such file or directory): go to another one.\n"
