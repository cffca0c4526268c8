"""Handwritten digits that ship with the package, for programs and tests that must run without a network.

1,797 images of 8x8 pixels by 13 writers: see digits.txt for their source and licence.
"""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import numpy as np

from minitorch.datasets.images import ImageDataset
from minitorch.tensor import wrap
from minitorch.utils.data.dataset import rows_of, take_rows

EVERY = 5


class Digits(ImageDataset):
    """Sample i is an image, float32 (1, 8, 8) from 0 (paper) to 1 (ink), and its digit, an int.

    train  True: 1,442 images to learn from; False: the other 355 to test with; None: all of them.
           The split is fixed: of each digit's images, in the order of the file, every fifth is for testing.

    `images` (also `data`) is one float32 tensor (N, 1, 8, 8), `targets` one int64 tensor (N,).
    """

    classes = [str(digit) for digit in range(10)]

    def __init__(
        self,
        train: bool | None = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ):
        super().__init__(transform, target_transform)
        self.train = train
        with files("minitorch.datasets").joinpath("digits.npz").open("rb") as file, np.load(file) as archive:
            images, targets = archive["images"], archive["targets"]
        if train is not None:
            chosen = _is_test(targets) != train
            images, targets = images[chosen], targets[chosen]
        self.images = wrap(images.astype(np.float32)[:, None] / 16)
        self.targets = wrap(targets.astype(np.int64))

    @property
    def data(self) -> Any:
        return self.images

    def _image(self, index: int) -> Any:
        return self.images[index]

    def _batch(self, indices: Any) -> list | None:
        if self.transform is not None or self.target_transform is not None:
            return None
        rows = rows_of(indices, len(self))
        return None if rows is None else [take_rows(self.images, rows), take_rows(self.targets, rows)]


def _is_test(targets: np.ndarray) -> np.ndarray:
    test = np.zeros(len(targets), bool)
    for digit in range(10):
        test[np.flatnonzero(targets == digit)[EVERY - 1 :: EVERY]] = True
    return test
