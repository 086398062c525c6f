"""`dynlab completion`: its script, run by bash, gives what is typed further."""

import shutil
import subprocess
import sys

import pytest

from dynlab.cli.main import run

ASK = """
PATH={folder}:$PATH
compopt() {{ :; }}
source script
COMP_WORDS=({words}); COMP_CWORD={last}
_dynlab_completion dynlab
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    "words, expected",
    [("dynlab spectrum gru", ["gru-flipflop"]), ("dynlab train --preset har2-ernn-k3", ["har2-ernn-k3"])],
)
def test_bash_completes(words, expected, folder, capsys):
    assert run(["completion", "bash"]) == 0
    (folder / "script").write_text(capsys.readouterr().out)
    (folder / "dynlab").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dynlab "$@"\n')
    (folder / "dynlab").chmod(0o755)
    asked = ASK.format(folder=folder, words=words, last=len(words.split()) - 1)
    done = subprocess.run(["bash", "-c", asked], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == expected, done.stderr
