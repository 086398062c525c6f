import io
import json

import size

SHORT = '"""A module."""\n\n\ndef first(x):\n    """Return x."""\n    # why\n    y = x\n    return y\n'


def tree(root, **files):
    for name, text in {"dynlab/numerics/roots.py": SHORT, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "tests").mkdir(exist_ok=True)
    return root


def test_no_folder_grew():
    out = io.StringIO()
    assert size.main(["--check"], out=out) == 0, out.getvalue()


def test_folders_core_and_long_files_and_functions(tmp_path):
    function = 'def f():\n    """Return\n\n    nothing.\n    """\n\n    # why\n' + "    x = 1\n" * 49
    assert size.long_functions(function) == []
    assert size.long_functions(function + "    x = 1\n") == [("f", 51)]
    long = "x = 1\n" * 301
    root = tree(
        tmp_path, **{"dynlab/io.py": long, "dynlab/kinks.py": "x = 1\n", "cli/a/b.py": "x = 1\n", "cli/c.js": "1\n2\n"}
    )
    (root / "dynlab/numerics/numbers.json").write_text("[1, 2]")
    folders, core, files, functions = size.measure(root)
    assert {name: row["statements"] for name, row in folders.items()} == {"dynlab/numerics": 3, "dynlab": 302, "cli": 1}
    assert core["statements"] == 4
    assert [(str(path), lines) for path, lines in files] == [("dynlab/io.py", 301)]
    assert functions == []
    assert folders["cli"]["javascript"] == 2
    assert folders["dynlab/numerics"]["data"] == 6


def test_a_folder_that_grew_needs_a_reason(tmp_path):
    root, out = tree(tmp_path), io.StringIO()
    assert size.main(["--write"], root, out) == 0
    assert size.main(["--check"], root, out) == 0
    tree(root, **{"dynlab/numerics/roots.py": SHORT + "\n\nz = 1\n", "dynlab/plots/lines.py": "x = 1\n"})
    out = io.StringIO()
    assert size.main(["--check"], root, out) == 1
    assert "dynlab/numerics has 4 statements, the ledger allows 3" in out.getvalue()
    assert "dynlab/plots has 1 statements, the ledger allows 0" in out.getvalue()
    ledger = json.loads((root / size.LEDGER).read_text())
    ledger["reasons"] = {"dynlab/numerics": "One more root.", "dynlab/plots": "The first picture."}
    (root / size.LEDGER).write_text(json.dumps(ledger))
    assert size.main(["--check"], root, out) == 0
    size.main(["--write"], root, out)
    assert json.loads((root / size.LEDGER).read_text())["reasons"] == {}
