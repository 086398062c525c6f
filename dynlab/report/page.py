"""The report's HTML: parts put under their headings, with style and modules inside, so that it needs no other file."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from dynlab import __version__, schema
from dynlab.javascript import inlined
from dynlab.report.parts import Part
from dynlab.report.proofs import packed
from dynlab.report.tables import tables
from dynlab.words import counted, number

FOLDER = Path(__file__).parent / "modules"
MOST_CHARACTERS = 4_740_000  # of the page, without style, modules and words that are not in the parts
MOST_LISTED, ENDS = 12, 3  # values of a setting that are all written, and how many of a longer one at its beginning
SUBSCRIPT = re.compile(r"(?<![^\W_∂])([hxλμΛ])_(?:\{([^}]*)\}|(\w)(?!\w))")
POWER = re.compile(r"\b(e|10)\^([−-]?[0-9.]*[0-9](?:e[−-]?[0-9]+)?)")


def report_page(
    networks: Sequence[Mapping[str, Any]],
    sections: Mapping[str, str],
    parts: Sequence[Part],
    left: Sequence[Part] = (),
    *,
    spent: str,
    command: str,
) -> str:
    """The page.

    Parameters
    ----------
    networks : sequence of mapping
        Side by side, in this order, each as `described` gives it.
    sections : mapping
        The headings in their order, each with the question that it answers.
    parts : sequence of Part
        In any order.
    left : sequence of Part
        Parts that there was no time for.
    spent : str
        Time taken and time allowed, as a sentence.
    command : str
        The command that makes the page.
    """
    room = MOST_CHARACTERS - sum(len(part.picture) for part in parts)
    order = [network["name"] for network in networks]
    ordered = sorted(parts, key=lambda part: order.index(part.network))
    within: dict[str, tuple[str, list[str]]] = {}  # by network: its packed certificates, and their files
    for part in (part for part in ordered if part.certificates):
        within[part.network] = packed(part.certificates, room)
        room -= len(within[part.network][0])
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"mathematics": mathematics, "first_said": first_said, "sentence": _sentence}
    environment.filters |= {"tables": tables, "settings": lambda ds: _settings(schema.settings(ds))}
    by_section = {name: [part for part in ordered if part.section == name] for name in sections}
    return environment.get_template("report.html").render(
        networks=networks,
        sections=[
            {"name": name, "question": sections[name], "parts": made} for name, made in by_section.items() if made
        ],
        left=left,
        within=within,
        spent=spent,
        command=command,
        version=__version__,
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


def described(name: str, description: Mapping[str, Any], layer: str | None, notes: Sequence[str]) -> dict[str, Any]:
    """Return what the page says of a network before its parts.

    Parameters
    ----------
    name : str
    description : mapping
        As `dynlab.checkpoints.describe` gives it.
    layer : str or None
        Which of the file's systems the parts are about.
    notes : sequence of str
        Assumptions about what the file does not tell, and other sentences.
    """
    facts = {"file": f"{description['file']}, {description['bytes']:,} bytes", "sha256": description["sha256"]}
    facts |= {"form": description["format"], "parameters": f"{description['parameters']:,}"}
    for entry in description["systems"]:
        where = f" {entry['layer']}" if entry["layer"] else ""
        of_step = entry["step_input_size"]
        more = f" of the network and {of_step:,} of a step" if of_step != entry["input_size"] else ""
        facts[f"system{where}"] = (
            f"{entry['system']}: {counted(entry['state_size'], 'number')} of state, "
            f"{counted(entry['input_size'], 'input')}{more}, {counted(entry['parameters'], 'parameter')}, "
            f"{entry['dtype'] or 'no dtype'}"
        )
        facts[f"settings{where}"] = _setting(entry["config"])
    if description["readout"]:
        facts["read-out"] = "{1:,} to {0:,}".format(*description["readout"])
    if description["task"]:
        facts["task"] = _setting(description["task"])
    told = _settings(description["training"] or {})
    about = [f"All parts are about the system {layer}."] if layer and len(description["systems"]) > 1 else []
    return {
        "name": name,
        "command": shlex.join(["dynlab", "inspect", name]),
        "facts": facts,
        "training": {key.replace("_", " "): value for key, value in told.items()},
        "notes": [*about, *notes],
    }


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
    """Return the text with a full stop, or nothing."""
    return text.rstrip(".") + "." if text else ""


def _settings(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that were given a value, as text."""
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
        return number(value, 5)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
