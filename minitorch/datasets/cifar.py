"""CIFAR-10: 32x32 colour images in 10 classes, 50,000 to train and 10,000 to test with (A. Krizhevsky)."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.datasets.download import download
from minitorch.datasets.images import ImageDataset

RECORD = 1 + 3 * 32 * 32  # the class, then the red, the green and the blue plane


class CIFAR10(ImageDataset):
    """Sample i is an image, uint8 (32, 32, 3), and its class, an int.

    root      the folder that holds, or gets, `cifar-10-batches-bin/` with the binary version's files
    train     the training part, or the test part
    download  fetch it from the network if it is not there
    """

    urls = ["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"]
    sha256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
    train_files = [f"data_batch_{i}.bin" for i in range(1, 6)]
    test_files = ["test_batch.bin"]
    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ):
        super().__init__(transform, target_transform)
        self.root = Path(root)
        self.train = train
        if download:
            self.download()
        records = np.concatenate([self._read(name) for name in (self.train_files if train else self.test_files)])
        self.data = np.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        self.targets = records[:, 0].tolist()

    @property
    def folder(self) -> Path:
        return self.root / "cifar-10-batches-bin"

    def _read(self, name: str) -> np.ndarray:
        path = self.folder / name
        if not path.exists():
            raise RuntimeError(
                f"Dataset not found or corrupted. You can use download=True to download it. Expected {path}"
            )
        data = np.fromfile(path, np.uint8)
        if len(data) == 0 or len(data) % RECORD:
            raise RuntimeError(f"{path}: expected records of {RECORD} bytes each, found {len(data):,} bytes")
        records = data.reshape(-1, RECORD)
        if records[:, 0].max() >= len(self.classes):
            raise RuntimeError(f"{path}: expected classes 0 to {len(self.classes) - 1}, found {records[:, 0].max()}")
        return records

    def download(self) -> None:
        """Fetch the archive and take the batches out of it, if they are not there."""
        names = self.train_files + self.test_files
        if all((self.folder / name).exists() for name in names):
            return
        archive = self.root / "cifar-10-binary.tar.gz"
        download(self.urls, archive, self.sha256)
        self.folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            for name in names:
                member = tar.extractfile(f"{self.folder.name}/{name}")
                if member is None:
                    raise RuntimeError(f"{archive}: expected the file {self.folder.name}/{name} in it, found none")
                part = self.folder / (name + ".part")
                part.write_bytes(member.read())
                os.replace(part, self.folder / name)

    def _image(self, index: int) -> Any:
        return self.data[index]
