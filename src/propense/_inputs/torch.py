"""Reading torch tensors, which stay on their device."""

import numbers
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from propense._inputs.host import HostReader
from propense._inputs.labels import LabelReader
from propense._inputs.reader import LARGEST, check_length, find_invalid, invalid_entries, refuse_classifiers
from propense._maths.arrays import library_of, to_host
from propense.errors import InvalidFeatures, InvalidInput, InvalidLabels

__all__ = ["TorchReader"]

Tensor = Any

# Entries checked at a time when an invalid one is located.
_BLOCK = 1 << 24


class TorchReader:
    """Reads features as a tensor; other inputs may be tensors on any device, or whatever the host reader accepts."""

    def read_matrix(self, estimator: Any, X: Any, *, reset: bool) -> Tensor:
        refuse_classifiers(
            estimator, "the classifier reads NumPy arrays, but X is a torch tensor. Pass X.cpu().numpy()."
        )
        features = _as_float(X)
        _check_shape(estimator, features, 2 if reset else 1)
        try:
            # Learns or compares the number of columns and their names, with scikit-learn's error messages.
            validate_data(estimator, features, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InvalidFeatures(str(error)) from None
        _check_finite(features)
        return features

    def read_labels(self, y: Any, features: Tensor, read: LabelReader) -> tuple[Tensor, NDArray[Any]]:
        if library_of(y) != "torch":
            labelled, classes = HostReader().read_labels(y, features, read)
            return torch.from_numpy(labelled.copy()).to(features.device), classes
        y = y.detach()
        if y.ndim != 1:
            raise InvalidLabels(f"y should be a 1d array, got an array of shape {tuple(y.shape)} instead.")
        check_length(features, len(y), InvalidLabels)
        if y.is_complex():
            raise InvalidLabels("y contains complex numbers. A label must be a real number or a Boolean.")
        y = y.to(features.device)
        if y.dtype in (torch.float16, torch.bfloat16):
            y = y.float()
        # The distinct values represent y, with one NaN if there is any: torch counts each NaN as a value of its own.
        missing = y != y
        count = int(missing.sum())
        values = to_host(torch.unique(y[~missing] if count else y))
        gaps = (count, int(missing.byte().argmax())) if count else None
        _, classes = read(np.append(values, np.nan) if count else values, gaps)
        return y == classes[1].item(), classes

    def read_numbers(self, name: str, title: str, values: Any, features: Tensor, error_type: type[InvalidInput]) -> Any:
        device = features.device
        if isinstance(values, numbers.Real) or library_of(values) != "torch":
            read = HostReader().read_numbers(name, title, values, features, error_type)
            return torch.tensor(read, dtype=torch.float64, device=device)
        values = values.detach().to(device=device, dtype=torch.float64)
        if values.ndim == 0:
            values = values.repeat(len(features))
        if values.ndim != 1:
            raise error_type(f"{title} must be 1D array or scalar, got an array of shape {tuple(values.shape)}.")
        check_length(features, len(values), error_type)
        if not bool(values.isfinite().all()):
            first = int((~values.isfinite()).byte().argmax())
            raise error_type(f"Input {name} contains {float(values[first])} at row {first}; it must be finite.")
        return values

    def keep(self, mask: Tensor, *arrays: Any) -> list[Any]:
        rows = mask.nonzero().ravel()
        return [rows, *(None if array is None else array[rows] for array in arrays)]


def _as_float(X: Tensor) -> Tensor:
    """X as float64 or float32, unchanged if it is one of them."""
    if X.layout != torch.strided:
        raise InvalidFeatures(
            f"X is a tensor with layout {X.layout}. Pass X.to_dense(), or a SciPy sparse matrix, which stays sparse."
        )
    if X.is_complex():
        raise InvalidFeatures("Complex data not supported: X is a complex tensor.")
    if X.device.type in ("meta", "mps"):
        raise InvalidFeatures(f"X is on the device {X.device}, which has no float64. Pass X.cpu().")
    X = X.detach()
    if X.dtype in (torch.float64, torch.float32):
        return X
    return X.float() if X.is_floating_point() else X.double()


def _check_shape(estimator: Any, features: Tensor, fewest: int) -> None:
    shape = tuple(features.shape)
    if len(shape) != 2:
        raise InvalidFeatures(
            f"Expected 2D array, got an array of shape {shape} instead. Use X.reshape(-1, 1) if X is a single feature, "
            "or X.reshape(1, -1) if it is a single row."
        )
    for what, count, least in (("sample", shape[0], fewest), ("feature", shape[1], 1)):
        if count < least:
            raise InvalidFeatures(
                f"Found array with {count} {what}(s) (shape={shape}) while a minimum of {least} is required by "
                f"{type(estimator).__name__}."
            )


def _check_finite(features: Tensor) -> None:
    # NaN, inf and values that are too large show in the extremes, which take no memory to find.
    low, high = torch.aminmax(features)
    if max(float(high), -float(low)) < LARGEST:
        return
    count, where, infinite = find_invalid(features, max(_BLOCK // features.shape[1], 1))
    raise invalid_entries(count, float(features[where]), *where, infinite=infinite)
