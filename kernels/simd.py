"""Pieces of vector code that a compiled loop alone does not give: two tiles of a matrix product, and what is done to
short rows.

Numba's compiler turns a loop into vector instructions, but it keeps a *block* of running sums in memory, so each
multiply-add waits for a load and a store. The tiles are written out as LLVM instructions instead: a block of `m` rows
by `v` vectors of sums is held in registers for the whole of the inner loop, which brings a core to its peak (BLAS
libraries do the same in assembler, oneDNN in a just-in-time compiler). Both read one operand through a table of
offsets: row r of the matrix `x` begins at `x[offsets[r]]`. So rows may overlap, which is all that the columns of a
convolution are: the image, shifted. A second table says at which places l along the rows there is a vector to work on;
the other operand, and the result, hold these vectors one after the other.

    outer_tile:  y[i, l]  = sum_r w[r, i] x[r, l]           i < m rows, l in v vectors
    dot_tile:    y[i, j] += sum_l g[i, l] x[j, l]           i < m rows, j < v rows, l in any number of vectors
    copy_row:    y[l] = x[l]                                l < n
    max_row:     y[l] = max(y[l], x[l * stride])            l < n, and the place of the greatest

In rows, the last vector is worked on under a mask: a loop would take its numbers one by one.

A vector holds `lanes(itemsize)` numbers. m is at most `rows()`; v is `VECTORS`, or also twice as many where m is at
most `wide_rows()`: together as many as the processor has registers for, beside v of x and one of w.
"""

import contextlib
import functools

from .parallel import compiled

VECTORS = 3


@functools.cache
def _registers():
    """The vector registers of this processor: how many bytes each holds, and how many there are."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 64, 32
    if features.get("avx"):
        return 32, 16
    return 16, 32 if features.get("neon") else 16


def lanes(itemsize):
    """How many numbers of `itemsize` bytes a vector holds."""
    return _registers()[0] // itemsize


def rows():
    """The greatest `m` of a tile."""
    return 8 if _registers()[1] == 32 else 4


def wide_rows():
    """The greatest `m` of a tile with `2 * VECTORS` vectors: where rows are few, more vectors keep the multipliers
    busy.
    """
    return 4 if _registers()[1] == 32 else 1


def shape(itemsize):
    """The three numbers above, for a compiled loop that calls tiles."""
    return lanes(itemsize), rows(), wide_rows()


class _Written(compiled):
    """A function for compiled kernels to call, whose instructions are written by the decorated one: see `_intrinsic`."""

    def compile(self):
        if self._run is None:
            self._run = _intrinsic(self.python, **self.options)
        return self._run


def _tile(emit):
    return _Written(emit, tile=True)


def _intrinsic(emit, tile=False):
    """Make a Numba intrinsic of `emit(tools, *arguments)`, to be called with a number and a tuple: `emit` is given the
    tuple's integers.

    The number is a zero of the type to compute in. Arrays are passed as addresses (`array.ctypes.data`), because
    passing an array costs two atomic instructions to count its references; the caller keeps them alive. A tile's is
    called with m and v before these, and made of `emit(tools, m, v, *arguments)` for each m and v: the numbers choose.
    """
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    def code(context, builder, signature, values):
        arguments = [builder.extract_value(values[-1], position) for position in range(len(signature.args[-1]))]
        number = signature.args[-2]
        tools = _Emitter(builder, context.get_data_type(number), number.bitwidth // 8)
        if not tile:
            emit(tools, *arguments)
            return context.get_dummy_value()
        done = builder.append_basic_block("tile.done")
        shape = builder.add(builder.mul(values[0], tools.int(16)), values[1])
        choice = builder.switch(shape, done)
        for m in range(1, rows() + 1):
            for v in [VECTORS, 2 * VECTORS][: 1 + (m <= wide_rows())]:
                with builder.goto_block(builder.append_basic_block(f"tile.{m}x{v}")):
                    choice.add_case(ir.Constant(shape.type, m * 16 + v), builder.block)
                    emit(tools, m, v, *arguments)
                    builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    def addresses(arguments):
        return types.UniTuple(types.intp, len(arguments))

    if tile:

        def typing(typing_context, m, v, zero, arguments):
            return types.void(types.intp, types.intp, zero, addresses(arguments)), code
    else:

        def typing(typing_context, zero, arguments):
            return types.void(zero, addresses(arguments)), code

    return intrinsic(typing)


class _Emitter:
    """What the pieces are written in: vectors of the processor's width as LLVM values."""

    fast = ("contract", "reassoc", "nsz")

    def __init__(self, builder, scalar, itemsize):
        from llvmlite import ir

        self.ir, self.builder, self.itemsize = ir, builder, itemsize
        self.lanes = lanes(itemsize)
        self.vector = ir.VectorType(scalar, self.lanes)
        self.integer_vector = ir.VectorType(ir.IntType(64), self.lanes)
        self.scalar = scalar

    def int(self, value):
        return self.ir.Constant(self.ir.IntType(64), value)

    def add(self, *terms):
        return functools.reduce(self.builder.add, terms)

    def scalars(self, address):
        return self.builder.inttoptr(address, self.scalar.as_pointer())

    def integers(self, address):
        return self.builder.inttoptr(address, self.ir.IntType(64).as_pointer())

    def at(self, pointer, *index):
        return self.builder.gep(pointer, [self.add(*index)], inbounds=True) if index else pointer

    def value(self, pointer, *index):
        return self.builder.load(self.at(pointer, *index))

    def _vector_at(self, pointer, *index):
        return self.builder.bitcast(self.at(pointer, *index), self.vector.as_pointer())

    def load(self, pointer, *index):
        return self.builder.load(self._vector_at(pointer, *index), align=self.itemsize)

    def store(self, value, pointer, *index):
        self.builder.store(value, self._vector_at(pointer, *index), align=self.itemsize)

    def splat(self, scalar, vector=None):
        """A vector (of this type, or of another) with `scalar` in each lane."""
        ir, undefined = self.ir, self.ir.Constant(vector or self.vector, self.ir.Undefined)
        lane_0 = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(
            lane_0, undefined, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None)
        )

    def sums(self, m, v):
        """m by v vectors, zero at first. They are written as memory, which the compiler turns into registers."""
        from numba.core import cgutils

        block = [[cgutils.alloca_once(self.builder, self.vector) for _ in range(v)] for _ in range(m)]
        for row in block:
            for cell in row:
                self.builder.store(self.ir.Constant(self.vector, None), cell)
        return block

    def add_product(self, a, b, cell):
        product = self.builder.fmul(a, b, flags=self.fast)
        self.builder.store(self.builder.fadd(self.builder.load(cell), product, flags=self.fast), cell)

    def total(self, start, cell):
        """`start` and the numbers of a vector, summed."""
        from numba.core import cgutils

        function = cgutils.get_or_insert_function(
            self.builder.module,
            self.ir.FunctionType(self.scalar, [self.scalar, self.vector]),
            f"llvm.vector.reduce.fadd.v{self.lanes}f{self.itemsize * 8}",
        )
        return self.builder.call(function, [start, self.builder.load(cell)], fastmath=self.fast)

    def lane_numbers(self):
        return self.ir.Constant(self.integer_vector, list(range(self.lanes)))

    def first_lanes(self, count):
        """A mask that is true for the first `count` lanes."""
        return self.builder.icmp_unsigned("<", self.lane_numbers(), self.splat(count, self.integer_vector))

    def _masked(self, what, kind, pointers, *arguments):
        """Call `llvm.masked.<what>`, which leaves alone what the mask, the last argument but perhaps one, is false for."""
        from numba.core import cgutils

        letter = "f" if kind == self.vector else "i"
        size = self.itemsize * 8 if kind == self.vector else 64
        many = f"v{self.lanes}" if isinstance(pointers.type, self.ir.VectorType) else ""
        result = self.ir.VoidType() if what == "store" else kind
        name = f"llvm.masked.{what}.v{self.lanes}{letter}{size}.{many}p0"
        function = self.ir.FunctionType(result, [argument.type for argument in arguments])
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, function, name), arguments)

    def _align(self, kind):
        return self.ir.Constant(self.ir.IntType(32), self.itemsize if kind == self.vector else 8)

    def masked_load(self, mask, pointer, *index, kind=None):
        kind = kind or self.vector
        pointer = self.builder.bitcast(self.at(pointer, *index), kind.as_pointer())
        return self._masked("load", kind, pointer, pointer, self._align(kind), mask, self.ir.Constant(kind, None))

    def masked_store(self, value, mask, pointer, *index):
        pointer = self.builder.bitcast(self.at(pointer, *index), value.type.as_pointer())
        self._masked("store", value.type, pointer, value, pointer, self._align(value.type), mask)

    def masked_gather(self, mask, address, stride):
        """The numbers at `address`, each `stride` bytes after the one before."""
        b = self.builder
        addresses = b.add(
            self.splat(address, self.integer_vector),
            b.mul(self.lane_numbers(), self.splat(stride, self.integer_vector)),
        )
        pointers = b.inttoptr(addresses, self.ir.VectorType(self.scalar.as_pointer(), self.lanes))
        return self._masked(
            "gather",
            self.vector,
            pointers,
            pointers,
            self._align(self.vector),
            mask,
            self.ir.Constant(self.vector, None),
        )

    @contextlib.contextmanager
    def loop(self, count):
        from numba.core import cgutils

        with cgutils.for_range(self.builder, count) as loop:
            yield loop.index


@_tile
def outer_tile(e, m, v, y, pitch, x, offsets, count, places, w):
    """`y[i * pitch + l'] = sum_r w[r * m + i] * x[offsets[r] + l]`, r < count, l in the v vectors that begin at
    `places`.
    """
    b = e.builder
    y, x, w, offsets, places = e.scalars(y), e.scalars(x), e.scalars(w), e.integers(offsets), e.integers(places)
    sums = e.sums(m, v)
    xs_at = [e.at(x, e.value(places, e.int(j))) for j in range(v)]
    with e.loop(count) as r:
        shift = e.value(offsets, r)
        xs = [e.load(pointer, shift) for pointer in xs_at]
        row = b.mul(r, e.int(m))
        for i in range(m):
            weight = e.splat(e.value(w, row, e.int(i)))
            for j in range(v):
                e.add_product(weight, xs[j], sums[i][j])
    for i in range(m):
        for j in range(v):
            e.store(b.load(sums[i][j]), y, b.mul(pitch, e.int(i)), e.int(j * e.lanes))


@_tile
def dot_tile(e, m, v, y, pitch, x, offsets, places, count, g, g_pitch):
    """`y[i * pitch + j] += sum_l g[i * g_pitch + l'] * x[offsets[j] + l]`, l in the `count` vectors that begin at
    `places`.
    """
    b = e.builder
    y, x, g, offsets, places = e.scalars(y), e.scalars(x), e.scalars(g), e.integers(offsets), e.integers(places)
    sums = e.sums(m, v)
    xs_at = [e.at(x, e.value(offsets, e.int(j))) for j in range(v)]
    gs_at = [e.at(g, b.mul(g_pitch, e.int(i))) for i in range(m)]
    with e.loop(count) as k:
        l = e.value(places, k)
        xs = [e.load(pointer, l) for pointer in xs_at]
        for i in range(m):
            grad = e.load(gs_at[i], b.mul(k, e.int(e.lanes)))
            for j in range(v):
                e.add_product(grad, xs[j], sums[i][j])
    for i in range(m):
        for j in range(v):
            place = e.at(y, b.mul(pitch, e.int(i)), e.int(j))
            b.store(e.total(b.load(place), sums[i][j]), place)


@_Written
def copy_row(e, y, x, n):
    """`y[l] = x[l]`, l < n."""
    _copy(e, y, x, n, lambda vector: vector)


@_Written
def copy_row_plus(e, y, x, n, shift):
    """`y[l] = x[l] + shift[0]`, l < n."""
    shift = e.splat(e.value(e.scalars(shift)))
    _copy(e, y, x, n, lambda vector: e.builder.fadd(vector, shift))


def _copy(e, y, x, n, change):
    b, y, x = e.builder, e.scalars(y), e.scalars(x)
    whole = b.udiv(n, e.int(e.lanes))
    with e.loop(whole) as k:
        l = b.mul(k, e.int(e.lanes))
        e.store(change(e.load(x, l)), y, l)
    l = b.mul(whole, e.int(e.lanes))
    mask = e.first_lanes(b.sub(n, l))
    e.masked_store(change(e.masked_load(mask, x, l)), mask, y, l)


@_Written
def max_row(e, best, at, x, stride, n, index):
    """Where `x[l * stride]` is greater than `best[l]`, or nan, put it there, and `index + l * stride` in `at[l]`; l <
    n.
    """
    b = e.builder
    best, at = e.scalars(best), e.integers(at)
    bytes_apart = b.mul(stride, e.int(e.itemsize))
    vectors = b.udiv(b.add(n, e.int(e.lanes - 1)), e.int(e.lanes))
    with e.loop(vectors) as k:
        l = b.mul(k, e.int(e.lanes))
        mask = e.first_lanes(b.sub(n, l))
        value, old = e.masked_gather(mask, b.add(x, b.mul(l, bytes_apart)), bytes_apart), e.masked_load(mask, best, l)
        better = b.and_(mask, b.or_(b.fcmp_ordered(">", value, old), b.fcmp_unordered("uno", value, value)))
        e.masked_store(value, better, best, l)
        place = b.add(e.lane_numbers(), e.splat(l, e.integer_vector))
        place = b.add(e.splat(index, e.integer_vector), b.mul(place, e.splat(stride, e.integer_vector)))
        e.masked_store(place, better, at, l)
