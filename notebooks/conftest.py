"""What a lesson prints holds no nan: its test fails where one does."""

import re
from typing import Any

from nbmake.nb_run import NotebookRun

NAN = re.compile(r"\bnan\b", re.IGNORECASE)
execute = NotebookRun.execute


def printed(notebook: Any) -> str:
    """Return the text of all outputs of an executed notebook."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(output.get("text", "") + str(output.get("data", {}).get("text/plain", "")) for output in outputs)


def checked(self: NotebookRun) -> Any:
    """Run a notebook, and fail where it has printed a nan."""
    result = execute(self)
    if found := NAN.search(text := printed(result.nb)):
        raise AssertionError(f"the lesson printed nan: {text[max(0, found.start() - 80) : found.end() + 80]}")
    return result


NotebookRun.execute = checked  # type: ignore[method-assign]
