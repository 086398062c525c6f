"""Hold the present code against numbers.json: changed numbers fail, missing variables are listed.

python tests/frozen/compare.py [--only NETWORK] [--diagnostic NAME]
"""

import json
import sys

import make
import numpy as np
import torch

RELATIVE = 1e-9  # of a variable's largest value, beside the errors that both Datasets state
ROUNDING = 1e-12  # a distance of a point to itself and the like: below, numbers are rounding
# Found by searches that a better search may improve on, or settle elsewhere: relative differences that are let pass.
LOOSE = {
    "norm_bound": 0.2,
    "abscissa_bound": 0.2,
    "radius": 0.5,
    "rate": 0.5,
    "semi_axis": 0.5,
    "kreiss_constant": 0.01,
    "instability_distance": 1e-5,
    "distance": 0.05,
    "distance_bound": 0.05,
    "angle": 0.05,
    "angle_bound": 0.05,
    "between_runs": 0.2,
    "within_runs": 0.2,
    "smallest_angle": 1e-3,  # along a chaotic orbit, which the solver's own error leads away
    "median_angle": 1e-3,
    "log_power_norm_bound": 1e-5,  # holds for weights within their errors
    "bifurcation_state": 1e-4,  # at a border collision: as far as the parameter's error moves it
    "bifurcation_observed": 1e-4,
}
UNDECIDED = ("-1", "undecided", "unverified", "unknown", "not ", "sampled", "nan")
NEAR = 1e-6  # between the keys of one fixed point, relative to their size


def is_decided(status):
    """Tell whether a status decides anything; "0" does, as in `stable`."""
    return bool(status) and not status.startswith(UNDECIDED)


def widths(kept):
    """Return how far each picked value may lie below and above, by its own Dataset."""
    return np.array([[float(one) for one in pair] for pair in kept.get("ends", [[0, 0]] * len(kept["values"]))])


def numbers_changed(name, then, now):
    """Return what is wrong and what is only to be noted about the numbers of one variable."""
    if then["known"] != now["known"]:
        text = f"{then['known']} known numbers then, {now['known']} now"
        return ([], [text]) if now["known"] > then["known"] else ([text], [])
    if not then["known"] or then["order"] != now["order"]:
        return [], []
    old, new = np.array(then["values"]), np.array(now["values"])
    scale = max(then["scale"], now["scale"])
    below, above = widths(then), widths(now)
    slack = max(RELATIVE, LOOSE.get(name.removeprefix("Re "), 0.0)) * scale + ROUNDING
    gap = np.maximum((new - above[:, 0]) - (old + below[:, 1]), (old - below[:, 0]) - (new + above[:, 1]))
    wrong = [
        f"sorted value {k}: {old[i]:.12g} (−{below[i, 0]:.2g} +{below[i, 1]:.2g}) then, {new[i]:.12g} "
        f"(−{above[i, 0]:.2g} +{above[i, 1]:.2g}) now"
        for i, k in enumerate(then["order"])
        if gap[i] > slack
    ]
    lost = (np.isfinite(below) & ~np.isfinite(above)).any() or (above > 10 * below + slack).any()
    return wrong, ["errors are more than ten times as wide"] if lost else []


def counts_changed(then, now):
    """Return what is wrong about counts of statuses: a decided one that became another decided one."""
    old, new = then["counts"], now["counts"]
    open_then = sum(count for status, count in old.items() if not is_decided(status))
    open_now = sum(count for status, count in new.items() if not is_decided(status))
    decided = {status for status in {*old, *new} if is_decided(status)}
    if sum(old.values()) != sum(new.values()):
        return [], [f"{sum(old.values())} statuses then, {sum(new.values())} now: {old} then, {new} now"]
    wrong = any(
        new.get(status, 0) > old.get(status, 0) + open_then or old.get(status, 0) > new.get(status, 0) + open_now
        for status in decided
    )
    return ([f"{old} then, {new} now"], []) if wrong else ([], [f"{old} then, {new} now"] if old != new else [])


def points_changed(then, now):
    """Return what is wrong about a list of fixed points, each of which is known by its key."""
    wrong, noted, left = [], [], list(now)
    for i, point in enumerate(then):
        key = np.array(point["key"])
        distances = [np.abs(np.array(other["key"]) - key).max() for other in left]
        if not distances or min(distances) > NEAR * (1 + np.abs(key).max()):
            kind = point.get("kind") or point.get("flow_kind") or point.get("status")
            (noted if len(now) >= make.POINTS else wrong).append(f"point {i} ({kind}) is missing")
            continue
        other = left.pop(int(np.argmin(distances)))
        for name in sorted(point.keys() & other.keys() - {"key"}):
            a, b = point[name], other[name]
            if isinstance(a, dict) and isinstance(b, dict):
                found = numbers_changed(name, a, b)
                wrong += [f"point {i} {name}: {text}" for text in found[0]]
                noted += [f"point {i} {name}: {text}" for text in found[1]]
            elif a != b:
                both = is_decided(str(a)) and is_decided(str(b))
                (wrong if both else noted).append(f"point {i} {name}: {a} then, {b} now")
    return wrong, noted + ([f"{len(left)} more fixed points now"] if left else [])


def changed(then, now):
    """Return the failures and the notes about one Dataset."""
    wrong, noted = [], []
    for name, old in then.items():
        if name not in now:
            noted.append(f"{name} is missing")
            continue
        new = now[name]
        if name == "points":
            found = points_changed(old, new)
        elif ("counts" in old) != ("counts" in new):
            found = [], ["is of another kind now"]
        else:
            found = counts_changed(old, new) if "counts" in old else numbers_changed(name, old, new)
        wrong += [f"{name}: {text}" for text in found[0]]
        noted += [f"{name}: {text}" for text in found[1]]
    return wrong, noted + [f"{name} is new" for name in now if name not in then]


def compared(kept, names, diagnostics, out):
    """Print the comparison of all that is asked for, and return how many failures there are."""
    failures = 0
    for name in names:
        system = make.system_of(name)
        for diagnostic, then in kept[name].items():
            if diagnostics and diagnostic not in diagnostics:
                continue
            now = make.run(name, diagnostic, system)
            if now is None:
                wrong, noted, times = ["it refuses now"], [], ""
            else:
                wrong, noted = changed(then["numbers"], json.loads(json.dumps(now["numbers"])))
                times = f"{then['processor_seconds']:8.2f} s then {now['processor_seconds']:8.2f} s now"
                times += f"   peak {then['peak_mib']:5} MiB then {now['peak_mib']:5} MiB now"
            failures += len(wrong)
            out.write(f"{'FAIL' if wrong else 'ok':6}{name:22}{diagnostic:20}{times}\n")
            out.writelines(f"        changed  {text}\n" for text in wrong)
            out.writelines(f"        note     {text}\n" for text in noted)
            out.flush()
    out.write(f"{failures} changed\n")
    return failures


def main(arguments=None, out=sys.stdout):
    """Compare and return the exit code: 1 where something changed."""
    asked = make.options(__doc__.splitlines()[0]).parse_args(arguments)
    torch.set_num_threads(1)
    kept = json.loads(make.NUMBERS.read_text())
    names = [name for name in asked.only or make.SYSTEMS if name in kept]
    return int(compared(kept, names, asked.diagnostic, out) > 0)


if __name__ == "__main__":
    sys.exit(main())
