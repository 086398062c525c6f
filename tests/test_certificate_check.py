"""The independent checker accepts what is proved and nothing that was tampered with; its arithmetic encloses."""

import copy
import json
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
import torch

from dynlab import certificate_check
from dynlab.certificate_check import Arithmetic, Rejected, check, main
from dynlab.diagnostics.fixed_points import fixed_points
from dynlab.systems import create
from dynlab.systems.textbook import LinearMap
from dynlab.systems.torch_layers import torch_layer


def bistable():
    """Two stable points and a saddle between them."""
    cell = create("vanilla", input_size=1, state_size=3).double()
    with torch.no_grad():
        cell.W.copy_(torch.tensor([[1.8, 0.2, 0.0], [0.1, 0.4, -0.3], [0.0, 0.3, 0.4]]))
        cell.b.fill_(0.01)
    return cell


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("proofs")
    torch.manual_seed(0)
    fixed_points(bistable(), at=[0.0], starts=32, certificates=place / "bistable")
    for name, layer in {"gru": torch.nn.GRU(2, 5), "lstm": torch.nn.LSTM(2, 4, 2, proj_size=3)}.items():
        fixed_points(torch_layer(layer), starts=16, certificates=place / name)
    relu = torch_layer(torch.nn.RNN(2, 5, nonlinearity="relu"))
    fixed_points(relu, at=[0.5, -1.0], starts=32, certificates=place / "relu")
    fixed_points(LinearMap([[0.5, 1.0, 0.0], [0.0, 0.5, 1.0], [0.0, 0.0, 0.5]]), certificates=place / "jordan")
    return place


@pytest.mark.parametrize(
    "name, stable, unstable", [("bistable", 2, 1), ("gru", 1, 0), ("lstm", 1, 0), ("relu", 1, 0), ("jordan", 1, 0)]
)
def test_what_is_proved_is_found_correct_by_python_alone(folder, name, stable, unstable, tmp_path):
    script = tmp_path / "certificate_check.py"
    script.write_bytes(Path(certificate_check.__file__).read_bytes())
    files = sorted(map(str, (folder / name).iterdir()))
    # -I -S: no dynlab, no numpy, nothing but the standard library
    done = subprocess.run([sys.executable, "-I", "-S", str(script), *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("it is stable") == stable
    assert done.stdout.count("it is unstable: 1 of") == unstable


@pytest.mark.parametrize("layer, size, seed, points", [("GRU", 5, 2, 1), ("RNN", 16, 3, 3)])
def test_discs_of_complex_pairs_are_found_where_they_are_claimed(layer, size, seed, points, tmp_path):
    """A complex entry's spread is √(r² + s²), as in Arb; r + s made the checker's discs larger than the claimed."""
    torch.manual_seed(seed)
    network = getattr(torch.nn, layer)(2, size).double()
    with torch.no_grad():
        network.weight_hh_l0.mul_(3)
    fixed_points(torch_layer(network), starts=16, certificates=tmp_path)
    shown = [check(json.loads(path.read_text())) for path in tmp_path.iterdir()]
    assert len(shown) == points


def scaled(text, factor):
    mantissa, exponent = text.split("p")
    return f"{int(mantissa, 16) * int(factor * 2**20):x}p{int(exponent) - 20}"


def with_radius(document, factor):
    document["ball"]["radius"] = scaled(document["ball"]["radius"], factor)


def with_moved_point(document, factor):
    document["ball"]["center"][0] = scaled(document["ball"]["center"][0], factor)
    document["tight_ball"]["center"][0] = scaled(document["tight_ball"]["center"][0], factor)


def with_other_weight(document):
    linear = next(operation for operation in document["program"] if operation["name"] == "linear")
    linear["values"][0][0] = scaled(linear["values"][0][0], 1 + 2**-20)


def with_other_weight_and_its_digest(document):
    with_other_weight(document)
    document["digest"] = certificate_check.hashlib.sha256(json.dumps(document["program"]).encode()).hexdigest()


TAMPERINGS = {
    "a smaller radius": (lambda d: with_radius(d, 2**-10), "Krawczyk"),
    "a huge radius": (lambda d: with_radius(d, 2**140), "Krawczyk"),
    "another point": (lambda d: with_moved_point(d, 1 + 2**-15), "Krawczyk"),
    "another weight": (with_other_weight, "digest"),
    "another weight with its digest": (with_other_weight_and_its_digest, "Krawczyk"),
    "another inverse": (lambda d: d["tight_ball"]["inverse"].reverse(), "Krawczyk"),
    "other eigenvectors": (lambda d: d["vectors"]["real"].reverse(), "inverse of the eigenvectors"),
    "a smaller disc": (lambda d: d["eigenvalues"][0].update(radius="1p-500"), "eigenvalue 0"),
    "a moved disc": (lambda d: d["eigenvalues"][0].update(real="1p1"), "eigenvalue 0"),
    "too many outside": (lambda d: d["claims"].update(outside=3, inside=0), "eigenvalues are shown"),
    "fewer dimensions": (lambda d: d["ball"]["center"].pop(), "fit|numbers|lengths"),
    "a missing disc": (lambda d: d["eigenvalues"].pop(), "discs"),
    "a huge precision": (lambda d: d.update(precision=10**400), "65536 bits"),
    "a center of a billion bits": (lambda d: d["ball"]["center"].__setitem__(0, "1p-1000000000"), "65536 bits"),
    "another format": (lambda d: d.update(format="dynlab certificate 0"), "format"),
    "an unknown operation": (lambda d: d["program"][-1].update(name="relish"), "digest"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("number", [0, 2])
def test_what_was_tampered_with_is_rejected(folder, name, number):
    document = json.loads((folder / "bistable" / f"fixed-point-{number}.json").read_text())
    check(copy.deepcopy(document))
    change, sentence = TAMPERINGS[name]
    change(document)
    with pytest.raises(Rejected, match=sentence):
        check(document)


def test_exit_codes(folder, tmp_path, capsys):
    good = folder / "bistable" / "fixed-point-0.json"
    document = json.loads(good.read_text())
    with_radius(document, 0.001)
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    assert main([str(good)]) == 0
    assert main([str(good), str(bad)]) == 1
    assert "REJECTED" in capsys.readouterr().out
    assert main([str(tmp_path / "none.json")]) == main([]) == 2
    bad.write_text('{"format": "dynlab certificate 1"}')
    assert main([str(bad)]) == 2


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("radius", [0.0, 1e-9, 0.7])
def test_its_functions_enclose_theirs_tightly(name, radius):
    arithmetic = Arithmetic(200)
    places = np.concatenate([[0.0, -0.3, 40.0, -800.0, 1e-30], np.random.default_rng(0).normal(0, 4, 20)])

    def grid(value):
        return int(mpmath.nint(mpmath.ldexp(mpmath.mpf(value), 200)))

    def slope(x):
        half = x if name == "tanh" else x / 2
        return mpmath.sech(half) ** 2 / (1 if name == "tanh" else 4)

    def function(x):
        return mpmath.tanh(x) if name == "tanh" else (1 + mpmath.tanh(x / 2)) / 2

    with mpmath.workdps(120):
        for place in places:
            found = getattr(arithmetic, name)((grid(place), grid(radius)))
            inner = [mpmath.mpf(place) + mpmath.mpf(radius) * k / 4 for k in range(-4, 5)]
            for (middle, reach), truth in zip(found, (function, slope), strict=True):
                values = [mpmath.ldexp(truth(x), 200) for x in inner]
                assert middle - reach <= min(values)
                assert max(values) <= middle + reach
                if radius == 0:
                    assert reach <= 16
