"""Softmax over very many classes, the rare ones in clusters (torch/nn/modules/adaptive.py)."""

from collections import namedtuple
from itertools import pairwise

from minitorch.nn import functional as F
from minitorch.nn.modules.container import ModuleList, Sequential
from minitorch.nn.modules.linear import Linear
from minitorch.nn.modules.module import Module
from minitorch.ops.copies import cat

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax in two steps (Grave et al. 2017): over the frequent classes and the clusters, then within a cluster.

    Classes are sorted by frequency; `cutoffs` says where clusters begin, and each is projected to a dimension that is
    `div_value` times smaller than the one before.
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            any(int(c) != c for c in cutoffs)
            or cutoffs != sorted(set(cutoffs))
            or not 0 < cutoffs[0] <= cutoffs[-1] <= n_classes - 1
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // (div_value ** (i + 1)))
            self.tail.append(Sequential(
                Linear(in_features, hidden, False, device, dtype), Linear(hidden, stop - start, False, device, dtype)
            ))

    def reset_parameters(self):
        self.head.reset_parameters()
        for down, up in self.tail:
            down.reset_parameters()
            up.reset_parameters()

    def forward(self, input_, target_):
        """(the log-probability of each target, minus their mean)."""
        if target_.dim() not in (0, 1):
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() == 1
        if input_.dim() != target_.dim() + 1:
            raise RuntimeError(
                f"{target_.dim()}D target tensor expects {target_.dim() + 1}D input tensors, but found inputs with "
                f"size {input_.shape}"
            )
        if batched and input_.shape[0] != target_.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and not 0 <= target.min().item() <= target.max().item() < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        places = target.clone()  # where in the head each target, or its cluster, is found
        within = input.new_zeros(target.shape[0])
        for i, (start, stop) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= start) & (target < stop)).nonzero().squeeze(1)
            if rows.numel():
                scores = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
                chosen = scores.gather(1, (target[rows] - start).unsqueeze(1)).squeeze(1)
                within = within.index_copy(0, rows, chosen)
                places[rows] = self.shortlist_size + i
        output = within + F.log_softmax(self.head(input), dim=1).gather(1, places.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if batched else output.squeeze(0), (-output).mean())

    def log_prob(self, input):
        """The log-probabilities of all classes, (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(F.log_softmax(tail(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(parts, 1)

    def predict(self, input):
        """The most probable class of each row. Clusters are looked into only where one is ahead."""
        output = self.head(input).argmax(1)
        unsure = output >= self.shortlist_size
        if unsure.any():
            output[unsure] = self.log_prob(input[unsure]).argmax(1)
        return output
