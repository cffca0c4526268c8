"""Losses (torch/nn/modules/loss.py). All hold the arguments of a function of `nn.functional`: see `_holding.py`."""

from minitorch.nn import functional as F
from minitorch.nn.modules._holding import holding, reduction_of
from minitorch.nn.modules.distance import PairwiseDistance
from minitorch.nn.modules.module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss",
    "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]


class _Loss(Module):
    """A loss with a `reduction`: "none", "sum" or "mean"."""

    def __init__(self, size_average=None, reduce=None, reduction="mean"):
        super().__init__()
        self.reduction = reduction_of(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """A loss with a weight for each class or element, which is a buffer."""

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


def _row(name, function, inputs=2, base=_Loss, **options):
    return holding(function, name, __name__, inputs=inputs, base=base, repr_nothing=True, **options)


_PLAIN = ["size_average", "reduce", "reduction"]
L1Loss = _row("L1Loss", F.l1_loss, held=_PLAIN)
MSELoss = _row("MSELoss", F.mse_loss, held=_PLAIN)
SmoothL1Loss = _row("SmoothL1Loss", F.smooth_l1_loss)
NLLLoss = _row("NLLLoss", F.nll_loss, base=_WeightedLoss)
CrossEntropyLoss = _row("CrossEntropyLoss", F.cross_entropy, base=_WeightedLoss)
BCELoss = _row("BCELoss", F.binary_cross_entropy, base=_WeightedLoss)
BCEWithLogitsLoss = _row("BCEWithLogitsLoss", F.binary_cross_entropy_with_logits)
KLDivLoss = _row("KLDivLoss", F.kl_div)
PoissonNLLLoss = _row("PoissonNLLLoss", F.poisson_nll_loss)
GaussianNLLLoss = _row("GaussianNLLLoss", F.gaussian_nll_loss, inputs=3)
HingeEmbeddingLoss = _row("HingeEmbeddingLoss", F.hinge_embedding_loss)
SoftMarginLoss = _row("SoftMarginLoss", F.soft_margin_loss)
MarginRankingLoss = _row("MarginRankingLoss", F.margin_ranking_loss, inputs=3)
CosineEmbeddingLoss = _row("CosineEmbeddingLoss", F.cosine_embedding_loss, inputs=3)
MultiLabelMarginLoss = _row("MultiLabelMarginLoss", F.multilabel_margin_loss)
MultiLabelSoftMarginLoss = _row("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss, base=_WeightedLoss)


def _check_huber(arguments):
    if not isinstance(arguments["delta"], int | float):
        raise TypeError(f"delta must be a float or int, got: {type(arguments['delta'])}")


def _check_multi_margin(arguments):
    if arguments["p"] not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if arguments["weight"] is not None and arguments["weight"].dim() != 1:
        raise ValueError(
            f"MultiMarginLoss: expected weight to be None or 1D tensor, got {arguments['weight'].dim()}D instead"
        )


def _check_triplet_margin(arguments):
    if arguments["margin"] <= 0:
        raise ValueError(f"expected margin to be greater than 0, got {arguments['margin']} instead")


HuberLoss = _row("HuberLoss", F.huber_loss, held=["reduction", "delta"], check=_check_huber)
MultiMarginLoss = _row("MultiMarginLoss", F.multi_margin_loss, base=_WeightedLoss, check=_check_multi_margin)
TripletMarginLoss = _row("TripletMarginLoss", F.triplet_margin_loss, inputs=3, check=_check_triplet_margin)


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance: a function of two tensors, or a module."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(reduction=reduction)
        _check_triplet_margin({"margin": margin})
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(self, anchor, positive, negative):
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )


CTCLoss = _row("CTCLoss", F.ctc_loss, inputs=4)


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss."""
