"""Two tiles of a matrix product whose sums stay in vector registers: what a compiled loop alone does not give.

Numba's compiler turns a loop into vector instructions, but it keeps a *block* of running sums in memory, so each multiply-add waits for a load
and a store. These two functions are written out as LLVM instructions instead: a block of `m` rows by `v` vectors of sums is held in registers
for the whole of the inner loop, which brings a core to its peak (BLAS libraries do the same in assembler, oneDNN in a just-in-time compiler).
Both read one operand through a table of offsets: row r of the matrix `x` begins at `x[offsets[r]]`. So rows may overlap, which is all that
the columns of a convolution are: the image, shifted. A second table says at which places l along the rows there is a vector to work on.

    outer_tile:  y[i, l]  = sum_r w[r, i] x[r, l]           i < m rows, l in v vectors
    dot_tile:    y[i, j] += sum_l g[i, l] x[j, l]           i < m rows, j < v rows, l in any number of vectors

A vector holds `lanes(itemsize)` numbers; m is at most `ROWS` and v at most `vectors()`, chosen to fit the processor's registers.
"""

import functools

from .parallel import compiled

ROWS = 4


@functools.cache
def _registers():
    """Bytes of a vector register of this processor, and how many vectors of sums a row of the tile has beside it."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 64, 6  # 32 registers: 24 sums, 6 of x, one of w
    if features.get("avx"):
        return 32, 3  # 16 registers: 12 sums, 3 of x, one of w
    return 16, 6 if features.get("neon") else 3


def lanes(itemsize):
    """How many numbers of `itemsize` bytes a vector holds."""
    return _registers()[0] // itemsize


def vectors():
    """The greatest `v` of a tile."""
    return _registers()[1]


class _Tile(compiled):
    """A function that a compiled kernel may call, and whose instructions `emit` writes: see `_emitter`."""

    def compile(self):
        if self._run is None:
            self._run = _intrinsic(self.python)
        return self._run


def _intrinsic(emit):
    """Make a Numba intrinsic of `emit(tools, m, v, *arguments)`, called once for each shape a tile may have.

    At run time the first two arguments, `m` and `v`, choose among these. Of the others, arrays are seen by `emit` as pointers.
    """
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    def typing(typing_context, m, v, arguments):
        dtype = next(t.dtype for t in arguments if isinstance(t, types.Array) and isinstance(t.dtype, types.Float))
        signature = types.void(m, v, arguments)

        def code(context, builder, signature, values):
            m, v, packed = values
            pointers = []
            for position, kind in enumerate(signature.args[2]):
                value = builder.extract_value(packed, position)
                if isinstance(kind, types.Array):
                    value = context.make_array(kind)(context, builder, value).data
                pointers.append(value)
            tools = _Emitter(builder, context.get_data_type(dtype), dtype.bitwidth // 8)
            done = builder.append_basic_block("tile.done")
            many = vectors()
            shape = builder.add(builder.mul(m, tools.int(many)), v)  # (m, v) as one number, unique: v is in 1 .. many
            choice = builder.switch(shape, done)
            for rows in range(1, ROWS + 1):
                for columns in range(1, many + 1):
                    with builder.goto_block(builder.append_basic_block(f"tile.{rows}x{columns}")):
                        choice.add_case(ir.Constant(shape.type, rows * many + columns), builder.block)
                        emit(tools, rows, columns, *pointers)
                        builder.branch(done)
            builder.position_at_end(done)
            return context.get_dummy_value()

        return signature, code

    return intrinsic(typing)


class _Emitter:
    """What the two tiles are written in: vectors of the processor's width as LLVM values."""

    fast = ("contract", "reassoc", "nsz")

    def __init__(self, builder, scalar, itemsize):
        from llvmlite import ir

        self.ir, self.builder, self.itemsize = ir, builder, itemsize
        self.lanes = lanes(itemsize)
        self.vector = ir.VectorType(scalar, self.lanes)
        self.scalar = scalar

    def int(self, value):
        return self.ir.Constant(self.ir.IntType(64), value)

    def add(self, *terms):
        return functools.reduce(self.builder.add, terms)

    def at(self, pointer, *index):
        return self.builder.gep(pointer, [self.add(*index)], inbounds=True)

    def scalar_at(self, pointer, *index):
        return self.builder.load(self.at(pointer, *index))

    def _vector_at(self, pointer, *index):
        return self.builder.bitcast(self.at(pointer, *index), self.vector.as_pointer())

    def load(self, pointer, *index):
        return self.builder.load(self._vector_at(pointer, *index), align=self.itemsize)

    def store(self, value, pointer, *index):
        self.builder.store(value, self._vector_at(pointer, *index), align=self.itemsize)

    def splat(self, scalar):
        ir, undefined = self.ir, self.ir.Constant(self.vector, self.ir.Undefined)
        lane_0 = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        return self.builder.shuffle_vector(lane_0, undefined, ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), None))

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
            self.builder.module, self.ir.FunctionType(self.scalar, [self.scalar, self.vector]),
            f"llvm.vector.reduce.fadd.v{self.lanes}f{self.itemsize * 8}")
        return self.builder.call(function, [start, self.builder.load(cell)], fastmath=self.fast)

    def loop(self, count):
        from numba.core import cgutils

        return cgutils.for_range(self.builder, count)


@_Tile
def outer_tile(e, m, v, y, y0, pitch, x, offsets, r0, count, places, p0, w, w0):
    """`y[y0 + i * pitch + l] = sum_r w[w0 + r * m + i] * x[offsets[r0 + r] + l]`, r < count, l in the v vectors that begin at `places[p0:]`."""
    b = e.builder
    sums = e.sums(m, v)
    begin = [e.scalar_at(places, p0, e.int(j)) for j in range(v)]
    xs_at = [e.at(x, l) for l in begin]
    with e.loop(count) as loop:
        shift = e.scalar_at(offsets, r0, loop.index)
        xs = [e.load(pointer, shift) for pointer in xs_at]
        row = e.add(w0, b.mul(loop.index, e.int(m)))
        for i in range(m):
            weight = e.splat(e.scalar_at(w, row, e.int(i)))
            for j in range(v):
                e.add_product(weight, xs[j], sums[i][j])
    for i in range(m):
        for j in range(v):
            e.store(b.load(sums[i][j]), y, y0, b.mul(pitch, e.int(i)), begin[j])


@_Tile
def dot_tile(e, m, v, y, y0, pitch, x, offsets, r0, places, count, g, g0, g_pitch):
    """`y[y0 + i * pitch + j] += sum_l g[g0 + i * g_pitch + l] * x[offsets[r0 + j] + l]`, l in the `count` vectors that begin at `places`."""
    b = e.builder
    sums = e.sums(m, v)
    rows = [e.at(x, e.scalar_at(offsets, r0, e.int(j))) for j in range(v)]
    grads = [e.at(g, g0, b.mul(g_pitch, e.int(i))) for i in range(m)]
    with e.loop(count) as loop:
        l = e.scalar_at(places, loop.index)
        xs = [e.load(row, l) for row in rows]
        for i in range(m):
            grad = e.load(grads[i], l)
            for j in range(v):
                e.add_product(grad, xs[j], sums[i][j])
    for i in range(m):
        for j in range(v):
            place = e.at(y, y0, b.mul(pitch, e.int(i)), e.int(j))
            b.store(e.total(b.load(place), sums[i][j]), place)
