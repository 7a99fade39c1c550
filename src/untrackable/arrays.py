"""The types of arrays that many modules use."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]
