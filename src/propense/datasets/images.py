"""Image data sets, represented by the features of a pretrained network."""

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from propense.datasets.catalogue import Entry
from propense.datasets.home import data_path, write_file
from propense.datasets.tabular import Progress, download_openml
from propense.errors import DatasetMismatch, MissingExtra

__all__ = ["SHAPES", "Split", "check_split", "embed", "fetch_features", "read_features", "read_pixels", "resnet18"]

# Height, width and channels of each data set. On OpenML the training rows come first.
SHAPES = {"cifar10": (32, 32, 3), "mnist": (28, 28, 1), "usps": (16, 16, 1), "fashion": (28, 28, 1)}
_BATCH = 256


@dataclass(frozen=True)
class Split:
    """Features and classes of the fixed training and test parts."""

    X_train: NDArray[np.float32]
    y_train: NDArray[np.bool_]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.bool_]


def read_features(path: Path) -> Split:
    """Read features from an .npz file with X_train, y_train, X_test and y_test."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            X_train, X_test = (arrays[name].astype(np.float32) for name in ("X_train", "X_test"))
            y_train, y_test = (arrays[name].astype(bool) for name in ("y_train", "y_test"))
    except (OSError, EOFError, ValueError, KeyError, BadZipFile, zlib.error) as error:
        raise DatasetMismatch(f"{path} cannot be read as features: {error}. Delete it and fetch again.") from None
    return Split(X_train, y_train, X_test, y_test)


def check_split(entry: Entry, split: Split, remedy: str) -> None:
    """Raise if the training rows or positives do not match the catalogue. Features may come from any network."""
    entry.check("training rows", len(split.X_train), entry.n, remedy)
    entry.check("training positives", int(split.y_train.sum()), entry.positives, remedy)


def fetch_features(entry: Entry, progress: Progress | None = None) -> Split:
    """Download the images from OpenML, embed them as in the paper, and store the features in the data home."""
    network = resnet18()
    data = download_openml(entry, progress)
    pixels = read_pixels(entry, np.asarray(data.data, dtype=np.float64))
    y = np.isin(np.asarray(data.target, dtype=str), entry.positive)
    features = embed(pixels, network)
    split = Split(features[: entry.n], y[: entry.n], features[entry.n :], y[entry.n :])
    check_split(entry, split, f"It is data set {entry.openml_id} of OpenML and was not kept.")
    with write_file(entry) as path:
        np.savez_compressed(
            path,
            X_train=split.X_train.astype(np.float16),
            y_train=split.y_train,
            X_test=split.X_test.astype(np.float16),
            y_test=split.y_test,
        )
    return read_features(data_path(entry))


def read_pixels(entry: Entry, rows: NDArray[np.float64]) -> NDArray[np.float32]:
    """Rows of OpenML's table as images of shape (n, 3, height, width), each channel standardised over the data set.

    Grey is copied to three channels. OpenML stores colour images channel by channel.
    """
    height, width, channels = SHAPES[entry.name]
    if rows.shape[1] != height * width * channels:
        raise DatasetMismatch(f"{entry.name} has {rows.shape[1]} pixels; {height * width * channels} are expected.")
    images = rows.reshape(len(rows), channels, height, width)
    means, spreads = (moment(axis=(0, 2, 3), keepdims=True) for moment in (images.mean, images.std))
    return np.repeat((images - means) / spreads, 3 // channels, axis=1).astype(np.float32)


def embed(images: NDArray[np.float32], network: Any) -> NDArray[np.float32]:
    """The network's output for each image, computed in batches, on a GPU if there is one."""
    torch = _need("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = network.to(device).eval()
    with torch.no_grad():
        parts = [network(batch.to(device)).flatten(1).cpu().numpy() for batch in torch.from_numpy(images).split(_BATCH)]
    return np.concatenate(parts)


def resnet18() -> Any:
    """ResNet-18, trained on ImageNet, up to its average pooling: 512 features at any resolution."""
    torch, vision = _need("torch"), _need("torchvision")
    network = vision.models.resnet18(weights=vision.models.ResNet18_Weights.IMAGENET1K_V1)
    network.fc = torch.nn.Identity()
    return network


def _need(package: str) -> Any:
    """Import an optional package, or say how to install it."""
    try:
        return __import__(package)
    except ImportError:
        raise MissingExtra(
            f'Embedding images needs {package}. Install it (pip install "propense[torch]", and torchvision), or put '
            "features into the data home as features/NAME.npz."
        ) from None
