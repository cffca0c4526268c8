"""The ready-made datasets: Digits, and the readers of other people's files on made-up ones, whole and broken."""

import gzip
import hashlib
import http.server
import os
import struct
import subprocess
import sys
import tarfile
import threading
from importlib.resources import files

import numpy as np
import pytest

import minitorch
from minitorch import datasets
from minitorch.datasets import fake
from minitorch.datasets.download import download, sha256_of
from minitorch.datasets.mnist import read_idx

DataLoader = minitorch.utils.data.DataLoader


# -- Digits

def test_digits_is_all_there():
    whole, train, test = (datasets.Digits(part) for part in (None, True, False))
    assert (len(whole), len(train), len(test)) == (1797, 1442, 355)
    assert whole.images.shape == (1797, 1, 8, 8) and whole.images.dtype is minitorch.float32
    assert whole.targets.dtype is minitorch.int64 and whole.data is whole.images
    assert (whole.images.min().item(), whole.images.max().item()) == (0.0, 1.0)
    pixels = whole.images.numpy() * 16
    assert (pixels == pixels.round()).all()
    # what scikit-learn's load_digits() gives: the sum of all pixels, and how often each digit occurs
    assert pixels.sum() == 561718
    assert np.bincount(whole.targets.numpy()).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert whole.targets[:12].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1]
    assert pixels[0, 0, 0].tolist() == [0, 0, 5, 13, 9, 1, 0, 0]


def test_digits_split_is_fixed_and_even():
    whole, train, test = (datasets.Digits(part) for part in (None, True, False))
    assert np.bincount(test.targets.numpy()).tolist() == [35, 36, 35, 36, 36, 36, 36, 35, 34, 36]
    rows = [image.tobytes() for image in whole.images.numpy()]
    joined = [image.tobytes() for part in (train, test) for image in part.images.numpy()]
    assert sorted(rows) == sorted(joined)
    zeros = whole.images.numpy()[whole.targets.numpy() == 0]
    assert (test.images.numpy()[test.targets.numpy() == 0] == zeros[4::5]).all()


def test_digits_samples_and_transforms():
    plain = datasets.Digits()
    image, target = plain[3]
    assert image.shape == (1, 8, 8) and type(target) is int and (image == plain.images[3]).all()
    changed = datasets.Digits(True, transform=lambda x: 1 - x, target_transform=lambda y: 10 + y)
    assert (changed[3][0] == 1 - image).all() and changed[3][1] == 10 + target
    for data in (plain, changed):
        images, targets = next(iter(DataLoader(data, batch_size=5)))
        assert (images == minitorch.stack([data[i][0] for i in range(5)])).all()
        assert targets.tolist() == [data[i][1] for i in range(5)] and targets.dtype is minitorch.int64
    assert "Digits" in repr(plain) and "1442" in repr(plain)


def test_digits_file_is_small_and_says_where_it_is_from():
    folder = files("minitorch.datasets")
    assert len(folder.joinpath("digits.npz").read_bytes()) < 200_000
    text = folder.joinpath("digits.txt").read_text()
    assert "CC BY 4.0" in text and "UCI" in text and "BSD 3-Clause" in text


# -- IDX files: MNIST and FashionMNIST

@pytest.mark.parametrize("name", ["MNIST", "FashionMNIST"])
@pytest.mark.parametrize("compress", [True, False])
def test_mnist(tmp_path, name, compress):
    fake.write_mnist(tmp_path, name=name, compress=compress)
    kind = getattr(datasets, name)
    train, test = kind(tmp_path), kind(str(tmp_path), train=False)
    assert (len(train), len(test)) == (60, 20) and len(train.classes) == 10
    assert train.class_to_idx[train.classes[7]] == 7
    assert train.data.shape == (60, 28, 28) and train.data.dtype is minitorch.uint8
    image, target = train[7]
    assert image.shape == (28, 28) and image.dtype == np.uint8 and target == train.targets[7].item()
    images, targets = next(iter(DataLoader(train, batch_size=60)))
    assert (images == train.data).all() and (targets == train.targets).all()
    ready = kind(tmp_path, transform=minitorch.transforms.ToTensor())
    images, targets = next(iter(DataLoader(ready, batch_size=4)))
    assert images.shape == (4, 1, 28, 28) and (images[:, 0] == train.data[:4].float() / 255).all()


def test_mnist_absent(tmp_path):
    with pytest.raises(RuntimeError, match="Dataset not found. You can use download=True.*train-images-idx3-ubyte"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize("code, dtype", [(8, "u1"), (9, "i1"), (11, ">i2"), (12, ">i4"), (13, ">f4"), (14, ">f8")])
def test_idx_types(tmp_path, code, dtype):
    array = np.arange(6).reshape(1, 2, 3).astype(dtype)
    (tmp_path / "x").write_bytes(struct.pack(">BBBB3I", 0, 0, code, 3, 1, 2, 3) + array.tobytes())
    found = read_idx(tmp_path / "x")
    assert (found == array).all() and found.dtype.isnative and found.dtype == np.dtype(dtype).newbyteorder("=")


HEADER = struct.pack(">BBBB3I", 0, 0, 8, 3, 2, 28, 28)


@pytest.mark.parametrize("content, text", [
    (b"", "expected an IDX file"), (b"<html>not found", "found the bytes 3c68746d"),
    (HEADER + bytes(100), r"expected 1,584 bytes for the shape \(2, 28, 28\).*found 116"),
    (HEADER + bytes(1569), "expected 1,584 bytes.*found 1,585"), (HEADER[:9], "expected 16 bytes.*found 9"),
    (struct.pack(">BBBBI", 0, 0, 8, 1, 4) + bytes(4), "expected the magic number 0x00000803.*found 0x00000801"),
    (gzip.compress(HEADER + bytes(1568), mtime=0)[:-30], "expected a whole gzip file"),
    (gzip.compress(HEADER + bytes(1568), mtime=0)[:30] + b"damage", "expected a whole gzip file"),
])
def test_broken_idx_files(tmp_path, content, text):
    fake.write_mnist(tmp_path, compress=False)
    path = tmp_path / "MNIST" / "raw" / "train-images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=text) as caught:
        datasets.MNIST(tmp_path)
    assert str(path) in str(caught.value)


def test_images_without_labels(tmp_path):
    fake.write_mnist(tmp_path, train=4, compress=False)
    fake.write_idx(tmp_path / "MNIST" / "raw" / "train-labels-idx1-ubyte", np.zeros(3))
    with pytest.raises(RuntimeError, match="found 4 images and 3 labels"):
        datasets.MNIST(tmp_path)


# -- CIFAR-10

def test_cifar10(tmp_path):
    fake.write_cifar10(tmp_path)
    train, test = datasets.CIFAR10(tmp_path), datasets.CIFAR10(tmp_path, train=False)
    assert (len(train), len(test)) == (50, 10) and train.data.shape == (50, 32, 32, 3)
    raw = (tmp_path / "cifar-10-batches-bin" / "data_batch_2.bin").read_bytes()[3073 * 3 : 3073 * 4]
    image, target = train[13]
    assert target == raw[0] and image.transpose(2, 0, 1).tobytes() == raw[1:]
    assert train.class_to_idx["ship"] == 8


@pytest.mark.parametrize("content, text", [
    (b"", "expected records of 3073 bytes each, found 0 bytes"), (bytes(3072), "found 3,072 bytes"),
    (b"\x0b" + bytes(3072), "expected classes 0 to 9, found 11"), (None, "Dataset not found or corrupted"),
])
def test_broken_cifar10(tmp_path, content, text):
    fake.write_cifar10(tmp_path)
    path = tmp_path / "cifar-10-batches-bin" / "data_batch_4.bin"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RuntimeError, match=text) as caught:
        datasets.CIFAR10(tmp_path)
    assert str(path) in str(caught.value)


# -- folders of images

PIL = pytest.importorskip("PIL.Image")


def test_image_folder(tmp_path):
    fake.write_image_folder(tmp_path, ("b", "a"), per_class=3)
    (tmp_path / "a" / "deeper").mkdir()
    (tmp_path / "a" / "0.png").rename(tmp_path / "a" / "deeper" / "9.PNG")
    (tmp_path / "a" / "notes.txt").write_text("no image")
    data = datasets.ImageFolder(tmp_path, transform=minitorch.transforms.ToTensor())
    assert data.classes == ["a", "b"] and data.class_to_idx == {"a": 0, "b": 1} and data.imgs is data.samples
    names = [os.path.relpath(path, tmp_path) for path, _ in data.samples]
    assert names == ["a/1.png", "a/2.png", "a/deeper/9.PNG", "b/0.png", "b/1.png", "b/2.png"]
    assert data.targets == [0, 0, 0, 1, 1, 1]
    image, target = data[4]
    assert image.shape == (3, 32, 40) and target == 1
    images, targets = next(iter(DataLoader(data, batch_size=6, num_workers=1)))
    assert (images[4] == image).all() and targets.tolist() == data.targets


def test_broken_images_are_named(tmp_path):
    fake.write_image_folder(tmp_path, per_class=2)
    path = tmp_path / "cat" / "1.png"
    for content in (path.read_bytes()[:1000], b"", b"no image"):
        path.write_bytes(content)
        with pytest.raises(RuntimeError, match=f"expected a whole image file, found {len(content):,} bytes") as caught:
            datasets.ImageFolder(tmp_path)[1]
        assert str(path) in str(caught.value)
    with pytest.raises(RuntimeError, match="worker process 0"):
        list(DataLoader(datasets.ImageFolder(tmp_path, transform=np.asarray), num_workers=1))


def test_image_folder_refuses_empty_ones(tmp_path):
    with pytest.raises(FileNotFoundError, match="Couldn't find any class folder"):
        datasets.ImageFolder(tmp_path)
    fake.write_image_folder(tmp_path, ("a",))
    (tmp_path / "b").mkdir()
    with pytest.raises(FileNotFoundError, match="no valid file for the classes b. Supported extensions are: .jpg"):
        datasets.ImageFolder(tmp_path)
    assert len(datasets.ImageFolder(tmp_path, allow_empty=True)) == 4
    chosen = datasets.ImageFolder(tmp_path, is_valid_file=lambda path: path.endswith("1.png"), allow_empty=True)
    assert len(chosen) == 1


def test_pillow_is_optional():
    code = (
        "import sys; sys.modules['PIL'] = None\n"
        "from minitorch import datasets, transforms\n"
        "x = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])(datasets.FakeData(3, (3, 8, 8))[0][0])\n"
        "assert x.shape == (3, 4, 4)\n"
        "try: datasets.folder.pil_loader('x.png')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "needs Pillow: pip install 'minitorch[examples]'" in done.stdout, done.stderr


def test_fake_data():
    data = datasets.FakeData(10, (3, 16, 8), num_classes=4)
    image, target = data[3]
    assert image.shape == (16, 8, 3) and image.dtype == np.uint8 and 0 <= target < 4
    assert (data[3][0] == datasets.FakeData(10, (3, 16, 8))[3][0]).all() and not (data[4][0] == image).all()
    with pytest.raises(IndexError, match="got 10 for 10 samples"):
        data[10]


# -- downloads

CONTENT = bytes(range(256)) * 5000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT: whole, from an offset, cut off, damaged, or not at all."""

    seen: list = []
    archive = b""

    def do_GET(self):
        wanted = self.headers.get("Range")
        self.seen.append((self.path, wanted))
        content = self.archive if "tar" in self.path else CONTENT
        if self.path.startswith("/damaged"):
            content = b"damaged" + content[7:]
        if self.path.startswith("/missing"):
            return self.send_error(404)
        first = 0
        if wanted and not self.path.startswith("/whole"):
            first = int(wanted.removeprefix("bytes=").rstrip("-"))
            if first >= len(content):
                return self.send_error(416)
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        end = 500_000 if self.path.startswith("/cut") and not first else None
        self.wfile.write(content[first:end])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        Server.seen = []
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()
        thread.join()


def test_download(tmp_path, server):
    path = tmp_path / "deep" / "file"
    download([f"{server}/missing/file", f"{server}/file"], path, DIGEST)
    assert path.read_bytes() == CONTENT and os.listdir(path.parent) == ["file"]
    requests = len(Server.seen)
    download([f"{server}/file"], path, DIGEST)  # it is there: nothing is fetched
    assert len(Server.seen) == requests == 2


def test_download_is_resumed(tmp_path, server):
    path, part = tmp_path / "file", tmp_path / "file.part"
    with pytest.raises(RuntimeError, match="the connection ended after 500,000 of 1,280,000 bytes") as caught:
        download([f"{server}/cut/file"], path, DIGEST)
    assert str(path) in str(caught.value) and not path.exists() and part.stat().st_size == 500_000
    download([f"{server}/cut/file"], path, DIGEST)
    assert Server.seen[-1][1] == "bytes=500000-" and sha256_of(path) == DIGEST and not part.exists()


def test_download_of_what_was_complete_but_not_renamed(tmp_path, server):
    (tmp_path / "file.part").write_bytes(CONTENT)
    download([f"{server}/file"], tmp_path / "file", DIGEST)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_download_from_a_server_that_cannot_resume(tmp_path, server):
    (tmp_path / "file.part").write_bytes(CONTENT[:1000])
    download([f"{server}/whole/file"], tmp_path / "file", DIGEST)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_damaged_downloads_are_refused(tmp_path, server):
    path = tmp_path / "file"
    with pytest.raises(RuntimeError, match=f"SHA-256 of what came should be {DIGEST}, but is"):
        download([f"{server}/damaged/file"], path, DIGEST)
    assert os.listdir(tmp_path) == []
    path.write_bytes(b"something else")
    with pytest.raises(RuntimeError, match="not the expected file"):
        download([f"{server}/file"], path, DIGEST)
    assert path.read_bytes() == b"something else"
    with pytest.raises(RuntimeError, match="could not be downloaded.*"):
        download(["http://127.0.0.1:9/file"], tmp_path / "other", DIGEST)


def test_nothing_is_downloaded_unasked(tmp_path, server, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "mirrors", [server + "/"])
    with pytest.raises(RuntimeError, match="not found"):
        datasets.MNIST(tmp_path)
    assert Server.seen == []


def test_datasets_download(tmp_path, server, monkeypatch):
    monkeypatch.setattr(datasets.MNIST, "mirrors", [server + "/"])
    with pytest.raises(RuntimeError, match="train-images-idx3-ubyte.gz.*SHA-256"):  # the server has something else
        datasets.MNIST(tmp_path, download=True)

    fake.write_cifar10(tmp_path / "source")
    with tarfile.open(tmp_path / "c.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "source" / "cifar-10-batches-bin", "cifar-10-batches-bin")
    monkeypatch.setattr(Server, "archive", (tmp_path / "c.tar.gz").read_bytes())
    monkeypatch.setattr(datasets.CIFAR10, "urls", [server + "/tar"])
    monkeypatch.setattr(datasets.CIFAR10, "sha256", sha256_of(tmp_path / "c.tar.gz"))
    loaded = datasets.CIFAR10(tmp_path / "target", download=True)
    assert (loaded.data == datasets.CIFAR10(tmp_path / "source").data).all()
    assert sorted(os.listdir(loaded.folder)) == sorted(loaded.train_files + loaded.test_files)
