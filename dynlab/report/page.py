"""The report's HTML: parts put under their headings, with style and modules inside, so that it needs no other file."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from dynlab import __version__, schema
from dynlab.javascript import inlined
from dynlab.report.parts import Part, ReportedNetwork
from dynlab.report.proofs import MOST_UNITS, packed
from dynlab.report.tables import tables
from dynlab.words import counted, number

FOLDER = Path(__file__).parent / "modules"
MOST_CHARACTERS = 4_800_000  # of the page
DIGITS = 5  # of a setting or a measure of the training that is no whole number
MOST_LISTED, ENDS = 12, 3  # values of a setting that are all written, and how many of a longer one at its beginning
SUBSCRIPT = re.compile(r"(?<![^\W_∂])([hxλμΛ])_(?:\{([^}]*)\}|(\w)(?!\w))")
POWER = re.compile(r"\b(e|10)\^([−-]?[0-9.]*[0-9](?:e[−-]?[0-9]+)?)")
PROGRAM = 60_000  # characters of style, modules and words that are not in the parts


def report_page(
    networks: Sequence[ReportedNetwork],
    sections: Mapping[str, str],
    parts: Sequence[Part],
    left: Sequence[Part] = (),
    *,
    spent: str,
    command: str,
    proofs: Mapping[str, str] | None = None,
) -> str:
    """The page.

    Parameters
    ----------
    networks : sequence of ReportedNetwork
        Side by side, in this order.
    sections : mapping
        The headings in their order, each with the question that it answers.
    parts : sequence of Part
        In any order.
    left : sequence of Part
        Parts that there was no time for.
    spent : str
        How long it took and how long it was given, as a sentence.
    command : str
        The command that makes the page.
    proofs : mapping, optional
        Of networks with more than `dynlab.report.proofs.MOST_UNITS` units, the folder beside the page with their
        certificates.
    """
    room = MOST_CHARACTERS - PROGRAM - sum(len(part.picture) for part in parts)
    shown: dict[str, list[dict[str, Any]]] = {name: [] for name in sections}
    order = [network.name for network in networks]
    for part in sorted(parts, key=lambda part: order.index(part.network)):
        one = _shown(part)
        if part.certificates and part.network not in (proofs or {}):
            one["proofs"], one["held"] = packed(part.certificates, room)
            room -= len(one["proofs"])
        one["folder"] = (proofs or {}).get(part.network, "")
        shown[part.section].append(one)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["mathematics"] = mathematics
    return environment.get_template("report.html").render(
        networks=[_facts(network) for network in networks],
        sections=[{"name": name, "question": sections[name], "parts": shown[name]} for name in sections if shown[name]],
        left=left,
        spent=spent,
        command=command,
        version=__version__,
        most_units=MOST_UNITS,
        style=(FOLDER / "report.css").read_text(encoding="utf-8"),
        modules=inlined(FOLDER, "report.mjs"),
        worker=inlined(FOLDER, "worker.mjs"),
    )


def mathematics(text: str) -> Markup:
    """Plain text as HTML, with h_t and e^−3 set as mathematics.

    Examples
    --------
    >>> str(mathematics("max_modulus of ‖∂h_T/∂h_{t−1}‖ < e^−31.8 & e^1e-3"))
    'max_modulus of ‖∂h<sub>T</sub>/∂h<sub>t−1</sub>‖ &lt; e<sup>−31.8</sup> &amp; e<sup>1e-3</sup>'
    """
    plain = str(escape(text))
    below = SUBSCRIPT.sub(lambda found: f"{found[1]}<sub>{found[2] or found[3]}</sub>", plain)
    return Markup(POWER.sub(r"\1<sup>\2</sup>", below))


def _shown(part: Part) -> dict[str, Any]:
    """What the template reads of a part."""
    ds = part.dataset
    verdict = part.verdict
    return {
        "network": part.network,
        "section": part.section,
        "command": part.command,
        "verdict": verdict,
        "first": first_said(verdict),
        "picture": part.picture,
        "printed": part.table,
        "seconds": f"{part.seconds:.1f} s",
        "problem": part.problem,
        "tables": tables(ds),
        "settings": list(_settings(schema.settings(ds)).items()) if ds.attrs else [],
        "method": _sentence(ds.attrs.get("method", "")),
        "certificates": len(part.certificates),
        "proofs": "",
        "held": [],
    }


def _facts(network: ReportedNetwork) -> dict[str, Any]:
    """The rows that say what a network is."""
    found = network.description
    facts = {"file": f"{found['file']}, {found['bytes']:,} bytes", "sha256": found["sha256"], "form": found["format"]}
    facts["parameters"] = f"{found['parameters']:,}"
    for entry in found["systems"]:
        where = f" {entry['layer']}" if entry["layer"] else ""
        facts[f"system{where}"] = (
            f"{entry['system']}: {counted(entry['state_size'], 'number')} of state, {_inputs(entry)}, "
            f"{counted(entry['parameters'], 'parameter')}, {entry['dtype'] or 'no dtype'}"
        )
        facts[f"settings{where}"] = _setting(entry["config"])
    if found["readout"]:
        outputs, width = found["readout"]
        facts["read-out"] = f"{width:,} to {outputs:,}"
    if found["task"]:
        facts["task"] = _setting(found["task"])
    told = found["training"] or {}
    training = {name.replace("_", " "): value for name, value in _settings(told).items()}
    notes = [f"All parts are about the system {network.layer}."] if network.layer and len(found["systems"]) > 1 else []
    notes += [network.assumed] if network.assumed else []
    return {"name": network.name, "command": network.command, "facts": facts, "training": training, "notes": notes}


def _inputs(entry: Mapping[str, Any]) -> str:
    """How many numbers drive the network, and how many a step of it where that is another count."""
    inputs, of_step = entry["input_size"], entry["step_input_size"]
    more = f" of the network and {of_step:,} of a step" if of_step != inputs else ""
    return counted(inputs, "input") + more


def first_said(verdict: str) -> str:
    """The first sentence, with a second one that speaks of the same thing.

    Examples
    --------
    >>> first_said("The exponent is 0.2. It is positive: orbits separate. Check: it is so.")
    'The exponent is 0.2. It is positive: orbits separate.'
    >>> first_said("There is 1 fixed point. All searches converged.")
    'There is 1 fixed point.'
    """
    first, *others = verdict.split(". ")
    more = [each for each in others[:1] if each.startswith(("It is ", "Its "))]
    return _sentence(". ".join([first, *more]))


def _sentence(text: str) -> str:
    """With a full stop, where there is any text."""
    return text.rstrip(".") + "." if text else ""


def _settings(given: Mapping[str, Any]) -> dict[str, str]:
    """Those that were given a value, as a reader reads them."""
    return {name: _setting(value) for name, value in given.items() if value is not None}


def _setting(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} = {text}" for name, text in _settings(value).items())
    if isinstance(value, list) and len(value) > MOST_LISTED:
        shown = [*map(_setting, value[:ENDS]), "…", _setting(value[-1])]
        return f"[{', '.join(shown)}], {len(value):,} values"
    if isinstance(value, list):
        return f"[{', '.join(map(_setting, value))}]"
    if isinstance(value, float):
        return number(value, DIGITS)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
