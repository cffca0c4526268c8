"""Switches of torch's back ends (torch.backends) that programs set; minitorch has the back ends NumPy, Numba and CuPy,
for which they are without effect."""

import sys
from types import ModuleType
from typing import Any


class _Backend(ModuleType):
    """A namespace of settable flags, importable by its dotted name."""

    def __init__(self, name: str, available: bool = False, **flags: Any):
        super().__init__(f"{__name__}.{name}", f"Flags of torch.backends.{name}: settable, without effect.")
        self.__dict__.update(flags)
        self.is_available = lambda: available
        self.is_built = lambda: available
        sys.modules[self.__name__] = self


cuda = _Backend("cuda", matmul=_Backend("cuda.matmul", allow_tf32=False, allow_fp16_reduced_precision_reduction=True))
cudnn = _Backend("cudnn", enabled=True, benchmark=False, deterministic=False, allow_tf32=True, benchmark_limit=10)
cudnn.version = lambda: None  # type: ignore[attr-defined]
mps = _Backend("mps")
mkl = _Backend("mkl")
mkldnn = _Backend("mkldnn", enabled=False)
openmp = _Backend("openmp")
