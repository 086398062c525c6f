"""`dynlab completion`: its script, run by bash, gives what is typed further."""

import shutil
import subprocess
import sys

import pytest

from dynlab.cli.main import run

ASK = """
source script
COMP_WORDS=({words}); COMP_CWORD={last}
_dynlab_completion dynlab
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    "words, expected",
    [
        ("dynlab bif", ["bifurcation"]),
        ("dynlab spectrum gru", ["gru-flipflop"]),
        ("dynlab train --preset har2-ernn-k", ["har2-ernn-k1", "har2-ernn-k3", "har2-ernn-k5"]),
    ],
)
def test_bash_completes(words, expected, folder, capsys):
    assert run(["completion", "bash"]) == 0
    (folder / "script").write_text(capsys.readouterr().out)
    program = folder / "dynlab"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dynlab "$@"\n')
    program.chmod(0o755)
    asked = f"PATH={folder}:$PATH\ncompopt() {{ :; }}\n" + ASK.format(words=words, last=len(words.split()) - 1)
    done = subprocess.run(["bash", "-c", asked], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip("\n").split("\n") == expected, done.stderr


@pytest.mark.parametrize("shell, word", [("zsh", "#compdef dynlab"), ("fish", "complete --no-files --command dynlab")])
def test_other_shells_have_their_scripts(shell, word, capsys):
    assert run(["completion", shell]) == 0
    assert word in capsys.readouterr().out
