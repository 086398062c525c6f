"""What a tar archive holds, one after the other, where its headers claim no more than those of a data set do."""

import tarfile
from collections.abc import Iterator

LONGEST_HEADER = 1 << 16  # bytes of a name or of what else is said of a file; tarfile reads it whole
MOST_FILES = 1 << 18  # tarfile keeps the header of each; the largest of the official archives has 65 thousand
OF_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)


class Bounded(tarfile.TarInfo):
    """A file's header, refused where what is said of the file is longer than anything that is said of one."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "Bounded":
        """The header of a block of bytes.

        Raises
        ------
        ValueError
            Where more bytes of description follow than `LONGEST_HEADER`, and of a sparse file: its map has any length.
        """
        found = super().frombuf(buf, encoding, errors)
        if found.type in OF_HEADERS and found.size > LONGEST_HEADER:
            raise ValueError(f"a header has {found.size:,} bytes, more than {LONGEST_HEADER:,}")
        if found.type == tarfile.GNUTYPE_SPARSE:
            raise ValueError("a file in it is sparse, which none of a data set is")
        return found


def members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The files of an archive that was opened with `tarinfo=Bounded`.

    Raises
    ------
    ValueError
        Where there are more than `MOST_FILES`.
    """
    for count, member in enumerate(archive):
        if count == MOST_FILES:
            raise ValueError(f"it has more than {MOST_FILES:,} files")
        yield member
