"""Random changes of inertial signals that leave the activity what it is.

Each takes raw signals of shape (sample, time, 9), three sensors of three axes, a strength and a generator.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from dynlab.tasks.task import Augmentation

AXES = 3


def rotation(raw: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """The phone sits otherwise: one rotation for all sensors of a sequence, its vector `strength` · N(0, I) radians."""
    vectors = strength * generator.standard_normal((len(raw), AXES))
    matrices = Rotation.from_rotvec(vectors).as_matrix().astype(raw.dtype)
    sensors = raw.reshape(*raw.shape[:2], -1, AXES)
    return np.einsum("nij,ntsj->ntsi", matrices, sensors).reshape(raw.shape)


def scale(raw: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """Livelier or quieter: each sensor's signal times e^(strength · N(0, 1))."""
    sensors = raw.reshape(*raw.shape[:2], -1, AXES)
    factors = np.exp(strength * generator.standard_normal((len(raw), 1, sensors.shape[2], 1)))
    return (sensors * factors.astype(raw.dtype)).reshape(raw.shape)


def shift(raw: np.ndarray, strength: float, generator: np.random.Generator) -> np.ndarray:
    """The window begins earlier or later, by at most `strength` steps; what is not known repeats the edge."""
    steps = raw.shape[1]
    offsets = generator.integers(-int(strength), int(strength), len(raw), endpoint=True)
    times = np.clip(np.arange(steps) + offsets[:, None], 0, steps - 1)
    return np.take_along_axis(raw, times[:, :, None], axis=1)


# Name to function and default strength.
INERTIAL: dict[str, tuple[Augmentation, float]] = {
    "rotation": (rotation, 0.15),
    "scale": (scale, 0.1),
    "shift": (shift, 16),
}
