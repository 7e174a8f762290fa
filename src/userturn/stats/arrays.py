"""The types of arrays that statistics take."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
