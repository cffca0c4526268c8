"""Comparing and making tensors in tests (torch/testing).

`python -m minitorch.testing` prints how much of torch's operator table minitorch covers; it needs torch, and its
modules (`stand_in`, `op_db`, `samples`, `__main__`) are the only ones of the package that import it - never this one.
"""

from .comparison import assert_close as assert_close
from .creation import make_tensor as make_tensor

__all__ = ["assert_close", "make_tensor"]
