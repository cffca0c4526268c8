"""autocast beside torch's: which operators it casts and to what, and how regions nest, cache and end."""

import gc
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minitorch

BOTH = (torch, minitorch)
frameworks = pytest.mark.parametrize("framework", BOTH, ids=lambda f: f.__name__)


def name_of(dtype):
    return str(dtype)


def r(f, dtype, *shape):
    return (f.ones(shape) / 2).to(dtype)


# name -> (framework, its functional, dtype) -> a tensor
OPERATORS = {
    "mm": lambda f, F, d: f.mm(r(f, d, 3, 4), r(f, d, 4, 2)),
    "matmul": lambda f, F, d: r(f, d, 2, 3, 4) @ r(f, d, 4, 2),
    "matmul of vectors": lambda f, F, d: r(f, d, 3) @ r(f, d, 3),
    "mv": lambda f, F, d: f.mv(r(f, d, 3, 4), r(f, d, 4)),
    "dot": lambda f, F, d: f.dot(r(f, d, 3), r(f, d, 3)),
    "bmm": lambda f, F, d: f.bmm(r(f, d, 2, 3, 4), r(f, d, 2, 4, 2)),
    "addmm": lambda f, F, d: f.addmm(r(f, d, 3, 2), r(f, d, 3, 4), r(f, d, 4, 2)),
    "baddbmm": lambda f, F, d: f.baddbmm(r(f, d, 2, 3, 2), r(f, d, 2, 3, 4), r(f, d, 2, 4, 2)),
    "addbmm": lambda f, F, d: f.addbmm(r(f, d, 3, 2), r(f, d, 2, 3, 4), r(f, d, 2, 4, 2)),
    "outer": lambda f, F, d: f.outer(r(f, d, 3), r(f, d, 3)),
    "linear": lambda f, F, d: F.linear(r(f, d, 3, 4), r(f, d, 2, 4), r(f, d, 2)),
    "conv1d": lambda f, F, d: F.conv1d(r(f, d, 1, 2, 5), r(f, d, 3, 2, 2)),
    "conv2d": lambda f, F, d: F.conv2d(r(f, d, 1, 2, 5, 5), r(f, d, 3, 2, 2, 2)),
    "conv3d": lambda f, F, d: F.conv3d(r(f, d, 1, 2, 3, 3, 3), r(f, d, 3, 2, 2, 2, 2)),
    "conv_transpose2d": lambda f, F, d: F.conv_transpose2d(r(f, d, 1, 2, 5, 5), r(f, d, 2, 3, 2, 2)),
    "prelu": lambda f, F, d: F.prelu(r(f, d, 3), r(f, d, 1)),
    "attention": lambda f, F, d: F.scaled_dot_product_attention(*[r(f, d, 1, 2, 3, 4)] * 3),
    "add": lambda f, F, d: r(f, d, 3) + r(f, d, 3),
    "mul": lambda f, F, d: r(f, d, 3) * r(f, d, 3),
    "exp": lambda f, F, d: r(f, d, 3).exp(),
    "sum": lambda f, F, d: r(f, d, 3).sum(),
    "prod": lambda f, F, d: r(f, d, 3).prod(),
    "prod of a dim": lambda f, F, d: r(f, d, 3, 2).prod(1),
    "mean": lambda f, F, d: r(f, d, 3).mean(),
    "cumsum": lambda f, F, d: r(f, d, 3).cumsum(0),
    "trace": lambda f, F, d: f.trace(r(f, d, 3, 3)),
    "softmax": lambda f, F, d: F.softmax(r(f, d, 3), 0),
    "log_softmax": lambda f, F, d: F.log_softmax(r(f, d, 3), 0),
    "relu": lambda f, F, d: F.relu(r(f, d, 3)),
    "gelu": lambda f, F, d: F.gelu(r(f, d, 3)),
    "layer_norm": lambda f, F, d: F.layer_norm(r(f, d, 3, 4), (4,)),
    "max_pool2d": lambda f, F, d: F.max_pool2d(r(f, d, 1, 1, 4, 4), 2),
    "max_pool3d": lambda f, F, d: F.max_pool3d(r(f, d, 1, 1, 4, 4, 4), 2),
    "avg_pool2d": lambda f, F, d: F.avg_pool2d(r(f, d, 1, 1, 4, 4), 2),
    "avg_pool3d": lambda f, F, d: F.avg_pool3d(r(f, d, 1, 1, 4, 4, 4), 2),
    "adaptive_avg_pool2d": lambda f, F, d: F.adaptive_avg_pool2d(r(f, d, 1, 1, 4, 4), 2),
    "adaptive_avg_pool3d": lambda f, F, d: F.adaptive_avg_pool3d(r(f, d, 1, 1, 4, 4, 4), 2),
    "adaptive_max_pool3d": lambda f, F, d: F.adaptive_max_pool3d(r(f, d, 1, 1, 4, 4, 4), 2),
    "grid_sample": lambda f, F, d: F.grid_sample(r(f, d, 1, 1, 4, 4), r(f, d, 1, 2, 2, 2), align_corners=False),
    "mse_loss": lambda f, F, d: F.mse_loss(r(f, d, 3), r(f, d, 3)),
    "l1_loss": lambda f, F, d: F.l1_loss(r(f, d, 3), r(f, d, 3)),
    "smooth_l1_loss": lambda f, F, d: F.smooth_l1_loss(r(f, d, 3), r(f, d, 3)),
    "huber_loss": lambda f, F, d: F.huber_loss(r(f, d, 3), r(f, d, 3)),
    "cross_entropy": lambda f, F, d: F.cross_entropy(r(f, d, 3, 4), f.tensor([0, 1, 2])),
    "nll_loss": lambda f, F, d: F.nll_loss(r(f, d, 3, 4), f.tensor([0, 1, 2])),
    "kl_div": lambda f, F, d: F.kl_div(r(f, d, 3), r(f, d, 3), reduction="sum"),
    "binary_cross_entropy": lambda f, F, d: F.binary_cross_entropy(r(f, d, 3), r(f, d, 3)),
    "with_logits": lambda f, F, d: F.binary_cross_entropy_with_logits(r(f, d, 3), r(f, d, 3)),
    "soft_margin_loss": lambda f, F, d: F.soft_margin_loss(r(f, d, 3), r(f, d, 3)),
    "poisson_nll_loss": lambda f, F, d: F.poisson_nll_loss(r(f, d, 3), r(f, d, 3)),
    "cosine_embedding_loss": lambda f, F, d: F.cosine_embedding_loss(r(f, d, 3, 4), r(f, d, 3, 4), f.ones(3)),
    "hinge_embedding_loss": lambda f, F, d: F.hinge_embedding_loss(r(f, d, 3), f.ones(3)),
    "margin_ranking_loss": lambda f, F, d: F.margin_ranking_loss(r(f, d, 3), r(f, d, 3), f.ones(3)),
    "triplet_margin_loss": lambda f, F, d: F.triplet_margin_loss(*[r(f, d, 3, 4)] * 3),
    "multi_margin_loss": lambda f, F, d: F.multi_margin_loss(r(f, d, 3, 4), f.tensor([0, 1, 2])),
    "cat": lambda f, F, d: f.cat([r(f, d, 3), r(f, f.float32, 2)]),
    "stack": lambda f, F, d: f.stack([r(f, d, 3), r(f, f.float32, 3)]),
    "index_copy": lambda f, F, d: f.index_copy(r(f, d, 3), 0, f.tensor([0]), r(f, f.float32, 1)),
    "in-place addmm_": lambda f, F, d: r(f, d, 3, 2).addmm_(r(f, d, 3, 4), r(f, d, 4, 2)),
    "mm of float64": lambda f, F, d: f.mm(r(f, f.float64, 3, 4), r(f, f.float64, 4, 2)),
    "out=": lambda f, F, d: f.mm(r(f, d, 3, 4), r(f, d, 4, 2), out=f.empty(3, 2, dtype=d)),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_dtype_of_the_result(name, dtype):
    def run(f):
        with f.autocast("cpu"):
            return OPERATORS[name](f, f.nn.functional, getattr(f, dtype))

    ours, theirs = run(minitorch), run(torch)
    assert name_of(ours.dtype) == name_of(theirs.dtype)
    np.testing.assert_allclose(ours.float().numpy(), theirs.float().numpy(), rtol=2**-7, atol=1e-6)


def product(f):
    return name_of(f.mm(f.ones(2, 2), f.ones(2, 2)).dtype)


@frameworks
def test_regions_nest_and_end(framework):
    f = framework
    with f.autocast("cpu"):
        assert product(f) == "torch.bfloat16" and f.is_autocast_enabled("cpu")
        with f.autocast("cpu", enabled=False):
            assert product(f) == "torch.float32" and not f.is_autocast_enabled("cpu")
            with f.autocast("cpu", dtype=f.float16):
                assert product(f) == "torch.float16" and f.get_autocast_dtype("cpu") == f.float16
        assert product(f) == "torch.bfloat16"
    assert product(f) == "torch.float32" and not f.is_autocast_enabled("cpu")
    with pytest.raises(ZeroDivisionError), f.autocast("cpu"):
        raise ZeroDivisionError
    assert product(f) == "torch.float32"


@frameworks
def test_spellings(framework):
    f = framework
    assert f.autocast("cpu")(lambda: product(f))() == "torch.bfloat16"
    with f.amp.autocast("cpu"):
        assert product(f) == "torch.bfloat16"
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"):
        older = f.cpu.amp.autocast()
    with older:
        assert product(f) == "torch.bfloat16"
    with pytest.warns(FutureWarning, match="torch.cuda.amp.autocast"):
        f.cuda.amp.autocast(enabled=False)


@frameworks
def test_belongs_to_the_thread(framework):
    found = []
    with framework.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append(product(framework)))
        thread.start()
        thread.join()
    assert found == ["torch.float32"]


@frameworks
def test_what_is_not_supported_warns_and_disables(framework):
    f = framework
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported. Disabling autocast"):
        region = f.autocast("cpu", dtype=f.float64)
    with region:
        assert product(f) == "torch.float32"
    if not f.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            f.autocast("cuda")
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
        f.autocast(f.device("cpu"))


@frameworks
def test_gradients_are_the_parameters_type(framework):
    weight = framework.ones(3, 2, requires_grad=True)
    with framework.autocast("cpu"):
        out = framework.ones(4, 3) @ weight
        assert out.dtype == framework.bfloat16
    out.float().sum().backward()
    assert weight.grad.dtype == framework.float32 and weight.grad.tolist() == [[4.0, 4.0]] * 3


@frameworks
@pytest.mark.parametrize("cache", [True, False])
def test_a_weight_is_cast_once(framework, cache):
    weight = framework.ones(2, 2, requires_grad=True)
    casts = set()
    with framework.autocast("cpu", cache_enabled=cache):
        for _ in range(3):
            node = (framework.ones(2, 2) @ weight).grad_fn
            casts.add(node.next_functions[1][0])
    assert len(casts) == (1 if cache else 3)


@frameworks
def test_custom_function(framework):
    f, seen = framework, []

    class Product(f.autograd.Function):
        @staticmethod
        @f.amp.custom_fwd(device_type="cpu")
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a.mm(b)

        @staticmethod
        @f.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append(name_of(grad.mm(b.t()).dtype))
            return grad.mm(b.t()), a.t().mm(grad)

    class InFloat32(f.autograd.Function):
        @staticmethod
        @f.amp.custom_fwd(device_type="cpu", cast_inputs=f.float32)
        def forward(ctx, a):
            return a.mm(a)

        @staticmethod
        @f.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    a, b = (f.ones(2, 2, requires_grad=True) for _ in range(2))
    with f.autocast("cpu"):
        out = Product.apply(a, b)
        assert InFloat32.apply(a.bfloat16()).dtype == f.float32
    assert out.dtype == f.bfloat16
    out.float().sum().backward()
    assert seen == ["torch.bfloat16"] and a.grad.dtype == f.float32


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoint_recomputes_in_the_precision_of_its_forward(use_reentrant):
    """Also when the backward pass runs after the region has ended."""
    import minitorch
    from minitorch.utils.checkpoint import checkpoint

    seen = []

    def function(x):
        y = x @ x
        seen.append(str(y.dtype))
        return y.float().exp().sum()  # saved later than the product: recomputing goes so far

    x = minitorch.ones(2, 2, requires_grad=True)
    with minitorch.autocast("cpu"):
        out = checkpoint(function, x, use_reentrant=use_reentrant)
    out.backward()
    assert seen == ["torch.bfloat16", "torch.bfloat16"]
    assert x.grad.dtype is minitorch.float32


@frameworks
def test_under_no_grad(framework):
    """Operators are cast the same, and nothing is recorded; a weight used so is not lost to the graph afterwards."""
    f, weight = framework, framework.ones(2, 2, requires_grad=True)
    with f.autocast("cpu"):
        with f.no_grad():
            out = f.ones(2, 2) @ weight
        assert out.dtype == f.bfloat16 and not out.requires_grad
    with f.autocast("cpu"):
        out = f.ones(2, 2) @ weight
    out.float().sum().backward()
    assert weight.grad.dtype == f.float32


@frameworks
def test_weights_are_cast_once_per_forward(framework):
    """The region that ends forgets its casts: in the next one, after a step, the weight's new value counts."""
    f, weight = framework, framework.ones(2, 2, requires_grad=True)
    for expected in (2.0, 4.0):
        with f.autocast("cpu"):
            out = f.ones(2, 2) @ weight
        assert out.tolist() == [[expected] * 2] * 2
        with f.no_grad():
            weight.mul_(2)


def test_the_cache_is_freed_at_the_end_of_the_region():
    """The cast copy of a weight lives as long as the outermost region, or as a graph that needs it."""
    weight = minitorch.ones(64, 64, requires_grad=True)

    def casts():
        gc.collect()
        return sum(1 for t in gc.get_objects() if type(t) is minitorch.Tensor and t.dtype is minitorch.bfloat16)

    before = casts()
    with minitorch.autocast("cpu"):
        for _ in range(3):
            with minitorch.autocast("cpu"):
                minitorch.ones(1, 64) @ weight
        assert casts() == before + 1
    assert casts() == before


@frameworks
def test_function_without_custom_fwd(framework):
    """Its forward runs under autocast like other code, its backward without."""
    f, seen = framework, []

    class Product(f.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a.mm(b)

        @staticmethod
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((name_of(grad.dtype), f.is_autocast_enabled("cpu"), name_of(a.mm(b).dtype)))
            return grad.float().mm(b.t()), a.t().mm(grad.float())

    a, b = (f.ones(2, 2, requires_grad=True) for _ in range(2))
    with f.autocast("cpu"):
        out = Product.apply(a, b)
    assert out.dtype == f.bfloat16
    out.float().sum().backward()
    assert seen == [("torch.bfloat16", False, "torch.float32")]
    assert a.grad.dtype == f.float32


@frameworks
def test_in_place_and_out_are_left_alone(framework):
    f = framework
    a, target = f.ones(2, 2), f.zeros(2, 2)
    with f.autocast("cpu"):
        assert f.mm(a, a, out=target) is target and target.dtype == f.float32
        assert f.zeros(2, 2).addmm_(a, a).dtype == f.float32
        target += a @ a  # what is bfloat16 is added to float32
        assert target.dtype == f.float32 and target.tolist() == [[4.0, 4.0]] * 2
        with pytest.raises(RuntimeError):
            f.zeros(2, 2).addmm_(a.bfloat16(), a)


@frameworks
def test_integers_and_doubles_are_untouched(framework):
    f = framework
    with f.autocast("cpu"):
        assert f.mm(f.ones(2, 2, dtype=f.int64), f.ones(2, 2, dtype=f.int64)).dtype == f.int64
        assert f.mm(f.ones(2, 2, dtype=f.float64), f.ones(2, 2, dtype=f.float64)).dtype == f.float64
        assert f.cat([f.tensor([1]), f.tensor([2])]).dtype == f.int64
        with pytest.raises(RuntimeError):
            f.mm(f.ones(2, 2, dtype=f.int64), f.ones(2, 2))
        with pytest.raises(RuntimeError, match="Unexpected floating ScalarType in at::autocast::prioritize"):
            f.cat([f.ones(2).half(), f.ones(2).bfloat16()])


@frameworks
def test_backward_runs_without(framework):
    """Also when it is called within the region, what a hook computes is computed as it is outside of torch's engine."""
    f = framework
    weight = f.ones(2, 2, requires_grad=True)
    out = f.ones(2, 2) @ weight
    with f.autocast("cpu"):
        out.sum().backward()
    assert weight.grad.dtype == f.float32 and weight.grad.tolist() == [[2.0, 2.0]] * 2


def test_lists_of_cuda():
    """The column's policies for a GPU, beside torch's documented lists (docs: "CUDA Ops that can autocast")."""
    from minitorch.amp.autocast_mode import _Autocast
    from minitorch.dispatch import ROWS

    mode = _Autocast("cuda", minitorch.float16, None, True)
    policy = lambda name: mode.target(ROWS[name].autocast, name, (), {})
    for name in ("mm", "bmm", "addmm", "baddbmm", "convolution", "prelu_kernel"):
        if ROWS[name].autocast:
            assert policy(name) is minitorch.float16, name
    for name in ("mse_loss", "smooth_l1_loss", "soft_margin_loss", "nll_loss", "native_layer_norm", "native_group_norm"):
        assert policy(name) is minitorch.float32, name
    for name in ("max_pool2d_with_indices", "avg_pool3d", "relu", "add", "mul"):
        assert ROWS[name].autocast is None or policy(name) is None, name
    with pytest.raises(RuntimeError, match="unsafe to autocast"):
        policy("binary_cross_entropy")
