"""Plain JavaScript modules under node, where there is one."""

import json
import shutil
import subprocess

import pytest

from dynlab.report.page import FOLDER

NODE = shutil.which("node")
PATIENCE = 300  # seconds

# What the report's worker says of each of a list.
JUDGED = """given.map((each) => {
  try { return ["Correct", certificate_check.check(strict_json.parsed(READ))]; }
  catch (error) {
    if (!(error instanceof rejected.Rejected)) throw error;
    return [error.constructor.name, error.message];
  }
})"""


def judged(given, read="each"):
    """What the report's own checker says of each text: ``Correct``, ``Rejected`` or ``Malformed``, and the sentence."""
    return in_node_of(FOLDER)(JUDGED.replace("READ", read), given, "certificate_check", "strict_json", "rejected")


def judged_files(paths):
    """What it says of each file."""
    return judged([str(path) for path in paths], "strict_json.decoded(readFileSync(each))")


def in_node_of(folder):
    """What runs a JavaScript expression of modules of `folder` and of `given`, and gives what it gives."""
    if NODE is None:
        pytest.skip("node is not installed: the pages' own code is not run")

    def run(expression, given, *modules):
        imports = "\n".join(
            f'import * as {name} from "{(folder / name).with_suffix(".mjs").as_uri()}";' for name in modules
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
