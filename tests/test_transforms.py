"""The image transforms: the draws in torchvision's order, the numbers of torch's operators and of Pillow."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional

import minitorch
from minitorch import transforms as T
from minitorch.transforms import functional as F

Image = pytest.importorskip("PIL.Image")


def image(height=20, width=30, channels=3, seed=0):
    shape = (height, width, channels) if channels else (height, width)
    return np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)


def kinds(array):
    """The same image as an array, as a byte Tensor, as a float Tensor and as a Pillow image."""
    planes = array.transpose(2, 0, 1) if array.ndim == 3 else array[None]
    byte = minitorch.from_numpy(np.ascontiguousarray(planes))
    return array, byte, byte.float() / 255, Image.fromarray(array)


def planes(any_image):
    """(C, H, W) array of any kind of image."""
    if isinstance(any_image, minitorch.Tensor):
        return any_image.numpy()
    array = np.asarray(any_image)
    return array.transpose(2, 0, 1) if array.ndim == 3 else array[None]


# -- to tensors

@pytest.mark.parametrize("channels", [0, 1, 3, 4])
def test_to_tensor_of_arrays(channels):
    array = image(channels=channels)
    tensor = T.ToTensor()(array)
    expected = torch.from_numpy(array if channels else array[:, :, None]).permute(2, 0, 1).float().div(255)
    assert tensor.dtype is minitorch.float32 and tensor.is_contiguous() and tensor.tolist() == expected.tolist()
    floats = array.astype(np.float64)
    assert T.ToTensor()(floats).dtype is minitorch.float64 and T.ToTensor()(floats).max().item() > 1
    array[...] = 0
    assert tensor.max().item() > 0  # not the same memory


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "1", "I", "F", "LA"])
def test_to_tensor_of_pillow_images(mode):
    picture = Image.fromarray(image()).convert(mode)
    tensor = T.ToTensor()(picture)
    assert tensor.shape == (len(picture.getbands()), 20, 30)
    array = np.asarray(picture)
    if array.dtype == np.uint8:
        assert tensor.tolist() == T.ToTensor()(array).tolist()
    elif mode == "1":
        assert set(tensor.flatten().tolist()) == {0.0, 1.0}
    else:
        assert (tensor.numpy()[0] == array).all()


def test_to_tensor_errors():
    with pytest.raises(TypeError, match="pic should be PIL Image or ndarray. Got <class 'list'>"):
        T.ToTensor()([1])
    with pytest.raises(ValueError, match="pic should be 2/3 dimensional. Got 4 dimensions"):
        T.ToTensor()(np.zeros((1, 2, 3, 4)))


def test_normalize():
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    tensor = T.ToTensor()(image())
    theirs = torch.from_numpy(tensor.numpy().copy())
    theirs = theirs.sub(torch.tensor(mean).view(-1, 1, 1)).div(torch.tensor(std).view(-1, 1, 1))
    assert T.Normalize(mean, std)(tensor).tolist() == theirs.tolist()
    assert T.Normalize([0.5], [0.25])(tensor).tolist() == ((tensor - 0.5) / 0.25).tolist()
    same = tensor.clone()
    assert T.Normalize(mean, std, inplace=True)(same) is same and same.tolist() == theirs.tolist()
    with pytest.raises(TypeError, match="Input tensor should be a float tensor. Got torch.uint8"):
        T.Normalize([0], [1])(minitorch.zeros(1, 2, 2, dtype=minitorch.uint8))
    with pytest.raises(ValueError, match="std evaluated to zero"):
        T.Normalize([0.0], [0.0])(tensor)
    with pytest.raises(ValueError, match="Expected tensor to be a tensor image"):
        T.Normalize([0.0], [1.0])(minitorch.zeros(2, 2))
    with pytest.raises(TypeError, match="img should be Tensor Image. Got <class 'numpy.ndarray'>"):
        T.Normalize([0.0], [1.0])(image())


# -- geometry: all kinds of images agree with Pillow

@pytest.mark.parametrize("channels", [0, 3])
@pytest.mark.parametrize("change", [
    F.hflip, F.vflip, lambda x: F.crop(x, 3, 4, 5, 6), lambda x: F.crop(x, -2, -3, 10, 50),
    lambda x: F.crop(x, 15, 25, 10, 10), lambda x: F.center_crop(x, (7, 10)), lambda x: F.center_crop(x, (25, 11)),
    lambda x: F.center_crop(x, (31, 41)), lambda x: F.pad(x, 3), lambda x: F.pad(x, (1, 2)),
    lambda x: F.pad(x, (1, 2, 3, 4)), lambda x: F.pad(x, 2, 9), lambda x: F.pad(x, 2, 0, "reflect"),
    lambda x: F.pad(x, 2, 0, "edge"), lambda x: F.pad(x, 2, 0, "symmetric"),
])
def test_geometry(change, channels):
    array, byte, _, picture = kinds(image(channels=channels))
    expected = planes(change(picture))
    for kind in (array, byte):
        found = change(kind)
        assert type(found) is type(kind) and (planes(found) == expected).all()


def test_crops_lie_where_torchvision_puts_them():
    x = minitorch.arange(25).reshape(1, 5, 5)
    assert F.center_crop(x, (2, 2)).tolist() == x[:, 2:4, 2:4].tolist()  # round(1.5) is 2
    assert F.center_crop(x, (3, 3)).tolist() == x[:, 1:4, 1:4].tolist()


# -- resize

@pytest.mark.parametrize("size, shape", [
    (10, (10, 15)), (40, (40, 60)), ([7, 50], (7, 50)), ([10], (10, 15)), (20, (20, 30)),
])
def test_resize_sizes(size, shape):
    for kind in kinds(image()):
        assert planes(T.Resize(size)(kind)).shape[-2:] == shape
    upright = shape if size == [7, 50] else shape[::-1]
    assert planes(T.Resize(size)(image(30, 20))).shape[-2:] == upright


def test_resize_with_a_largest_size():
    assert planes(T.Resize(15, max_size=18)(image())).shape[-2:] == (12, 18)
    with pytest.raises(ValueError, match="max_size = 10 must be strictly greater than the requested size"):
        T.Resize(15, max_size=10)(image())
    with pytest.raises(ValueError, match="max_size should only be passed if"):
        T.Resize([3, 4], max_size=5)


@pytest.mark.parametrize("size", [(10, 15), (7, 50), (40, 60), (33, 8)])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("antialias", [True, False])
def test_resize_of_tensors_is_torchs_interpolation(size, mode, antialias):
    _, byte, floats, _ = kinds(image())
    mode_ = T.InterpolationMode(mode)
    options = {} if mode == "nearest" else {"antialias": antialias, "align_corners": False}
    theirs = torch.nn.functional.interpolate(torch.from_numpy(floats.numpy())[None], size, mode=mode, **options)[0]
    ours = F.resize(floats, size, mode_, antialias=antialias)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=1e-5)
    ours = F.resize(byte, size, mode_, antialias=antialias).numpy().astype(int)
    assert np.abs(ours - (theirs.numpy() * 255).clip(0, 255).round()).max() <= 1


@pytest.mark.parametrize("size", [(10, 15), (7, 50), (40, 60)])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
def test_resize_of_arrays_is_pillows_to_one_level(size, mode):
    array, _, _, picture = kinds(image() // 2 + 64)  # Pillow cuts off overshoots between the two directions
    mode_ = T.InterpolationMode(mode)
    ours, pillows = (planes(F.resize(kind, size, mode_)).astype(int) for kind in (array, picture))
    assert np.abs(ours - pillows).max() <= (0 if mode == "nearest" and size[0] < 20 and 30 % size[1] == 0 else 1) or (
        mode == "nearest"  # Pillow takes the pixel under the middle, torch the one under the corner
    )


# -- what is random

def draws(seed):
    """torch's generator, to be asked in torchvision's order."""
    torch.manual_seed(seed)
    minitorch.manual_seed(seed)


@pytest.mark.parametrize("seed", range(5))
def test_random_crop_draws(seed):
    array = image(40, 36)
    draws(seed)
    found = T.RandomCrop((32, 30), padding=4)(array)
    top = torch.randint(0, 48 - 32 + 1, size=(1,)).item()
    left = torch.randint(0, 44 - 30 + 1, size=(1,)).item()
    assert (found == np.pad(array, ((4, 4), (4, 4), (0, 0)))[top : top + 32, left : left + 30]).all()
    assert minitorch.rand(1).item() == torch.rand(1).item()


def test_random_crop_sizes():
    array = image(20, 30)
    assert T.RandomCrop(40, pad_if_needed=True)(array).shape == (40, 40, 3)
    assert (T.RandomCrop((20, 30))(array) == array).all()
    with pytest.raises(ValueError, match=r"Required crop size \(21, 30\) is larger than input image size \(20, 30\)"):
        T.RandomCrop((21, 30))(array)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0])
def test_random_flip_draws(p):
    array = image()
    for seed in range(10):
        draws(seed)
        both = T.RandomVerticalFlip(p)(T.RandomHorizontalFlip(p)(array))
        expected = array
        if torch.rand(1) < p:
            expected = expected[:, ::-1]
        if torch.rand(1) < p:
            expected = expected[::-1]
        assert (both == expected).all()


@pytest.mark.parametrize("seed", range(6))
def test_color_jitter_draws(seed):
    jitter = T.ColorJitter(brightness=0.4, contrast=(0.5, 1.5), saturation=0, hue=0.1)
    draws(seed)
    order, factors = jitter.get_params()
    assert order == torch.randperm(4).tolist()
    uniform = lambda a, b: float(torch.empty(1).uniform_(a, b))
    assert factors == [uniform(0.6, 1.4), uniform(0.5, 1.5), None, uniform(-0.1, 0.1)]
    draws(seed)
    x = T.ToTensor()(image())
    found = jitter(x)
    changes = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    for i in order:
        x = x if factors[i] is None else changes[i](x, factors[i])
    assert found.tolist() == x.tolist()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("value", [0, (0.1, 0.2, 0.3), "random"])
def test_random_erasing_draws(seed, value):
    """Beside torchvision's recipe, written with torch."""
    x = T.ToTensor()(image())
    draws(seed)
    found = T.RandomErasing(p=0.7, value=value)(x)
    expected = torch.from_numpy(x.numpy().copy())
    if torch.rand(1) < 0.7:
        log_ratio = torch.log(torch.tensor((0.3, 3.3)))
        for _ in range(10):
            area = 20 * 30 * torch.empty(1).uniform_(0.02, 0.33).item()
            ratio = torch.exp(torch.empty(1).uniform_(log_ratio[0].item(), log_ratio[1].item())).item()
            h, w = int(round(math.sqrt(area * ratio))), int(round(math.sqrt(area / ratio)))
            if h < 20 and w < 30:
                if value == "random":
                    fill = torch.empty([3, h, w]).normal_()
                else:
                    fill = torch.tensor([value] if value == 0 else value, dtype=torch.float32)[:, None, None]
                i, j = (torch.randint(0, n + 1, size=(1,)).item() for n in (20 - h, 30 - w))
                expected[..., i : i + h, j : j + w] = fill
                break
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-6)
    assert minitorch.rand(1).item() == torch.rand(1).item()


def test_random_erasing_in_place_and_errors():
    x = minitorch.ones(3, 8, 8)
    assert T.RandomErasing(p=1.0)(x) is not x and x.min().item() == 1
    assert T.RandomErasing(p=1.0, inplace=True)(x) is x and x.min().item() == 0
    for options, text in (
        ({"value": "noise"}, "it should be 'random'"), ({"scale": (0, 2)}, "Scale should be between 0 and 1"),
        ({"p": 2}, "probability should be between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=text):
            T.RandomErasing(**options)
    with pytest.raises(ValueError, match="either a single value or 3"):
        T.RandomErasing(p=1, value=(1, 2))(x)


# -- colours

FACTORS = {
    "brightness": [0.0, 0.5, 1.0, 1.7], "contrast": [0.0, 0.5, 1.0, 1.7], "saturation": [0.0, 0.5, 1.0, 1.7],
    "hue": [-0.5, -0.13, 0.0, 0.25, 0.5],
}


@pytest.mark.parametrize("name", FACTORS)
def test_colours_of_tensors_are_pillows_nearly(name):
    """Pillow computes in bytes; tensors in floats. Hue goes through HSV in bytes, so that it is rough there."""
    array, byte, floats, picture = kinds(image())
    change = getattr(F, f"adjust_{name}")
    for factor in FACTORS[name]:
        pillows = planes(change(picture, factor)).astype(int)
        for kind in (array, byte):
            found = planes(change(kind, factor)).astype(int)
            assert type(change(kind, factor)) is type(kind)
            assert np.abs(found - pillows).max() <= (16 if name == "hue" else 2), (name, factor)
        found = change(floats, factor).numpy() * 255
        assert np.abs(found - pillows).max() <= (16 if name == "hue" else 2)


def test_hue_is_that_of_the_standard_library():
    import colorsys

    pixels = np.random.default_rng(1).random((50, 3)).astype(np.float32)
    pixels[:5] = pixels[:5, :1]  # greys
    turned = F.adjust_hue(minitorch.from_numpy(pixels.T.reshape(3, 5, 10).copy()), 0.2).numpy().reshape(3, 50).T
    for before, after in zip(pixels, turned, strict=True):
        h, s, v = colorsys.rgb_to_hsv(*before.tolist())
        np.testing.assert_allclose(after, colorsys.hsv_to_rgb((h + 0.2) % 1, s, v), atol=1e-5)


def test_grey_images_keep_their_single_channel():
    for kind in kinds(image(channels=0)):
        for change in (F.adjust_saturation, F.adjust_hue):
            assert (planes(change(kind, 0.3)) == planes(kind)).all()


@pytest.mark.parametrize("options, text", [
    ({"brightness": -1}, "If brightness is a single number, it must be non negative"),
    ({"hue": 0.6}, r"hue values should be between \(-0.5, 0.5\)"), ({"contrast": (2, 1)}, "contrast values should be"),
])
def test_color_jitter_errors(options, text):
    with pytest.raises(ValueError, match=text):
        T.ColorJitter(**options)
    with pytest.raises(TypeError, match="single number or a list/tuple with length 2"):
        T.ColorJitter(saturation=(1, 2, 3))


# -- together

def test_compose_lambda_and_repr():
    chain = T.Compose([
        T.Resize(8), T.CenterCrop(6), T.RandomCrop(4, padding=1), T.RandomHorizontalFlip(), T.ToTensor(),
        T.Lambda(lambda x: x * 2), T.Normalize((0.5,), (0.5,)),
    ])
    assert chain(image()).shape == (3, 4, 4)
    assert repr(chain).splitlines() == [
        "Compose(",
        "    Resize(size=8, interpolation=bilinear, max_size=None, antialias=True)",
        "    CenterCrop(size=(6, 6))",
        "    RandomCrop(size=(4, 4), padding=1)",
        "    RandomHorizontalFlip(p=0.5)",
        "    ToTensor()",
        "    Lambda()",
        "    Normalize(mean=(0.5,), std=(0.5,))",
        ")",
    ]
    with pytest.raises(TypeError, match="Argument lambd should be callable"):
        T.Lambda(3)
    with pytest.raises(TypeError, match="image should be a Tensor, a NumPy array or a PIL Image"):
        F.hflip("picture")


def test_augmentation_is_seeded_in_workers():
    class Noisy:
        change = T.Compose([T.ToTensor(), T.RandomHorizontalFlip(), T.RandomCrop(16, padding=2), T.ColorJitter(0.5)])

        def __len__(self):
            return 12

        def __getitem__(self, i):
            return self.change(image())

    def epoch(seed):
        minitorch.manual_seed(seed)
        loader = minitorch.utils.data.DataLoader(Noisy(), batch_size=3, num_workers=2)
        return minitorch.cat(list(loader))

    one, again, other = epoch(1), epoch(1), epoch(2)
    assert (one == again).all() and not (one == other).all()
    assert len({x.tobytes() for x in one.numpy()}) == 12  # no two samples got the same augmentation
