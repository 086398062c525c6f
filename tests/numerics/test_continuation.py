"""Continuation against curves in closed form."""

import numpy as np

from dynlab.numerics import continuation


class Circle:
    """x² + y² = r²."""

    def __init__(self, radius):
        self.radius = radius

    def residual(self, z):
        return np.array([z @ z - self.radius**2])

    def derivative(self, z):
        return 2 * z[None]


BOX = np.array([-5.0, -5.0]), np.array([5.0, 5.0])


def test_a_circle_is_followed_once_around():
    radius = 0.5
    curve = Circle(radius)
    start = continuation.correct(curve, np.array([radius, 1e-3]), np.array([0.0, 1.0]))
    points, end = continuation.follow(curve, start, *BOX)
    z = np.array([point.z for point in points])
    assert end == continuation.CLOSED
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), radius, rtol=1e-13)
    turned = np.unwrap(np.arctan2(z[:, 1], z[:, 0]))
    assert (np.diff(turned) > 0).all()
    assert 0.95 < np.ptp(turned) / (2 * np.pi) < 1.05
    assert {point.orientation for point in points} == {points[0].orientation}


def test_the_last_point_lies_on_the_face_where_the_last_coordinate_leaves():
    start = continuation.correct(Circle(1.0), np.array([1.0, 1e-3]), np.array([0.0, 1.0]))
    points, end = continuation.follow(Circle(1.0), start, BOX[0], np.array([5.0, 0.5]))
    assert end == continuation.AT_THE_END
    np.testing.assert_allclose(points[-1].z, [np.sqrt(0.75), 0.5], rtol=1e-14)
