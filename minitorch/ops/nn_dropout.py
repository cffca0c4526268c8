"""Dropout in all its forms (ATen/native/Dropout.cpp). Masks are drawn with `bernoulli_`, in torch's order."""

from typing import Any

from ..dispatch import composite


def _noise(input: Any, p: float, feature: bool) -> Any:
    """Ones with probability 1 - p, else zeros: for each element, or (feature) for each channel."""
    shape = input.shape
    if feature:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = (*shape[:2], *[1] * (input.dim() - 2))
    return input.new_empty(shape).bernoulli_(1 - p)


def _drop(input: Any, p: float, train: bool, feature: bool, alpha: bool, inplace: bool) -> Any:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        zeros = input.new_zeros(())
        return input.mul_(zeros) if inplace else input * zeros
    noise = _noise(input, p, feature)
    shift = None
    if alpha:
        # what is dropped becomes selu's lower limit, and a scale and shift restore mean 0 and variance 1
        lowest = 1.7580993408473766
        scale = 1 / ((lowest**2 * p + 1) * (1 - p)) ** 0.5
        shift = (noise - 1).mul_(lowest * scale).add_(lowest * scale * p)
        noise.mul_(scale)
    else:
        noise.div_(1 - p)
    if inplace:
        return input.mul_(noise) if shift is None else input.mul_(noise).add_(shift)
    return input * noise if shift is None else input * noise + shift


def _family(name: str, feature: bool, alpha: bool) -> tuple:
    def drop(input: Any, p: float, train: bool) -> Any:
        return _drop(input, p, train, feature, alpha, False)

    def drop_(input: Any, p: float, train: bool) -> Any:
        return _drop(input, p, train, feature, alpha, True)

    drop.__name__, drop_.__name__ = name, name + "_"
    drop.__doc__ = drop_.__doc__ = "Zeros, in training, with probability p; the rest scaled so that the mean stays."
    return composite(as_method=False)(drop), composite(as_method=False)(drop_)


dropout, dropout_ = _family("dropout", False, False)
feature_dropout, feature_dropout_ = _family("feature_dropout", True, False)
alpha_dropout, alpha_dropout_ = _family("alpha_dropout", False, True)
feature_alpha_dropout, feature_alpha_dropout_ = _family("feature_alpha_dropout", True, True)
__all__ = [
    "alpha_dropout", "alpha_dropout_", "dropout", "dropout_", "feature_alpha_dropout", "feature_alpha_dropout_",
    "feature_dropout", "feature_dropout_",
]
