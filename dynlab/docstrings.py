"""Docstrings that are there also where Python was told to leave them out (``python -OO``)."""

import ast
import inspect
import sys
import textwrap
from typing import Any


def docstring(thing: Any) -> str:
    """The docstring of a function or class, from its source where it was left out; empty where there is neither."""
    told = inspect.getdoc(thing) if sys.flags.optimize < 2 else None
    if told is None:
        try:
            source = inspect.getsource(inspect.unwrap(thing))
            (definition,) = ast.parse(textwrap.dedent(source)).body
            if isinstance(definition, ast.FunctionDef | ast.ClassDef):
                told = ast.get_docstring(definition)
        except (OSError, TypeError, ValueError, SyntaxError):
            pass
    return told or ""
