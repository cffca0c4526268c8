"""Images in one folder per class (torchvision.datasets.ImageFolder). Needs Pillow: the extra `examples`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitorch.datasets.images import ImageDataset

EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def pil_loader(path: str) -> Any:
    """The image at `path` as RGB. Raises RuntimeError naming the file if it is not an image, or not whole."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(f"reading {path} needs Pillow: pip install 'minitorch[examples]'") from error
    try:
        with open(path, "rb") as file:
            return Image.open(file).convert("RGB")
    except FileNotFoundError:
        raise
    except (OSError, SyntaxError, ValueError) as error:
        size = os.path.getsize(path)
        raise RuntimeError(
            f"{path}: expected a whole image file, found {size:,} bytes that Pillow cannot read ({error})"
        ) from error


class ImageFolder(ImageDataset):
    """Sample i is the i-th image under `root`, and the number of its class.

    The classes are the folders in `root`, in alphabetical order; a class's images are all image files at any depth in
    its folder, in alphabetical order. `loader` reads a file (an RGB Pillow image by default). `is_valid_file` chooses
    the files in place of their extension; `allow_empty` permits classes without images.
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        loader: Callable[[str], Any] = pil_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ):
        super().__init__(transform, target_transform)
        self.root = str(root)
        self.loader = loader
        self.classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
        if not self.classes:
            raise FileNotFoundError(f"Couldn't find any class folder in {root}.")
        valid = is_valid_file or (lambda path: path.lower().endswith(EXTENSIONS))
        self.samples: list[tuple[str, int]] = []
        empty = []
        for i, name in enumerate(self.classes):
            paths = [
                os.path.join(folder, file)
                for folder, _, files in sorted(os.walk(os.path.join(self.root, name), followlinks=True))
                for file in sorted(files)
            ]
            chosen = [(path, i) for path in paths if valid(path)]
            self.samples += chosen
            if not chosen:
                empty.append(name)
        if empty and not allow_empty:
            message = f"Found no valid file for the classes {', '.join(empty)}. "
            if is_valid_file is None:
                message += f"Supported extensions are: {', '.join(EXTENSIONS)}"
            raise FileNotFoundError(message)
        self.targets = [target for _, target in self.samples]

    @property
    def imgs(self) -> list[tuple[str, int]]:
        return self.samples

    def _image(self, index: int) -> Any:
        return self.loader(self.samples[index][0])
