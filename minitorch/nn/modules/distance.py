"""Distances (torch/nn/modules/distance.py)."""

from minitorch.nn import functional as F
from minitorch.nn.modules._holding import holding

__all__ = ["CosineSimilarity", "PairwiseDistance"]

PairwiseDistance = holding(F.pairwise_distance, "PairwiseDistance", __name__, inputs=2, repr_nothing=True)
CosineSimilarity = holding(F.cosine_similarity, "CosineSimilarity", __name__, inputs=2, repr_nothing=True)
