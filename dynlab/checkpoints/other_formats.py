"""Files that hold networks in other forms: how each is known, and the way from it to a checkpoint that is read."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

from dynlab.reading import out_of_memory

HDF5_START, NUMPY_START = b"\x89HDF\r\n\x1a\n", b"\x93NUMPY"
ONNX_START, ONNX_NEXT = 0x08, 0x12  # the version's tag in a model's first byte, and the producer's name's in its third
BY_NUMPY = "write its arrays under torch's names with numpy.savez, as docs/your-own.md shows"
STATE_DICT = "save its weights with torch.save(torch.{}, new_path)"


def members(path: Path) -> list[str]:
    """The names in a zip archive; none where it is damaged, of which its own reader tells."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    # a damaged archive drives zipfile into any error at all
    except Exception as error:
        if out_of_memory(error):
            raise
        return []


def is_numpy_archive(names: Sequence[str]) -> bool:
    """Whether an archive with these members is one of `numpy.savez`."""
    return bool(names) and all(name.endswith(".npy") for name in names)


def other_format(path: Path, head: bytes, names: Sequence[str]) -> str:
    """The sentence that refuses a file of another form and names the way out; empty where the form is none of these.

    Parameters
    ----------
    path : Path
    head : bytes
        The first bytes of the file.
    names : sequence of str
        Those in it, where it is a zip archive.
    """
    if any(name.endswith("/constants.pkl") for name in names):
        way = STATE_DICT.format("jit.load(path).state_dict()")
        return f"{path} is a TorchScript archive, which is code: {way}."
    if any(name.endswith("/archive_format") for name in names):
        way = STATE_DICT.format("export.load(path).state_dict")
        return f"{path} is a program that torch.export wrote: {way}."
    if "model.weights.h5" in names:
        return f"{path} is a Keras model: {BY_NUMPY}."
    if head.startswith(HDF5_START):
        return f"{path} is an HDF5 file, as Keras and NetCDF write: of a network {BY_NUMPY}."
    if path.suffix == ".onnx" or (len(head) > 2 and (head[0], head[2]) == (ONNX_START, ONNX_NEXT)):
        return f"{path} is an ONNX model: save the state_dict of the network that it was made of, or {BY_NUMPY}."
    if head.startswith(NUMPY_START):
        return f"{path} is one array: a checkpoint of arrays is a .npz file, in which they have names."
    return ""
