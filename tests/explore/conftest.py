"""The explorer's own modules under node, where there is one."""

import json
import shutil
import subprocess

import pytest

from dynlab.explore.page import FOLDER

NODE = shutil.which("node")
PATIENCE = 300  # seconds


@pytest.fixture(scope="session")
def in_node():
    """Run a JavaScript expression of `modules` and `given`, and give what it gives."""
    if NODE is None:
        pytest.skip("node is not installed: the explorer's own code is not run")

    def run(expression, given, *modules):
        imports = "\n".join(
            f'import * as {name} from "{(FOLDER / name).with_suffix(".mjs").as_uri()}";' for name in modules
        )
        script = f"""{imports}
import {{ readFileSync }} from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
const plain = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
process.stdout.write(JSON.stringify({expression}, plain));"""
        command = [NODE, "--input-type=module", "--eval", script]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run
