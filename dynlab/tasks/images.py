"""MNIST and CIFAR-10 as sequences: pixel by pixel, in a permuted order, or row by row and then noise.

References
----------
.. [1] Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", 1998.
.. [2] Q. V. Le, N. Jaitly, G. E. Hinton, "A Simple Way to Initialize Recurrent Networks of Rectified Linear Units",
   2015, section 4.2: the pixels one by one, and in a permuted order.
.. [3] M. Arjovsky, A. Shah, Y. Bengio, "Unitary Evolution Recurrent Neural Networks", ICML 2016: the permutation.
.. [4] A. Kag, Z. Zhang, V. Saligrama, "RNNs Evolving on an Equilibrium Manifold: A Panacea for Vanishing and Exploding
   Gradients?", 2019, section 4: the rows and then noise.
.. [5] A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009: CIFAR-10, its binary version.
.. [6] B. Chang, M. Chen, E. Haber, E. H. Chi, "AntisymmetricRNN: A Dynamical System View on Recurrent Neural Networks",
   ICLR 2019, section 5: both tasks of CIFAR-10.
"""

import struct
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dynlab.errors import UserError
from dynlab.tasks import official, recordings
from dynlab.tasks.task import Split, Task

Standardise = Literal["none", "feature", "channel", "global"]
Images = tuple[Split, Split, dict[str, str]]  # for training and for the test, (image, channel, row, column); the source
LEVELS = 255.0  # pixels are 0 to 255
CLASSES = 10  # of MNIST and of CIFAR-10
PLANES = (3, 32, 32)  # of CIFAR-10: red, green and blue, of 32 rows of 32 pixels
HELD_OUT_OF_MNIST, HELD_OUT_OF_CIFAR = 1 / 6, 0.1  # 10,000 of the 60,000, as nnRNN's code; 5,000 of the 50,000
PERMUTATION_SEED = 92916  # of the permutation in Arjovsky's code, which expRNN's and asRNN's have too
LENGTH = 1000  # of a noise-padded sequence
OF_MNIST = (
    "The official 60,000 training images, of which 10,000 drawn by the seed are held out, and 10,000 test images. The "
    "sources hold out none and report the best test accuracy of all epochs (expRNN, asRNN), 5,000 (the unitary RNNs), "
    "10,000 (nnRNN), or do not say."
)
SCALES = (
    "Pixels are in [0, 1] as in expRNN and asRNN; ERNN standardises without saying over what: per pixel "
    "(standardise=feature) or all together (global)."
)
OF_CIFAR = (
    "The official 50,000 training images, of which 5,000 drawn by the seed are held out, and 10,000 test images. "
    "AntisymmetricRNN speaks of no validation set and ERNN of 60,000 training images, more than there are."
)


def smnist(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "none",
    download: bool = True,
) -> Task:
    """Handwritten digits, one of 784 pixels a step, row by row.

    Parameters
    ----------
    seed : int
        Chooses the training images held out for validation.
    retrain : bool
        Train on all of them.
    data_dir : str or Path, optional
        A folder with the official files, see `official.read`.
    standardise : {"none", "feature", "channel", "global"}
        Not at all, each pixel, or all values together; over the training examples.
    download : bool
        Fetch the data set where it is not at hand.

    Returns
    -------
    Task
    """
    return _make(
        "smnist",
        mnist(data_dir, download=download),
        HELD_OUT_OF_MNIST,
        f"MNIST, one pixel a step, row by row from the top left. {OF_MNIST} {SCALES}",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
    )


def pmnist(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "none",
    permutation_seed: int = PERMUTATION_SEED,
    download: bool = True,
) -> Task:
    """Handwritten digits, one of 784 pixels a step, in one fixed random order.

    Parameters
    ----------
    seed, retrain, data_dir, standardise, download
        As in `smnist`.
    permutation_seed : int
        Step t shows the pixel that stands at place t of ``RandomState(permutation_seed).permutation(784)``.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a seed outside 0 to 2³² − 1.
    """
    if not 0 <= permutation_seed < 2**32:
        raise UserError(f"permutation_seed must be at least 0 and below 2**32, got {permutation_seed}.")
    return _make(
        "pmnist",
        mnist(data_dir, download=download),
        HELD_OUT_OF_MNIST,
        f"MNIST, one pixel a step in the order of RandomState({permutation_seed}).permutation(784). Seed 92916 is that "
        f"of expRNN, asRNN and the unitary RNNs, 1234 that of nnRNN; AntisymmetricRNN and ERNN name none. {OF_MNIST} "
        f"{SCALES}",
        {"seed": seed, "retrain": retrain, "standardise": standardise, "permutation_seed": permutation_seed},
        np.random.RandomState(permutation_seed).permutation(28 * 28),
    )


def noisy_mnist(
    *,
    seed: int = 0,
    retrain: bool = False,
    data_dir: str | Path | None = None,
    standardise: Standardise = "global",
    length: int = LENGTH,
    download: bool = True,
) -> Task:
    """Handwritten digits, one of 28 rows a step, and then 972 steps of noise.

    Parameters
    ----------
    seed, retrain, data_dir, standardise, download
        As in `smnist`.
    length : int
        Steps of the whole sequence; 28 is without noise.

    Returns
    -------
    Task

    Raises
    ------
    UserError
        If the data set is not to be had, and for a length below 28.
    """
    return _make(
        "noisy-mnist",
        mnist(data_dir, download=download),
        HELD_OUT_OF_MNIST,
        f"MNIST, one row a step, and then {length - 28} steps of standard normal noise, drawn for each image and step "
        "independently. The source does not say how the rows are scaled: here they are standardised, so that noise "
        "and image have one variance. Nor does it say whether noise is drawn anew each epoch: here an image keeps "
        f"its own. {OF_MNIST}",
        {"seed": seed, "retrain": retrain, "standardise": standardise, "length": length},
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
    """
    return _make(
        "scifar",
        cifar(data_dir, download=download),
        HELD_OUT_OF_CIFAR,
        f"CIFAR-10, the three colours of one pixel a step, row by row from the top left. {OF_CIFAR} The source does "
        "not say how pixels are scaled: here to [0, 1], or as standardise says.",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
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
    return _make(
        "noisy-cifar",
        cifar(data_dir, download=download),
        HELD_OUT_OF_CIFAR,
        f"CIFAR-10, one row of 96 values a step, and then {length - 32} steps of standard normal noise. It is drawn "
        "for each image and step independently; some code draws one block for all images, which is another task. The "
        "source does not say how the rows are scaled: here they are standardised, so that noise and image have one "
        f"variance. Nor does it say whether noise is drawn anew each epoch: here an image keeps its own. {OF_CIFAR}",
        {"seed": seed, "retrain": retrain, "standardise": standardise, "length": length},
    )


def _make(
    name: str,
    images: Images,
    held_out_share: float,
    description: str,
    settings: dict[str, Any],
    order: np.ndarray | slice = slice(None),
) -> Task:
    """A classification of images: with a ``length`` a row a step and then noise, else a pixel a step in some order."""
    *splits, source = images
    train, test = (Split(in_steps(part.inputs, "length" in settings)[:, order], part.targets) for part in splits)
    return recordings.make(name, (train, test, source), held_out_share, CLASSES, description, settings, levels=LEVELS)


def in_steps(images: np.ndarray, by_rows: bool) -> np.ndarray:
    """A row or a pixel a step: (image, channel, row, column) to (image, step, channel, column)."""
    return images.reshape(*images.shape[:2], -1, images.shape[3] if by_rows else 1).swapaxes(1, 2)


def mnist(data_dir: str | Path | None = None, *, download: bool = True) -> Images:
    """Handwritten digits; see `official.read`."""
    files, source = official.read(official.DATA_SETS["mnist"], data_dir, download=download)
    x_train, y_train, x_test, y_test = map(idx, files)
    train, test = Split(x_train[:, None], y_train.astype(np.int64)), Split(x_test[:, None], y_test.astype(np.int64))
    return train, test, source


def idx(content: bytes) -> np.ndarray:
    """Return the array of an idx file: two zero bytes, a type, the number of dimensions, their sizes, the values."""
    shape = struct.unpack_from(f">{content[3]}I", content, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)


def cifar(data_dir: str | Path | None = None, *, download: bool = True) -> Images:
    """Colour images of things; see `official.read`."""
    files, source = official.read(official.DATA_SETS["cifar"], data_dir, download=download)
    *train, test = files
    return records(b"".join(train)), records(test), source


def records(content: bytes) -> Split:
    """Return the images of a file of records, each a byte of label and the three planes."""
    found = np.frombuffer(content, np.uint8).reshape(-1, 1 + int(np.prod(PLANES)))
    return Split(found[:, 1:].reshape(-1, *PLANES), found[:, 0].astype(np.int64))
