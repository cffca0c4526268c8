"""Ready-made datasets, in the spelling of torchvision.datasets.

`Digits` comes with the package; the others read the files of the original publishers. Images that torchvision gives as
Pillow images are uint8 arrays here, (height, width) or (height, width, 3): the transforms take either, and Pillow stays
optional. Only `ImageFolder`, which needs it to read files, gives Pillow images.
"""

from minitorch.datasets import fake
from minitorch.datasets.cifar import CIFAR10
from minitorch.datasets.digits import Digits
from minitorch.datasets.fake import FakeData
from minitorch.datasets.folder import ImageFolder
from minitorch.datasets.mnist import MNIST, FashionMNIST

__all__ = ["CIFAR10", "Digits", "FakeData", "FashionMNIST", "ImageFolder", "MNIST", "fake"]
