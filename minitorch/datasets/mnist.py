"""MNIST and Fashion-MNIST: 28x28 grey images in 10 classes, 60,000 to train and 10,000 to test with (IDX files)."""

import gzip
import math
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.datasets.download import download
from minitorch.datasets.images import ImageDataset
from minitorch.tensor import wrap
from minitorch.utils.data.dataset import rows_of, take_rows

# the third byte of an IDX file says what its numbers are, big end first
IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | Path, ndim: int | None = None) -> np.ndarray:
    """The array in an IDX file (two zero bytes, type, number of dimensions, the dimensions, the numbers), gzip or not.

    Raises RuntimeError, naming the file, what was expected and what was found, if it is not such a file or not whole.
    """
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError, zlib.error) as error:
            raise RuntimeError(f"{path}: expected a whole gzip file, found a corrupt one ({error})") from error
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in IDX_TYPES:
        raise RuntimeError(f"{path}: expected an IDX file (0000, type, dimensions), found the bytes {data[:4].hex()}")
    if ndim is not None and data[3] != ndim:
        raise RuntimeError(
            f"{path}: expected the magic number {data[2] << 8 | ndim:#010x} ({ndim} dimensions), "
            f"found {data[2] << 8 | data[3]:#010x} ({data[3]} dimensions)"
        )
    start = 4 + 4 * data[3]
    dtype = np.dtype(IDX_TYPES[data[2]])
    shape = struct.unpack(f">{data[3]}I", data[4:start]) if len(data) >= start else None
    expected = start if shape is None else start + math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise RuntimeError(
            f"{path}: expected {expected:,} bytes for the shape {shape} that it names, found {len(data):,}"
        )
    array = np.frombuffer(data, dtype, offset=start).reshape(shape)  # type: ignore[arg-type]
    return array.astype(dtype.newbyteorder("="))


class MNIST(ImageDataset):
    """Handwritten digits (Y. LeCun, C. Cortes, C. Burges). Sample i is an image, uint8 (28, 28), and its class, an int.

    root      the folder that holds, or gets, `MNIST/raw/train-images-idx3-ubyte` and the other three, `.gz` or not
    train     the training part, or the test part
    download  fetch what is missing from the network
    """

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"]
    sha256 = {
        "train-images-idx3-ubyte": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "train-labels-idx1-ubyte": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "t10k-images-idx3-ubyte": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "t10k-labels-idx1-ubyte": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    }
    classes = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six", "7 - seven", "8 - eight",
        "9 - nine",
    ]

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
        part = "train" if train else "t10k"
        images = read_idx(self._find(f"{part}-images-idx3-ubyte"), ndim=3)
        labels = read_idx(self._find(f"{part}-labels-idx1-ubyte"), ndim=1)
        if len(images) != len(labels):
            raise RuntimeError(
                f"{self.raw_folder}: expected a label per image, found {len(images)} images and {len(labels)} labels"
            )
        self.data = wrap(images)
        self.targets = wrap(labels.astype(np.int64))

    @property
    def raw_folder(self) -> Path:
        return self.root / type(self).__name__ / "raw"

    def _find(self, name: str) -> Path:
        places = [folder / (name + end) for folder in (self.raw_folder, self.root) for end in ("", ".gz")]
        for path in places:
            if path.exists():
                return path
        raise RuntimeError(
            f"Dataset not found. You can use download=True to download it. Expected {places[0]} or {places[1]}"
        )

    def download(self) -> None:
        """Fetch the files that are missing into `raw_folder`."""
        for name, digest in self.sha256.items():
            try:
                self._find(name)
            except RuntimeError:
                file = name + ".gz"
                download([mirror + file for mirror in self.mirrors], self.raw_folder / file, digest)

    def _image(self, index: int) -> Any:
        return self.data._array[index]

    def _batch(self, indices: Any) -> list | None:
        if self.transform is not None or self.target_transform is not None:
            return None
        rows = rows_of(indices, len(self))
        return None if rows is None else [take_rows(self.data, rows), take_rows(self.targets, rows)]


class FashionMNIST(MNIST):
    """Articles of clothing in the format of MNIST (H. Xiao, K. Rasul, R. Vollgraf, arXiv:1708.07747)."""

    mirrors = [
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
    ]
    sha256 = {
        "train-images-idx3-ubyte": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    }
    classes = [
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    ]
