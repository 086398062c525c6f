"""MNIST as sequences: pixel by pixel, in a permuted order, or row by row and then noise.

References
----------
.. [1] Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits", 1998.
.. [2] Q. V. Le, N. Jaitly, G. E. Hinton, "A Simple Way to Initialize Recurrent Networks of Rectified Linear Units",
   2015, section 4.2: the pixels one by one, and in a permuted order.
.. [3] M. Arjovsky, A. Shah, Y. Bengio, "Unitary Evolution Recurrent Neural Networks", ICML 2016: the permutation.
.. [4] A. Kag, Z. Zhang, V. Saligrama, "RNNs Evolving on an Equilibrium Manifold: A Panacea for Vanishing and Exploding
   Gradients?", 2019, section 4: the rows and then noise.
"""

import struct
from pathlib import Path

import numpy as np

from dynlab.errors import UserError
from dynlab.tasks import images, official
from dynlab.tasks.images import Images, Standardise
from dynlab.tasks.task import Task

HOME = "https://ossci-datasets.s3.amazonaws.com/mnist/"
MNIST = official.DataSet(
    title="MNIST",
    folder="mnist",
    files={
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
    downloads={
        f"{name}.gz": (f"{HOME}{name}.gz", f"md5:{md5}")
        for name, md5 in {
            "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
            "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
            "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
        }.items()
    },
)
HELD_OUT_SHARE = 1 / 6  # 10,000 of the 60,000, as nnRNN's code
PERMUTATION_SEED = 92916  # of the permutation in Arjovsky's code, which expRNN's and asRNN's have too
LENGTH = 1000  # of a noise-padded sequence
SPLITS = (
    "The official 60,000 training images, of which 10,000 drawn by the seed are held out, and 10,000 test images. The "
    "sources hold out none and report the best test accuracy of all epochs (expRNN, asRNN), 5,000 (the unitary RNNs), "
    "10,000 (nnRNN), or do not say."
)
SCALES = (
    "Pixels are in [0, 1] as in expRNN and asRNN; ERNN standardises without saying over what: per pixel "
    "(standardise=feature) or all together (global)."
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

    Raises
    ------
    UserError
        If the data set is not to be had.
    """
    return images.make(
        "smnist",
        load(data_dir, download=download),
        f"MNIST, one pixel a step, row by row from the top left. {SPLITS} {SCALES}",
        {"seed": seed, "retrain": retrain, "standardise": standardise},
        arrange=images.by_pixels,
        held_out_share=HELD_OUT_SHARE,
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
    return images.make(
        "pmnist",
        load(data_dir, download=download),
        f"MNIST, one pixel a step in the order of RandomState({permutation_seed}).permutation(784). Seed 92916 is that "
        f"of expRNN, asRNN and the unitary RNNs, 1234 that of nnRNN; AntisymmetricRNN and ERNN name none. {SPLITS} "
        f"{SCALES}",
        {"seed": seed, "retrain": retrain, "standardise": standardise, "permutation_seed": permutation_seed},
        arrange=images.by_pixels,
        held_out_share=HELD_OUT_SHARE,
        order=np.random.RandomState(permutation_seed).permutation(28 * 28),
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
    return images.make(
        "noisy-mnist",
        load(data_dir, download=download),
        f"MNIST, one row a step, and then {length - 28} steps of standard normal noise, drawn for each image and step "
        "independently. The source does not say how the rows are scaled: here they are standardised, so that noise "
        "and image have one variance. Nor does it say whether noise is drawn anew each epoch: here an image keeps "
        f"its own. {SPLITS}",
        {"seed": seed, "retrain": retrain, "standardise": standardise, "length": length},
        arrange=images.by_rows,
        held_out_share=HELD_OUT_SHARE,
        length=length,
    )


def load(data_dir: str | Path | None = None, *, download: bool = True) -> Images:
    """The data set; see `official.read` for where it is looked for and what is raised."""
    arrays, origin = official.read(MNIST, idx, data_dir, download=download)
    x_train, y_train, x_test, y_test = (arrays[name] for name in MNIST.files)
    return Images(
        x_train[:, None],
        y_train.astype(np.int64),
        x_test[:, None],
        y_test.astype(np.int64),
        {"origin": origin, "sha256": MNIST.sha256},
    )


def idx(_: str, content: bytes) -> np.ndarray:
    """Return the array of an idx file: two zero bytes, a type, the number of dimensions, their sizes, the values."""
    shape = struct.unpack_from(f">{content[3]}I", content, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
