"""The common shape of the image datasets: images and their classes in memory, and transforms applied on the way out."""

from collections.abc import Callable
from typing import Any

from minitorch.utils.data.dataset import Dataset


class ImageDataset(Dataset):
    """Base: sample i is `(transform(image i), target_transform(class i))`. Subclasses give `_image` and `targets`."""

    targets: Any  # one class number per sample
    classes: list[str]  # the classes' names
    root: Any = None  # where the files are

    def __init__(self, transform: Callable | None = None, target_transform: Callable | None = None):
        self.transform = transform
        self.target_transform = target_transform

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    def _image(self, index: int) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image, target = self._image(index), int(self.targets[index])
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        return len(self.targets)

    def __repr__(self) -> str:
        lines = [f"Dataset {type(self).__name__}", f"    Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"    Root location: {self.root}")
        if self.transform is not None:
            lines.append(f"    Transform: {self.transform!r}")
        return "\n".join(lines)
