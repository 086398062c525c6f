"""Files that hold networks in other forms: how each is known, and the way from it to a checkpoint that is read."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

HDF5_START, NUMPY_START = b"\x89HDF\r\n\x1a\n", b"\x93NUMPY"
ONNX_START, ONNX_NEXT = 0x08, 0x12  # the version's tag in a model's first byte, and the producer's name's in its third
BY_NUMPY = "write its arrays under torch's names with numpy.savez, as docs/your-own.md shows"
STATE_DICT = "save its weights with torch.save(torch.{}, new_path)"


def members(path: Path) -> list[str]:
    """Return the names in a zip archive; none if it is damaged, which its own reader says."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    # a damaged archive drives zipfile into any error
    except Exception:
        return []


def is_numpy_archive(names: Sequence[str]) -> bool:
    """Tell whether an archive with these members is one of `numpy.savez`."""
    return bool(names) and all(name.endswith(".npy") for name in names)


def other_format(path: Path, head: bytes, names: Sequence[str]) -> str:
    """Return the sentence that refuses a file of another form and names the way out; empty for none of these.

    Parameters
    ----------
    path : Path
    head : bytes
        The first bytes of the file.
    names : sequence of str
        Those in it, if it is a zip archive.
    """
    inside = [name for name in names if name.endswith((".pt", ".pth", ".ckpt", ".safetensors"))]
    is_onnx = path.suffix == ".onnx" or (len(head) > 2 and (head[0], head[2]) == (ONNX_START, ONNX_NEXT))
    known = (
        (
            any(name.endswith("/constants.pkl") for name in names),
            f"is a TorchScript archive, which is code: {STATE_DICT.format('jit.load(path).state_dict()')}",
        ),
        (
            any(name.endswith("/archive_format") for name in names),
            f"is a program that torch.export wrote: {STATE_DICT.format('export.load(path).state_dict')}",
        ),
        ("model.weights.h5" in names, f"is a Keras model: {BY_NUMPY}"),
        (inside, f"is an archive of other files: unzip it, and give {' or '.join(map(repr, inside[:6]))} alone"),
        (head.startswith(HDF5_START), f"is an HDF5 file, as Keras and NetCDF write: of a network {BY_NUMPY}"),
        (is_onnx, f"is an ONNX model: save the state_dict of the network that it was made of, or {BY_NUMPY}"),
        (
            head.startswith(NUMPY_START),
            "is one array: a checkpoint of arrays is a .npz file, in which they have names",
        ),
    )
    return next((f"{path} {said}." for holds, said in known if holds), "")
