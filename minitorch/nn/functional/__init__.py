"""Layers without state: the functions that modules call (mirrors torch/nn/functional.py).

One file per subject. What is computed stands in `minitorch.ops`; here are the argument checks and the compositions.
"""

from minitorch.nn.functional.activation import *  # noqa: F403
from minitorch.nn.functional.attention import *  # noqa: F403
from minitorch.nn.functional.distance import *  # noqa: F403
from minitorch.nn.functional.dropout import *  # noqa: F403
from minitorch.nn.functional.loss import *  # noqa: F403
from minitorch.nn.functional.normalization import *  # noqa: F403
from minitorch.nn.functional.pooling import *  # noqa: F403
from minitorch.nn.functional.sparse import *  # noqa: F403
from minitorch.nn.functional.vision import *  # noqa: F403
from minitorch.ops.nn_conv import (  # noqa: F401
    bilinear,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    linear,
)
