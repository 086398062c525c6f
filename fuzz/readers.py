"""The table of the readers under attack."""

import arrays
import certificates
import checkpoints
import datasets
import official_files
import options
import texts
from reader import Reader, Wrong

__all__ = ["READERS", "Reader", "Wrong"]

READERS = {
    reader.name: reader
    for module in (checkpoints, arrays, datasets, official_files, certificates, texts, options)
    for reader in module.READERS
}
