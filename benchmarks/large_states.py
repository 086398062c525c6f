"""What every diagnostic makes of 2,048 states: it answers, it refuses in one sentence, or it has not ended in time.

    python benchmarks/large_states.py [DIAGNOSTIC ...] [--seconds 600]

The networks are a vanilla RNN of 2,048 units, an ERNN of as many for what is of ERNN, and an LSTM of 1,024 units, at
their own start. There are 2 sequences of 4 steps. Each call has a process of its own with one thread and 4 GiB, and
seconds are those of the processor, so that other programs do not matter much. The table is printed as lines of
Markdown; docs/numerical-faults.md has it.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys

import numpy as np

UNITS = 2048
GIBIBYTES = 4
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FEWER = {"starts": 8, "samples": 16}  # than by default: it is the states that are many here
OWN = {
    "tangent_map": {"grid": 5},
    "eigenvalue_bounds": {"max_modulus": 1.0, "min_log_gradient": -3.0, "max_exponent": 0.0},
    "bifurcation": {"parameter": "{first}", "lowest": -0.5, "highest": 0.5, "values": 4},
    "parameter_plane": {
        "parameters": ("{first}", "{second}"),
        "lowest": (-0.5, -0.5),
        "highest": (0.5, 0.5),
        "grid": 4,
    },
}
ENTRIES = {"vanilla": ("W[0,0]", "W[0,1]"), "ernn": ("U[0,0]", "U[0,1]"), "lstm": ("weight_hh[0,0]", "weight_hh[0,1]")}


def network(kind: str):
    """A network of 2,048 states, one input wide."""
    import torch

    from dynlab.systems import create

    torch.manual_seed(0)
    sizes = {"hidden_size": UNITS // 2} if kind == "lstm" else {"state_size": UNITS}
    more = {"length": 4, "activation": "tanh"} if kind == "ernn" else {}
    return create(kind, input_size=1, **sizes, **more).double()


def attempt(name: str, kind: str) -> tuple[str, str]:
    """Call the diagnostic: ``answers`` or ``refuses``, and its sentence."""
    import inspect

    import dynlab
    from dynlab.errors import UserError

    compute = getattr(dynlab, name)
    takes = inspect.signature(compute).parameters
    given = [network("ernn" if "ernn" in name else kind)]
    if name == "compare":
        given.append(network("ernn"))
    if name == "tangent_map":
        given.append(np.zeros(UNITS))
    elif "inputs" in takes:
        given.append(np.random.default_rng(0).normal(size=(2, 4, 1)))
    first, second = ENTRIES[kind]
    entries = {"{first}": first, "{second}": second}
    keywords = {key: value for key, value in FEWER.items() if key in takes}
    for key, value in OWN.get(name, {}).items():
        keywords[key] = tuple(map(entries.get, value)) if key == "parameters" else entries.get(str(value), value)
    try:
        return "answers", compute(*given, **keywords).attrs["verdict"]
    except UserError as error:
        return "refuses", str(error)


def measure(name: str, kind: str, seconds: float) -> dict[str, object]:
    """The same in a process of its own, with the seconds and the most memory that it took."""
    command = [sys.executable, __file__, name, "--kind", kind, "--seconds", f"{seconds:g}"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | ONE_THREAD)
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
        return {"what": f"had not ended after {seconds:g} s", "said": ""}
    if done.returncode:
        return {"what": "failed", "said": done.stderr[-400:]}
    return json.loads(done.stdout.splitlines()[-1])


def cell(found: dict[str, object]) -> str:
    """What a cell of the table says."""
    if found["what"] == "answers":
        return f"{found['seconds']:.0f} s, {found['gibibytes']:.1f} GiB"
    return str(found["what"])


def main() -> None:
    """Read the command line, and measure."""
    sys.path.insert(0, "tests")
    from public_names import DIAGNOSTICS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("diagnostics", nargs="*", choices=[[], *DIAGNOSTICS], help="default: all of them")
    parser.add_argument("--seconds", type=float, default=600.0, help="of the processor, that each call may take")
    parser.add_argument("--kind", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.kind:
        resource.setrlimit(resource.RLIMIT_DATA, (GIBIBYTES * 2**30, GIBIBYTES * 2**30))
        resource.setrlimit(resource.RLIMIT_CPU, (int(given.seconds), int(given.seconds)))
        what, said = attempt(given.diagnostics[0], given.kind)
        used = resource.getrusage(resource.RUSAGE_SELF)
        result = {"seconds": used.ru_utime + used.ru_stime, "gibibytes": used.ru_maxrss / 2**20}
        sys.stdout.write(json.dumps({"what": what, "said": said} | result) + "\n")
        return
    sys.stdout.write("| diagnostic | a vanilla RNN of 2,048 units | an LSTM of 1,024 units |\n|---|---|---|\n")
    for name in given.diagnostics or DIAGNOSTICS:
        kinds = ("vanilla",) if "ernn" in name else ("vanilla", "lstm")
        found = [measure(name, kind, given.seconds) for kind in kinds]
        cells = [cell(each) for each in found] + ["–"] * (2 - len(kinds))
        sys.stdout.write(f"| `{name}` | {' | '.join(cells)} |\n")
        sys.stdout.flush()
        for kind, each in zip(kinds, found, strict=True):
            sys.stderr.write(f"{name} of {kind}: {each['what']}: {each['said']}\n")


if __name__ == "__main__":
    main()
