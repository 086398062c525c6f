"""Files by their names, packed as data sets come."""

import io
import tarfile
import zipfile


def zipped(files, folder=""):
    """The bytes of a zip of `files`, a dictionary from name to content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(f"{folder}{name}", content)
    return buffer.getvalue()


def tarred(files, mode="w:gz", folder=""):
    """The bytes of a tar of `files`, a dictionary from name to content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def put(folder, files):
    """Write `files` below a folder, which is returned."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
