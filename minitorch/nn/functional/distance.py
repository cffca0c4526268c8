"""Distances and similarities (ATen/native/Distance.cpp)."""

from minitorch.ops.nn_distance import cosine_similarity, pairwise_distance, pdist

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]
