"""The layers, one file per kind (torch/nn/modules)."""

from minitorch.nn.modules.activation import *  # noqa: F403
from minitorch.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss  # noqa: F401
from minitorch.nn.modules.batchnorm import *  # noqa: F403
from minitorch.nn.modules.channelshuffle import *  # noqa: F403
from minitorch.nn.modules.container import *  # noqa: F403
from minitorch.nn.modules.conv import *  # noqa: F403
from minitorch.nn.modules.distance import *  # noqa: F403
from minitorch.nn.modules.dropout import *  # noqa: F403
from minitorch.nn.modules.flatten import *  # noqa: F403
from minitorch.nn.modules.fold import *  # noqa: F403
from minitorch.nn.modules.instancenorm import *  # noqa: F403
from minitorch.nn.modules.linear import *  # noqa: F403
from minitorch.nn.modules.loss import *  # noqa: F403
from minitorch.nn.modules.module import Module  # noqa: F401
from minitorch.nn.modules.normalization import *  # noqa: F403
from minitorch.nn.modules.padding import *  # noqa: F403
from minitorch.nn.modules.pixelshuffle import *  # noqa: F403
from minitorch.nn.modules.pooling import *  # noqa: F403
from minitorch.nn.modules.rnn import *  # noqa: F403
from minitorch.nn.modules.sparse import *  # noqa: F403
from minitorch.nn.modules.transformer import *  # noqa: F403
from minitorch.nn.modules.upsampling import *  # noqa: F403

__all__ = [name for name, value in list(globals().items()) if isinstance(value, type)]  # the layers, not the files
