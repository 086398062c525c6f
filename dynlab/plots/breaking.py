"""Text in lines: where they may break, and how many letters one has room for."""

import re
import textwrap
from weakref import WeakKeyDictionary

from matplotlib.text import Text

FEWEST = 12  # letters: no line is broken to fewer
TIED = re.compile(
    r" (?=I(?:\W|$))| (?=[=±−≤≥<>×≈%] |% |[=±−≤≥<>×≈] |%[.,;)]|[\d.,]+[).][.,;]?(?:\s|$))|(?<= [=±−≤≥<>×≈]) "
)
FORMULA, SET = "\x01", "\x02"  # stand for the letters of a formula while lines are broken
MARKUP = re.compile(r"\\[a-z]+|[${}_^]")
_WHOLE: WeakKeyDictionary[Text, str] = WeakKeyDictionary()  # texts as they were before they were broken


def broken(text: str, letters: float) -> str:
    """The text in lines of so many letters; formulas, signs and a number that ends a phrase stay with their words."""
    formulas: list[str] = re.findall(r"\$[^$]*\$", text)  # as long as they are when set, not as they are written
    kept = re.sub(r"\$[^$]*\$", lambda found: FORMULA + SET * (len(MARKUP.sub("", found.group())) - 1), text)
    kept = TIED.sub("\x00", kept)
    lines = (_filled(line, max(FEWEST, int(letters))) for line in kept.split("\n"))
    whole = "\n".join(lines).replace("\x00", " ")
    return re.sub(f"{FORMULA}{SET}*", lambda _: formulas.pop(0), whole)


def _filled(line: str, letters: int) -> str:
    """In lines that end between words: lstm-har2 is one."""
    return textwrap.fill(line, letters, break_long_words=False, break_on_hyphens=False)


def break_to(text: Text, pixels: float) -> None:
    """Break a text that is longer than so many pixels."""
    if not text.get_text():
        return
    whole = _WHOLE.setdefault(text, text.get_text())
    text.set_text(whole)
    box = text.get_window_extent()
    longest = max(box.width, box.height)  # one that is turned runs upwards
    if longest > pixels:
        letters = max(map(len, whole.split("\n")))
        text.set_text(broken(whole, letters * pixels / longest))
