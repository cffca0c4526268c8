"""Names of torch.nn.parallel, for programs that use them where there is one device: the wrapped module just runs."""

from minitorch.nn.modules.module import Module

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]


class DataParallel(Module):
    """Calls `module`; with more than one device torch would split the batch."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = device_ids or [], output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """Calls `module`: minitorch runs in one process."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, **options):
        super().__init__(module, device_ids, output_device, dim)

    def no_sync(self):
        """A context in which gradients are not exchanged: nothing to do."""
        import contextlib

        return contextlib.nullcontext()


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`module(*inputs, **module_kwargs)`."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))


def scatter(inputs, target_gpus, dim=0):
    """The inputs for each of the one device."""
    return [inputs]


def gather(outputs, target_device, dim=0):
    """The outputs of the one device."""
    return outputs[0]


def replicate(network, devices, detach=False):
    """The network for each of the one device."""
    return [network]


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Every module applied to its inputs, one after the other."""
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    return [m(*(i if isinstance(i, tuple) else (i,)), **k) for m, i, k in zip(modules, inputs, kwargs_tup, strict=True)]
