"""Tensors made from sizes, numbers and data: each expression below is evaluated with torch and with minitorch."""

import pickle
import warnings

import numpy as np
import pytest
import torch

import minitorch

# fmt: off
SAME = """\
torch.tensor([[1,2],[3]])
torch.tensor([[1,2],3])
torch.tensor([1,[2]])
torch.tensor([1.,[2.]])
torch.tensor([True,[2.]])
torch.tensor([[1],[[2]]])
torch.tensor([[1,2],'ab'])
torch.tensor('abc')
torch.tensor(b'ab')
torch.tensor(['a'])
torch.tensor([1.,'a'])
torch.tensor(None)
torch.tensor([[1,2],[3,None]])
torch.tensor({})
torch.tensor([{}])
torch.tensor(set([1]))
torch.tensor(iter([1]))
torch.tensor(float)
torch.tensor(2**63)
torch.tensor(-2**63-1)
torch.tensor([2**63])
torch.tensor(2**63,dtype=torch.float32)
torch.tensor([2**70,1.])
torch.tensor(300,dtype=torch.uint8)
torch.tensor(-1,dtype=torch.uint8)
torch.tensor(-256,dtype=torch.uint8)
torch.tensor(1.5,dtype=torch.int64)
torch.tensor(float('nan'),dtype=torch.int64)
torch.tensor(1e20,dtype=torch.int64)
torch.tensor(1e39)
torch.tensor([1e39,70000],dtype=torch.float16)
torch.tensor([1.0009765,3e38],dtype=torch.bfloat16)
torch.tensor(0.5,dtype=torch.bool)
torch.tensor([True,2,3.])
torch.tensor([True,False])
torch.tensor([True],dtype=torch.float32)
torch.tensor([np.float64(1)])
torch.tensor([np.float32(1),2.])
torch.tensor([np.float16(1)])
torch.tensor([np.int32(1)])
torch.tensor(np.int32(1))
torch.tensor(np.float64(1))
torch.tensor([np.bool_(True)])
torch.tensor([a,a])
torch.tensor([np.array([1.,2.]),[3.,4.]])
torch.tensor([t,t])
torch.tensor([t[0],t[1]])
torch.tensor([t[:1],t[1:]])
torch.tensor([torch.tensor(1),2.5])
torch.tensor([torch.tensor(1,dtype=torch.int8)])
torch.tensor([torch.tensor(1.5)],dtype=torch.int64)
torch.tensor(t)
torch.tensor(t,dtype=torch.int32)
torch.tensor(t.clone().requires_grad_())
torch.tensor(torch.ones(2,3).t())
torch.tensor(np.asfortranarray(np.ones((2,3))))
torch.tensor(range(3))
torch.tensor([])
torch.tensor([[],[]])
torch.tensor([[[]]])
torch.tensor(())
torch.tensor((1,2))
torch.tensor([1],requires_grad=True)
torch.tensor(1.,requires_grad=True)
torch.tensor(a,dtype=torch.float32)
torch.tensor(a.astype('>i4'))
torch.tensor(a[::-1])
torch.tensor(np.array(3))
torch.tensor(1,2)
torch.tensor(1,dtype='float32')
torch.tensor(1,dtype=float)
torch.tensor(1,dtype=int)
torch.tensor(bytearray(b'ab'))
torch.tensor(memoryview(b'ab'))
torch.as_tensor(a)
torch.as_tensor(t) is t
torch.as_tensor([1,2],dtype=torch.float64)
torch.as_tensor(3)
torch.as_tensor(a[::-1])
torch.asarray(a)
torch.asarray(t) is t
torch.asarray(t,copy=True) is t
torch.asarray(a,copy=False)
torch.asarray([1,2],copy=False)
torch.asarray(t,dtype=torch.int32,copy=False)
torch.asarray(3.)
torch.asarray(t,requires_grad=True)
torch.from_numpy(a)
torch.from_numpy([1])
torch.from_numpy(a[::-1])
torch.from_numpy(np.float32(1))
torch.from_numpy(np.array(1.))
torch.from_numpy(a.astype('>i4'))
torch.scalar_tensor(3)
torch.scalar_tensor(3.5,dtype=torch.int64)
torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int32)
torch.frombuffer(bytearray(b'abc'),dtype=torch.int32)
torch.frombuffer(bytearray(b''),dtype=torch.int32)
torch.frombuffer(bytearray(b'abcdefgh'),dtype=torch.int16,count=2,offset=2)
torch.from_dlpack(a)
torch.from_dlpack(x)
torch.zeros(2,3)
torch.zeros((2,3))
torch.zeros([2])
torch.zeros()
torch.zeros(())
torch.zeros(size=(2,))
torch.zeros(2,(3,))
torch.zeros(2.)
torch.zeros(-1)
torch.ones(-1)
torch.empty(2,-1)
torch.zeros('a')
torch.zeros(None)
torch.zeros([1,2.])
torch.zeros((True,))
torch.zeros(([1],))
torch.zeros(True)
torch.zeros(2,dtype=int)
torch.zeros(2,dtype=float)
torch.zeros(2,dtype='float32')
torch.zeros(i,2)
torch.zeros((torch.tensor(2),3))
torch.zeros((torch.tensor(2.),3))
torch.zeros(np.int64(2))
torch.zeros(torch.tensor([2,3]))
torch.zeros(2,foo=1)
torch.zeros(2,out=torch.empty(0))
torch.zeros(2,out=torch.empty(3))
torch.zeros(2,out=torch.empty(2,dtype=torch.int32))
torch.zeros(2,out=torch.empty(2,dtype=torch.int32),dtype=torch.float32)
torch.zeros(2,out=3)
torch.zeros(2,dtype=torch.int32,requires_grad=True)
torch.zeros(2,requires_grad=True)
torch.zeros(2,requires_grad=1)
torch.zeros(2,layout=torch.strided)
torch.zeros(2,layout='a')
torch.ones(2,2)
torch.empty(2,memory_format=torch.channels_last)
torch.empty(1,2,2,2,memory_format=torch.channels_last).stride()
torch.empty(2,memory_format=torch.preserve_format)
torch.full((2,),3)
torch.full((2,),3.)
torch.full((2,),True)
torch.full(2,3)
torch.full((),3)
torch.full((-1,),0)
torch.full((2,),i)
torch.full((2,),3.5,dtype=torch.int64)
torch.full((2,),300,dtype=torch.uint8)
torch.full((2,),-1,dtype=torch.uint8)
torch.full((2,),-256,dtype=torch.uint8)
torch.full((2,),2**40,dtype=torch.int32)
torch.full((2,),2**70)
torch.full((2,),1e39,dtype=torch.float32)
torch.full((2,),70000,dtype=torch.float16)
torch.full((2,),float('inf'),dtype=torch.float16)
torch.full((2,),float('nan'),dtype=torch.int32)
torch.full((2,),'a')
torch.full((2,),fill_value=1,out=torch.empty(2))
torch.full(size=(2,),fill_value=1)
torch.eye(2)
torch.eye(2,3,dtype=torch.int32)
torch.eye(-1)
torch.eye(2,-1)
torch.eye(2.)
torch.eye(3,2,out=torch.zeros(1,dtype=torch.int64))
torch.arange(5)
torch.arange(5.)
torch.arange(1,5)
torch.arange(1,5,2)
torch.arange(5,1)
torch.arange(-1)
torch.arange(5,1,-1)
torch.arange(1,0,-.25)
torch.arange(0,5,0)
torch.arange(0,1,.1)
torch.arange(1,5,2,dtype=torch.float32)
torch.arange(.5,5,dtype=torch.int64)
torch.arange(1.5,dtype=torch.int32)
torch.arange(0.5,5.2,1.5,dtype=torch.int64)
torch.arange(0.5,5.2,1.5,dtype=torch.int32)
torch.arange(0,5,.5,dtype=torch.int64)
torch.arange(0,5,.5,dtype=torch.int32)
torch.arange(300,dtype=torch.uint8)
torch.arange(40,dtype=torch.float16)
torch.arange(0,float('inf'))
torch.arange(0,float('nan'))
torch.arange(0,1,float('nan'))
torch.arange(i)
torch.arange(torch.tensor(2.5))
torch.arange(end=3)
torch.arange(start=1,end=3)
torch.arange(start=1,end=3,step=2)
torch.arange(1,end=3,step=1)
torch.arange('a')
torch.arange(True)
torch.arange(3,dtype=torch.bool)
torch.arange(3,out=torch.empty(0))
torch.arange(2**62,2**62+2)
torch.arange(2**63)
torch.arange(5,requires_grad=True)
torch.arange(5.,requires_grad=True)
torch.arange(np.float32(3))
torch.range(1,2,.5)
torch.range(1,0)
torch.range(0,5,2,dtype=torch.int64)
torch.linspace(0,1,5)
torch.linspace(0,1,steps=1)
torch.linspace(0,1,0)
torch.linspace(0,1,-1)
torch.linspace(0,10,5,dtype=torch.int64)
torch.linspace(3,1,4,dtype=torch.uint8)
torch.linspace(.5,4.7,4,dtype=torch.int64)
torch.logspace(.5,4.7,4,dtype=torch.int32)
torch.range(.5,4.7,1.5,dtype=torch.int64)
torch.linspace(torch.tensor(0.),torch.tensor(1.),3)
torch.linspace(torch.tensor([0.]),1,3)
torch.linspace(0,1,3,out=torch.empty(0))
torch.linspace(0,1,3,dtype=torch.bool)
torch.logspace(0,1,3)
torch.logspace(0,1,3,2)
torch.logspace(0,1,-3)
torch.logspace(0,3,4,base=2,dtype=torch.int64)
torch.logspace(0,1,3,base=-2.0)
torch.empty_strided((2,3),(1,2)).stride()
torch.empty_strided((2,3),(1,))
torch.empty_strided((2,3),(-1,2))
torch.empty_strided((2,3),(0,1)).stride()
torch.empty_permuted((2,3,4),(0,2,1)).stride()
torch.empty_permuted((2,3),(0,0))
torch.tril_indices(3,3)
torch.tril_indices(3,4,1,dtype=torch.int32)
torch.tril_indices(3,3,-5)
torch.tril_indices(2,2,9)
torch.tril_indices(-1,3)
torch.triu_indices(3,3,offset=-1)
torch.triu_indices(0,3)
torch.triu_indices(2,3,dtype=torch.float32)
torch.zeros_like(x)
torch.zeros_like(x.t())
torch.zeros_like(x[:,::2])
torch.zeros_like(e)
torch.zeros_like(c).stride()
torch.zeros_like(c,memory_format=torch.contiguous_format).stride()
torch.zeros_like(x,memory_format=torch.channels_last)
torch.zeros_like(torch.empty(1,2,3,4),memory_format=torch.channels_last).stride()
torch.zeros_like(torch.empty(2,3,4,5).permute(3,1,0,2)).stride()
torch.zeros_like(torch.empty(2,3,4,5).permute(3,1,0,2)[:,:2]).stride()
torch.empty_like(torch.empty(3,0,2)).stride()
torch.ones_like(x,dtype=torch.int64)
torch.ones_like(x,requires_grad=True)
torch.ones_like(input=x)
torch.ones_like([1])
torch.full_like(x,2)
torch.full_like(x,2.5,dtype=torch.int64)
torch.full_like(torch.tensor([1]),2.5)
torch.full_like(x,fill_value=True)
torch.zeros_like(torch.tensor([1.],requires_grad=True))
x.new_zeros(2)
x.new_zeros(2,3)
x.new_zeros((2,3),dtype=torch.int64)
x.new_zeros(size=(2,))
x.new_zeros()
x.new_ones(2,requires_grad=True)
x.new_full((2,),3)
x.new_full((2,),3,dtype=torch.int64)
x.new_full(2,3)
torch.tensor([1]).new_full((2,),3.5)
x.new_empty((2,3)).shape
x.new_empty_strided((2,3),(1,2)).stride()
x.new_tensor([1,2])
x.new_tensor([1,2],dtype=torch.int64)
torch.tensor([1]).new_tensor([1.5])
x.new_tensor(x)
x.new(2,3).shape
x.new([1,2])
x.new()
x.new(x.shape).shape
torch.tensor([1]).new([1.5])
torch.Tensor()
torch.Tensor(2,3).shape
torch.Tensor([2,3])
torch.Tensor((2,3))
torch.Tensor(x.shape).shape
torch.Tensor(x) is x
torch.Tensor(torch.tensor([1]))
torch.Tensor(a)
torch.Tensor(2.5)
torch.Tensor('a')
torch.Tensor([[1,2],[3]])
torch.Tensor([True])
torch.Tensor(np.float32(3))
torch.Tensor(-1)
torch.Tensor(2,'a')
torch.Tensor(2,3.)
torch.Tensor([1],device='cpu')
torch.Tensor(size=(2,3)).shape
torch.Tensor(data=[1])
torch.Tensor(None)
torch.FloatTensor([1,2])
torch.FloatTensor(x) is x
torch.FloatTensor(a)
torch.LongTensor([1.5,2])
torch.LongTensor(3).dtype
torch.LongTensor(np.array([1.5]))
torch.ByteTensor([1,300])
torch.BoolTensor([1,0])
torch.HalfTensor([1.5])
torch.BFloat16Tensor([1.5])
torch.DoubleTensor([1])
torch.IntTensor([1])
torch.ShortTensor([1])
torch.CharTensor([1])
torch.FloatTensor.dtype
repr(torch.FloatTensor)
isinstance(x,torch.FloatTensor)
isinstance(torch.tensor(1),torch.FloatTensor)
isinstance(torch.tensor(1),torch.LongTensor)
torch.autograd.Variable(torch.ones(1), True)
torch.autograd.Variable(torch.ones(1), requires_grad=True)
torch.autograd.Variable(torch.ones(1, requires_grad=True) * 2)
torch.autograd.Variable([1.])
torch.autograd.Variable()
torch.autograd.Variable(torch.nn.Parameter(torch.ones(1)))
isinstance(torch.ones(1), torch.autograd.Variable)
isinstance(1, torch.autograd.Variable)
torch.finfo(torch.bfloat16)
torch.finfo(torch.float16).resolution
isinstance(torch.ones(1), torch.cuda.FloatTensor)
""".splitlines()

SAME_CLASS = """\
torch.tensor()
torch.tensor(1,device='foo')
torch.tensor(np.array(['a']))
torch.zeros(np.array([2,3]))
torch.zeros(2,device=1.5)
torch.zeros(2,pin_memory=True)
torch.full((2,))
torch.full_like(x)
torch.arange()
torch.arange(step=2,end=5)
torch.range(3)
torch.linspace(0,1)
torch.linspace(0,1,3.)
torch.linspace('a',1,3)
torch.tril_indices(3)
torch.Tensor([1],dtype=torch.int64)
torch.FloatTensor(torch.tensor([1]))
torch.LongTensor(x)
torch.autograd.Variable(torch.tensor([1]), requires_grad=True)
torch.cuda.FloatTensor(2)
""".splitlines()


def outcome(expression, library):
    """What an expression gives, or how it fails, and what it warns of."""
    names = {
        "torch": library, "np": np, "a": np.arange(3), "t": library.tensor([1.0, 2.0]), "i": library.tensor(3),
        "x": library.arange(6.0).reshape(2, 3), "e": library.zeros(1, 3).expand(2, 3),
        "c": library.empty(2, 3, 4, 5).to(memory_format=library.channels_last),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(expression, names)
        except Exception as error:
            result = (type(error).__name__, str(error))
        else:
            if isinstance(result, library.Tensor):
                result = (repr(result), str(result.dtype), result.stride(), result.requires_grad)
            else:
                result = repr(result)
    # torch adds where in C++ a warning was triggered, and warns once for each array in a list
    said = dict.fromkeys((w.category, str(w.message).split(" (Triggered")[0]) for w in caught)
    return result, [words for words in said if "list of numpy.ndarrays" not in words[1]]  # which torch says but once


@pytest.mark.parametrize("expression", SAME)
def test_same_result_or_same_words(expression):
    assert outcome(expression, minitorch) == outcome(expression, torch)


@pytest.mark.parametrize("expression", SAME_CLASS)
def test_same_class_of_error(expression):
    (ours, message), _ = outcome(expression, minitorch)
    (theirs, _), _ = outcome(expression, torch)
    assert ours == theirs and message


def test_from_numpy_and_as_tensor_share_memory():
    array = np.zeros(3)
    for make in (minitorch.from_numpy, minitorch.as_tensor, minitorch.asarray, minitorch.from_dlpack):
        t = make(array)
        t[0] += 1
        assert t.numpy() is array or np.shares_memory(t.numpy(), array)
    assert array[0] == 4
    assert not np.shares_memory(minitorch.tensor(array).numpy(), array)


def test_an_array_that_is_not_writable_warns():
    array = np.broadcast_to(np.arange(3), (2, 3))
    with pytest.warns(UserWarning, match="not writable"):
        minitorch.from_numpy(array)


def test_numpy_and_torch_read_our_memory():
    t = minitorch.arange(6.0).reshape(2, 3)
    assert torch.from_dlpack(t).tolist() == np.from_dlpack(t).tolist() == t.tolist()
    with pytest.raises(BufferError, match="require gradient"):
        t.requires_grad_().__dlpack__()


def test_dtypes_minitorch_does_not_have_are_refused():
    for array in (np.zeros(2, np.uint16), np.zeros(2, np.complex64)):
        with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
            minitorch.from_numpy(array)
    with pytest.raises(TypeError, match="no complex"):
        minitorch.tensor(1j)


def test_default_dtype_decides_for_floats():
    for name in ("float64", "float16", "float32"):
        torch.set_default_dtype(getattr(torch, name))
        minitorch.set_default_dtype(getattr(minitorch, name))
        for expression in ("torch.zeros(2)", "torch.tensor([1.5])", "torch.Tensor([1])", "torch.arange(2.)",
                           "torch.full((1,),1.)", "torch.eye(2)", "torch.linspace(0,1,3)"):
            assert outcome(expression, minitorch) == outcome(expression, torch)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_ranges_are_rounded_as_torch_rounds_them(dtype):
    rng = np.random.default_rng(0)
    for _ in range(60):
        start, step = float(rng.uniform(-5, 5)), float(rng.choice([0.1, 0.3, 0.25, rng.uniform(0.01, 2)]))
        count = int(rng.integers(1, 200))
        for f, arguments in (("arange", (start, start + step * count, step)), ("linspace", (start, step, count))):
            ours = getattr(minitorch, f)(*arguments, dtype=getattr(minitorch, dtype)).tolist()
            theirs = getattr(torch, f)(*arguments, dtype=getattr(torch, dtype)).tolist()
            if dtype == "bfloat16":
                np.testing.assert_allclose(ours, theirs, rtol=2**-7)
            else:
                assert ours == theirs, (f, arguments)
        ours = minitorch.logspace(start / 3, step, count, dtype=getattr(minitorch, dtype)).tolist()
        theirs = torch.logspace(start / 3, step, count, dtype=getattr(torch, dtype)).tolist()
        eps = torch.finfo(getattr(torch, dtype)).eps
        np.testing.assert_allclose(ours, theirs, rtol=0 if dtype == "float64" else 4 * eps)


def test_legacy_types_pickle_and_subclasses_are_made():
    assert pickle.loads(pickle.dumps(minitorch.LongTensor)) is minitorch.LongTensor

    class Mine(minitorch.Tensor):
        pass

    made = Mine([1, 2])
    assert type(made) is Mine and made.tolist() == [1.0, 2.0]


def test_default_tensor_type_warns():
    with pytest.warns(UserWarning, match="deprecated"):
        minitorch.set_default_tensor_type(minitorch.DoubleTensor)
    assert minitorch.get_default_dtype() is minitorch.float64
    with pytest.warns(UserWarning):
        minitorch.set_default_tensor_type("torch.FloatTensor")
    assert minitorch.get_default_dtype() is minitorch.float32


def test_inference_mode_marks_new_tensors():
    with minitorch.inference_mode():
        t = minitorch.zeros(2)
    assert t.is_inference()


@pytest.fixture(autouse=True)
def default_dtype():
    yield
    torch.set_default_dtype(torch.float32)
    minitorch.set_default_dtype(minitorch.float32)
