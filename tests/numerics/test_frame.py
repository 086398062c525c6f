"""QR of frames whose rows differ by many orders of magnitude, against 400 digits."""

import mpmath
import numpy as np
import pytest

from dynlab.numerics.frame import orthonormal


@pytest.mark.parametrize("sizes", [[1e-100, 1e-80, 1e-60], [1e-100, 1.0, 1e-40, 1e-80], [1e-3, 1.0, 2.0, 1e-2]])
def test_small_rows_keep_their_digits(sizes):
    drawn = np.random.default_rng(0).standard_normal((len(sizes), 3))
    image = np.array(sizes)[:, None] * drawn
    Q, R = orthonormal(image[None])
    with mpmath.workdps(400):
        _, exact = mpmath.qr(mpmath.matrix(image.tolist()), mode="skinny")
        truth = [float(mpmath.log(abs(exact[i, i]))) for i in range(3)]
    assert np.allclose(np.log(np.abs(np.diagonal(R[0]))), truth, rtol=1e-12, atol=1e-12)
    assert np.allclose(Q[0].T @ Q[0], np.eye(3), atol=1e-14)
    assert np.allclose(Q[0] @ R[0], image, rtol=1e-13, atol=1e-15)


def test_a_row_of_zeros_is_an_exact_zero():
    image = np.random.default_rng(1).standard_normal((1, 4, 4))
    image[0, 2] = 0
    Q, R = orthonormal(image)
    assert R[0, 3, 3] == 0
    assert not Q[0, :, 3].any()
