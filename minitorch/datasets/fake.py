"""Made-up data for tests: a dataset without files, and small files in the formats of the real datasets."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.datasets.cifar import CIFAR10
from minitorch.datasets.images import ImageDataset


class FakeData(ImageDataset):
    """Sample i is noise, uint8 (H, W, C), and a class, both determined by i and `random_offset`."""

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ):
        super().__init__(transform, target_transform)
        self.size = size
        self.image_size = tuple(image_size)
        self.random_offset = random_offset
        self.classes = [str(i) for i in range(num_classes)]
        self.targets = np.random.default_rng(random_offset).integers(num_classes, size=size)

    def _image(self, index: int) -> Any:
        if not 0 <= index < self.size:
            raise IndexError(f"{type(self).__name__} index out of range: got {index} for {self.size} samples")
        channels, height, width = self.image_size
        rng = np.random.default_rng([self.random_offset, index])
        return rng.integers(256, size=(height, width, channels), dtype=np.uint8)


def write_idx(path: str | Path, array: np.ndarray) -> None:
    """An array of bytes as an IDX file; compressed if the name ends in .gz."""
    data = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()
    Path(path).write_bytes(gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)


def write_mnist(root: str | Path, train: int = 60, test: int = 20, name: str = "MNIST", compress: bool = True) -> None:
    """The four files of MNIST (or `name="FashionMNIST"`), with noise for images."""
    rng = np.random.default_rng(0)
    folder = Path(root) / name / "raw"
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        for kind, shape, high in (("images-idx3", (count, 28, 28), 256), ("labels-idx1", (count,), 10)):
            end = ".gz" if compress else ""
            write_idx(folder / f"{part}-{kind}-ubyte{end}", rng.integers(high, size=shape))


def write_cifar10(root: str | Path, per_file: int = 10) -> None:
    """The six files of CIFAR-10's binary version, with noise for images."""
    rng = np.random.default_rng(0)
    folder = Path(root) / "cifar-10-batches-bin"
    folder.mkdir(parents=True, exist_ok=True)
    for name in CIFAR10.train_files + CIFAR10.test_files:
        classes = rng.integers(10, size=(per_file, 1), dtype=np.uint8)
        planes = rng.integers(256, size=(per_file, 3072), dtype=np.uint8)
        np.concatenate([classes, planes], axis=1).tofile(folder / name)


def write_image_folder(
    root: str | Path, classes: tuple[str, ...] = ("cat", "dog"), per_class: int = 4, size: tuple[int, int] = (40, 32)
) -> None:
    """A folder per class with PNG images of the given (width, height). Needs Pillow."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for name in classes:
        folder = Path(root) / name
        folder.mkdir(parents=True, exist_ok=True)
        for i in range(per_class):
            pixels = rng.integers(256, size=(size[1], size[0], 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{i}.png")
