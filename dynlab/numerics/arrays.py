"""Short names for arrays of one kind of number, whatever their shape."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]
Index = NDArray[np.int64]
