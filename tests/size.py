"""Count what the product consists of, and hold each folder to tests/size_ledger.json.

python tests/size.py prints the counts, --check compares them with the ledger, --write rewrites the ledger. A folder
that has to grow gets a sentence under "reasons" in the ledger; the next --write records the new count and drops it.
"""

import ast
import io
import json
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEDGER = "tests/size_ledger.json"
PRODUCT = ("dynlab", "cli", "figures")
CORE_FOLDERS = ("diagnostics", "numerics", "jacobians", "proofs", "systems", "program", "trajectories")
CORE_FILES = ("operators", "program", "driven", "simulation", "kinks")
LONGEST_FILE, LONGEST_FUNCTION = 300, 50  # lines; of code in a function
COLUMNS = {"statements": 12, "tokens": 12, "javascript": 14, "data": 16}  # widths
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def is_text(node):
    """Tell whether a statement is a string alone, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def statements(text):
    """Count the statements of a Python file without its docstrings."""
    return sum(isinstance(node, ast.stmt) and not is_text(node) for node in ast.walk(ast.parse(text)))


def tokens(text):
    """Count the tokens of a Python file without comments, line ends and indentation."""
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline)]
    return sum(kind not in NO_CODE for kind in kinds) - 1  # the end marker


def long_functions(text):
    """Return (name, lines of code) of each function with too many, without its docstring, blank lines and comments."""
    lines, found = text.splitlines(), []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            described = range(first.lineno, first.end_lineno + 1) if is_text(first) else ()
            numbers = [number for number in range(node.lineno, node.end_lineno + 1) if number not in described]
            length = sum(bool(line := lines[number - 1].strip()) and line[0] != "#" for number in numbers)
            if length > LONGEST_FUNCTION:
                found.append((node.name, length))
    return found


def folder_of(path):
    """Return the row of a file: cli, figures, dynlab/<folder>, or dynlab for the files directly in it."""
    return "/".join(path.parts[:2]) if path.parts[0] == "dynlab" and len(path.parts) > 2 else path.parts[0]


def in_core(path):
    """Tell whether a Python file belongs to the core."""
    names = CORE_FILES if len(path.parts) == 2 else CORE_FOLDERS
    return path.parts[0] == "dynlab" and Path(path.parts[1]).stem in names


def measure(root=ROOT):
    """Return the counts of each folder, those of the core, the files and the functions that are too long."""
    folders, core, files, functions = {}, Counter(), [], []
    paths = (path for top in PRODUCT for path in sorted((root / top).rglob("*")) if path.is_file())
    for path in (path.relative_to(root) for path in paths if "__pycache__" not in path.parts):
        row = folders.setdefault(folder_of(path), Counter())
        if path.suffix == ".py":
            text = (root / path).read_text()
            counts = Counter(statements=statements(text), tokens=tokens(text))
            row += counts
            core += counts if in_core(path) else Counter()
            files += [(path, lines)] if (lines := len(text.splitlines())) > LONGEST_FILE else []
            functions += [(path, *function) for function in long_functions(text)]
        elif path.suffix in {".js", ".mjs"}:
            row["javascript"] += len((root / path).read_text().splitlines())
        elif path.suffix != ".pyi":
            row["data"] += (root / path).stat().st_size
    return folders, core, files, functions


def ledger_of(folders):
    """Return what the ledger keeps of the counts."""
    kept = {name: row["statements"] for name, row in sorted(folders.items()) if row["statements"]}
    return {"statements": kept, "tokens": sum(row["tokens"] for row in folders.values()), "reasons": {}}


def grown(folders, ledger):
    """Return one sentence for each folder that has more statements than the ledger allows, and gives no reason."""
    now, allowed = ledger_of(folders)["statements"], ledger["statements"]
    return [
        f"{name} has {count:,} statements, the ledger allows {allowed.get(name, 0):,}: shorten it, or say why it grew "
        f'under "reasons" in {LEDGER}'
        for name, count in now.items()
        if count > allowed.get(name, 0) and name not in ledger["reasons"]
    ]


def main(arguments, root=ROOT, out=sys.stdout):
    """Print the counts, check them or write the ledger; return the exit code."""
    folders, core, files, functions = measure(root)
    if "--write" in arguments:
        (root / LEDGER).write_text(json.dumps(ledger_of(folders), indent=2) + "\n")
    if "--check" in arguments:
        complaints = grown(folders, json.loads((root / LEDGER).read_text()))
        out.writelines(f"{line}\n" for line in complaints)
        return int(bool(complaints))
    total = sum(folders.values(), Counter())
    out.write(f"{'':32}{'statements':>12}{'tokens':>12}{'lines of JS':>14}{'bytes of data':>16}\n")
    for name, row in [*sorted(folders.items()), ("the core", core), ("all", total)]:
        out.write(f"{name:32}" + "".join(f"{row[key]:>{width},}" for key, width in COLUMNS.items()) + "\n")
    out.write(f"\n{len(files)} files over {LONGEST_FILE} lines\n")
    out.writelines(f"  {lines:>5}  {path}\n" for path, lines in sorted(files, key=lambda found: -found[1]))
    out.write(f"{len(functions)} functions over {LONGEST_FUNCTION} lines of code\n")
    out.writelines(
        f"  {lines:>5}  {path}: {name}\n" for path, name, lines in sorted(functions, key=lambda found: -found[2])
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
