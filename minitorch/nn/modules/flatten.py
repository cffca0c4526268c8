"""Reshaping layers (torch/nn/modules/flatten.py)."""

from minitorch.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Dimensions `start_dim` to `end_dim` made one; the default keeps the batch."""

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Dimension `dim` split into several of sizes `unflattened_size`."""

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if isinstance(dim, int):
            self._require_ints(unflattened_size)
        elif not isinstance(dim, str):
            raise TypeError("invalid argument type for dim parameter")
        else:
            raise NotImplementedError("Unflatten: named dimensions are not supported; give dim as an int")
        self.dim, self.unflattened_size = dim, unflattened_size

    def _require_ints(self, sizes):
        if not isinstance(sizes, tuple | list):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos "
                    f"{i}"
                )

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
