"""CIFAR-10 as sequences: pixel by pixel, or row by row and then noise.

References
----------
.. [1] A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009: the set, its binary version.
.. [2] B. Chang, M. Chen, E. Haber, E. H. Chi, "AntisymmetricRNN: A Dynamical System View on Recurrent Neural Networks",
   ICLR 2019, section 5: both tasks.
"""

from pathlib import Path

import numpy as np

from dynlab.tasks import images, official
from dynlab.tasks.images import Images, Standardise
from dynlab.tasks.task import Task

RECORDS = 10_000  # in each file: a byte of label, then 3 planes, red, green and blue, of 32 rows of 32 pixels
PLANES = (3, 32, 32)
TRAIN_FILES = tuple(f"data_batch_{number}.bin" for number in range(1, 6))
TEST_FILE = "test_batch.bin"
ARCHIVE = "cifar-10-binary.tar.gz"
CIFAR = official.DataSet(
    title="CIFAR-10",
    folder="cifar10",
    files={
        "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
    },
    downloads={ARCHIVE: (f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}", "md5:c32a1d4ab5d03f1284b67883e8d87530")},
    unpacked="cifar-10-batches-bin",
)
HELD_OUT_SHARE = 0.1  # 5,000 of the 50,000
LENGTH = 1000  # of a noise-padded sequence
SPLITS = (
    "The official 50,000 training images, of which 5,000 drawn by the seed are held out, and 10,000 test images. "
    "AntisymmetricRNN speaks of no validation set and ERNN of 60,000 training images, more than there are."
)


def scifar(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "none",
    download: bool = True,
) -> Task:
    """Colour images of ten kinds of things, one of 1,024 pixels a step, row by row.

    Parameters
    ----------
    seed : int
        Chooses the training images held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        A folder with the official files of the binary version, see `official.read`.
    standardise : {"none", "feature", "channel", "global"}
        Not at all, each colour of each pixel, each colour, or all values together; over the training examples.
    download : bool
        Fetch the data set where it is not at hand.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had.
    """
    return images.make(
        "scifar",
        load(data_dir, download=download),
        f"CIFAR-10, the three colours of one pixel a step, row by row from the top left. {SPLITS} The source does not "
        "say how pixels are scaled: here to [0, 1], or as standardise says.",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
        arrange=images.by_pixels,
        held_out_share=HELD_OUT_SHARE,
    )


def noisy_cifar(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "global",
    length: int = LENGTH,
    download: bool = True,
) -> Task:
    """Colour images of ten kinds of things, one of 32 rows a step, and then 968 steps of noise.

    Parameters
    ----------
    seed, retrain, data_dir, standardise, download
        As in `scifar`.
    length : int
        Steps of the whole sequence; 32 is without noise.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a length below 32.
    """
    return images.make(
        "noisy-cifar",
        load(data_dir, download=download),
        f"CIFAR-10, one row of 96 values a step, and then {length - 32} steps of standard normal noise. It is drawn "
        "for each image and step independently; some code draws one block for all images, which is another task. The "
        "source does not say how the rows are scaled: here they are standardised, so that noise and image have one "
        f"variance. Nor does it say whether noise is drawn anew each epoch: here an image keeps its own. {SPLITS}",
        {"seed": seed, "retrain": retrain, "standardise": standardise, "length": length},
        arrange=images.by_rows,
        held_out_share=HELD_OUT_SHARE,
        length=length,
    )


def load(data_dir: str | Path | None = None, *, download: bool = True) -> Images:
    """The data set; see `official.read` for where it is looked for and what is raised."""
    batches, origin = official.read(CIFAR, batch, data_dir, download=download)
    pixels, labels = (np.concatenate(parts) for parts in zip(*(batches[name] for name in TRAIN_FILES), strict=True))
    return Images(pixels, labels, *batches[TEST_FILE], {"origin": origin, "sha256": CIFAR.sha256})


def batch(_: str, content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels, (record, colour, row, column), and the labels of one file."""
    records = np.frombuffer(content, np.uint8).reshape(RECORDS, 1 + int(np.prod(PLANES)))
    return records[:, 1:].reshape(RECORDS, *PLANES), records[:, 0].astype(np.int64)
