"""Random numbers: torch's CPU generator, bit for bit.  Mirrors ATen/core/MT19937RNGEngine.h, TransformationHelper.h and
ATen/native/cpu/DistributionTemplates.h.

The bits come from the Mersenne twister MT19937, which NumPy has too: only the order in which its 32-bit words are used
and the arithmetic that turns them into numbers are torch's. What an element takes:

    float32 and 16-bit uniforms     one word: its low 24 bits times 2^-24
    float64 uniforms                two words, the first one the high half: the low 53 bits times 2^-53
    integers below `range`          one word modulo range; two from range 2^28 on
    normals                         16 or more: see box_muller.py; fewer: float64 uniforms in pairs
    everything else                 float64 uniforms, whatever the dtype of the result

torch's kernels are compiled with fused multiply-add, so that `u * (b - a) + a` is rounded once; so it is here.
Functions fill `out`, a C-contiguous array of any shape, in the order of its elements.
"""

import ctypes
import math

import numpy as np

from .box_muller import box_muller, compiles, exactly, mapped, scaled

f4, f8, u8 = np.float32, np.float64, np.uint64
WORDS = 624  # of 32 bits: the twister's state
BLOCK = 1 << 14  # elements worked on at a time: what one step makes is still in the cache for the next
TO_UNIT = f4(2.0**-24)
LARGE_RANGE = 1 << 28  # from this range on, 32 bits modulo it would be too uneven

STATE = np.dtype({
    "names": ["seed", "left", "seeded", "next", "words", "normal", "has_normal"],
    "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", WORDS), "<f8", "<i4"],
    "offsets": [0, 8, 12, 16, 24, 5024, 5040],
    "itemsize": 5056,
})


class Engine:
    """The Mersenne twister, and the second one of the last pair of normals, kept for the next call."""

    def __init__(self, seed):
        self._bits = np.random.MT19937(0)
        self.raw = self._bits.random_raw
        # NumPy's own state, seen as an array: 624 words and the position of the next one to use (624: none is left)
        memory = (ctypes.c_uint32 * (WORDS + 1)).from_address(self._bits.ctypes.state_address)
        self.state = np.frombuffer(memory, np.uint32)
        self.reseed(seed)

    def reseed(self, seed):
        """Start over. All 64 bits of the seed are remembered, the low 32 decide what is drawn."""
        self.initial_seed = seed
        self.next_normal = None
        self._bits._legacy_seeding(seed & 0xFFFFFFFF)

    def words(self, n):
        """The next `n` words, as uint64 (or uint32)."""
        if compiles(n * 2.5e-9):
            out = np.empty(n, np.uint32)
            _twister(self.state, out)
            return out
        return self.raw(n)

    def words64(self, n):
        """`n` times two words, as uint64."""
        words = self.words(2 * n)
        return words[0::2].astype(u8) << u8(32) | words[1::2]

    def doubles(self, n):
        """`n` uniforms of 53 bits."""
        words = self.words(2 * n)
        out = (words[0::2] & 0x1FFFFF) * 4294967296.0
        out += words[1::2]
        out *= 2.0**-53
        return out

    def double(self):
        return ((self.raw() & 0x1FFFFF) << 32 | self.raw()) * 2.0**-53

    def save(self):
        """The state in torch's own layout, 5056 bytes, so that it can be exchanged with torch."""
        used = int(self.state[WORDS])
        if used == WORDS and self.state[0] == self.initial_seed & 0xFFFFFFFF:
            used = 0  # freshly seeded, torch stands before the first word, not behind the last
        record = np.zeros((), STATE)
        record["seed"], record["seeded"] = self.initial_seed, 1
        record["left"], record["next"] = WORDS + 1 - used if used else 1, used
        record["words"] = self.state[:WORDS]
        if self.next_normal is not None:
            record["normal"], record["has_normal"] = self.next_normal, 1
        return np.frombuffer(record.tobytes(), np.uint8).copy()

    def load(self, data):
        """Take over a state. RuntimeError for what is none; the engine is then as before."""
        if data.size != STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE.itemsize} "
                f"but found the input RNG state size to be {data.size}"
            )
        record = np.frombuffer(data.tobytes(), STATE)[0]
        left, used = int(record["left"]), int(record["next"])
        if not record["seeded"] or not 0 < left <= WORDS or used > WORDS:
            raise RuntimeError("Invalid mt19937 state")
        self.initial_seed = int(record["seed"])
        self.state[:WORDS] = record["words"]
        self.state[WORDS] = WORDS if left == 1 else used
        self.next_normal = float(record["normal"]) if record["has_normal"] else None


@exactly
def _twister(state, out):
    """Fill `out` with words (Matsumoto and Nishimura 1998)."""
    n, m = 624, 397
    key = state[:n]
    position = np.int64(state[n])
    done = 0
    while done < out.size:
        if position == n:  # two loops: each step needs what was written 227 steps before, so they run in vectors
            for i in range(n - m):
                y = (key[i] & 0x80000000) | (key[i + 1] & 0x7FFFFFFF)
                key[i] = key[i + m] ^ (y >> 1) ^ ((y & 1) * 0x9908B0DF)
            for i in range(n - m, n - 1):
                y = (key[i] & 0x80000000) | (key[i + 1] & 0x7FFFFFFF)
                key[i] = key[i + m - n] ^ (y >> 1) ^ ((y & 1) * 0x9908B0DF)
            y = (key[n - 1] & 0x80000000) | (key[0] & 0x7FFFFFFF)
            key[n - 1] = key[m - 1] ^ (y >> 1) ^ ((y & 1) * 0x9908B0DF)
            position = 0
        count = min(n - position, out.size - done)
        for i in range(count):
            y = key[position + i]
            y ^= y >> 11
            y ^= (y << 7) & 0x9D2C5680
            y ^= (y << 15) & 0xEFC60000
            out[done + i] = y ^ (y >> 18)
        position += count
        done += count
    state[n] = position


def _blocks(out):
    """Slices of the flattened `out`."""
    flat = out.reshape(-1)
    if flat.size <= BLOCK:
        return (flat,)
    return [flat[i : i + BLOCK] for i in range(0, flat.size, BLOCK)]


def _store(out, values):
    """Write float64 values; into 16 bits they go by way of float32, as in C++."""
    out[...] = values.astype(f4) if out.dtype.itemsize == 2 else values


# -- uniform and normal -----------------------------------------------------------------------------------------------


def uniform(engine, out, low=0.0, high=1.0):
    """[low, high) of a floating dtype."""
    number = f8 if out.dtype == f8 else f4
    start, width = number(low), number(high) - number(low)
    unit = low == 0 and high == 1
    for part in _blocks(out):
        if number is f8:
            u = engine.doubles(part.size)
            part[...] = u if unit else scaled(u, width, start)
        else:
            words = engine.words(part.size) & 0xFFFFFF
            if unit and part.dtype == f4:
                np.multiply(words, TO_UNIT, out=part, dtype=f4, casting="unsafe")
            else:
                u = words * (2.0**-24 * float(width))  # exact in float64, so that it is rounded but once,
                u += start
                part[...] = u.astype(f4) if part.dtype != f4 else u  # here
        if not unit or part.dtype.itemsize == 2:  # what was rounded up to `high` becomes `low`
            reached = part == part.dtype.type(high)
            if reached.any():
                part[reached] = low
    return out


def normal(engine, out, mean=0.0, std=1.0, contiguous=True):
    """Normals of a floating dtype. `contiguous`: whether the tensor behind `out` is; torch only then draws by 16."""
    if out.size < 16 or not contiguous:
        _store(out, pairs(engine, out.size, mean, std).reshape(out.shape))
        return out
    number = f8 if out.dtype == f8 else f4
    whole = out.size // 16 * 16
    # float32 and float64 also draw a uniform for each of the last elements; these are then drawn again
    drawn = out.size if out.dtype.itemsize > 2 else whole
    x = uniform(engine, np.empty(drawn, number))
    flat = out.reshape(-1)
    box_muller(x[:whole].reshape(-1, 2, 8), mean, std)
    flat[:whole] = x[:whole]
    if out.size > whole:
        x = uniform(engine, np.empty(16, number))
        box_muller(x.reshape(1, 2, 8), mean, std)
        flat[-16:] = x
    return out


def pairs(engine, n, mean, std):
    """`n` float64 normals drawn in pairs, of which the engine keeps what is left over."""
    kept = [] if engine.next_normal is None or n == 0 else [engine.next_normal]
    u = engine.doubles((n - len(kept) + 1) // 2 * 2).reshape(-1, 2)
    r = np.sqrt(-2.0 * mapped(math.log1p, -u[:, 1]))
    angle = 2.0 * math.pi * u[:, 0]
    values = np.stack([r * mapped(math.cos, angle), r * mapped(math.sin, angle)], 1).reshape(-1)
    if n:
        engine.next_normal = float(values[-1]) if len(kept) + values.size > n else None
    return scaled(np.concatenate([kept, values])[:n], f8(std), f8(mean))


# -- integers ---------------------------------------------------------------------------------------------------------


def _modulo(words, n):
    n = words.dtype.type(n)
    return words & (n - 1) if n & (n - 1) == 0 else words - words // n * n  # NumPy's // is the faster one


def integers(engine, out, start, count):
    """start, start + 1, ..., start + count - 1 in any dtype; count 2^64 stands for every 64-bit integer."""
    for part in _blocks(out):
        values = engine.words64(part.size) if count >= LARGE_RANGE else engine.words(part.size)
        if count < 1 << 64:
            values = _modulo(values, count).astype(u8, copy=False)
            values += u8(start % (1 << 64))
        values = values.view(np.int64)
        part[...] = values.astype(f4) if part.dtype.itemsize == 2 and part.dtype.kind not in "iu" else values
    return out


def any_integers(engine, out, bits):
    """0, 1, ..., 2^bits - 1, or to 2^bits for floating dtypes: the integers that the dtype can hold."""
    count = (1 << bits) + (out.dtype.kind not in "iub")
    for part in _blocks(out):
        values = engine.words64(part.size) if part.dtype.itemsize == 8 else engine.words(part.size)
        part[...] = _modulo(values, count)
    return out


def permutation(engine, n):
    """0, ..., n - 1 in random order (Fisher and Yates), int64."""
    if n >= 0xFFFFFFFF // 20:
        out = np.empty(n, np.int64)
        _inside_out(engine.words64(n), out)
        return out
    words = engine.words(max(n - 1, 0))
    if compiles(n * 200e-9):
        out = np.arange(n)
        _swaps(words, out)
        return out
    out = list(range(n))
    for i, z in enumerate((words % np.arange(n, 1, -1, dtype=np.uint32)).tolist()):
        z += i
        out[i], out[z] = out[z], out[i]
    return np.array(out, np.int64)


@exactly
def _swaps(words, out):
    n = out.size
    for i in range(n - 1):
        z = i + np.int64(np.uint64(words[i]) % np.uint64(n - i))
        kept = out[i]
        out[i] = out[z]
        out[z] = kept


@exactly
def _inside_out(words, out):
    for i in range(out.size):
        z = np.int64(words[i] % np.uint64(i + 1))
        out[i] = i
        out[i] = out[z]
        out[z] = i


# -- from float64 uniforms --------------------------------------------------------------------------------------------


def bernoulli(engine, out, p):
    """1 with probability p, else 0, in any dtype.  p: a float."""
    threshold = math.ceil(p * 2.0**53)  # u < p, compared as integers
    high, low = threshold >> 32, threshold & 0xFFFFFFFF
    for part in _blocks(out):
        words = engine.words(2 * part.size)
        u = words[0::2] & 0x1FFFFF
        below = u < high
        if low:
            for i in np.flatnonzero(u == high):  # once in two million
                below[i] = words[2 * i + 1] < low
        part[...] = below
    return out


def bernoulli_each(engine, out, p):
    """1 with probability p, else 0.  p: an array of the shape of `out`; float64 is compared with 53 bits, else 24."""
    u = engine.doubles(p.size).reshape(p.shape) if p.dtype == f8 else uniform(engine, np.empty(p.shape, f4))
    out[...] = u < (p if p.dtype == f8 else p.astype(f4))
    return out


def _function(out, function, exact):
    """A function of float64 arrays: the C library's where the result is float64, else NumPy's, which is faster and
    differs only in digits that are rounded away."""
    return (lambda x: mapped(exact, x)) if out.dtype == f8 else function


def exponential(engine, out, rate):
    log1p = _function(out, np.log1p, math.log1p)
    for part in _blocks(out):
        _store(part, -1.0 / rate * log1p(-engine.doubles(part.size)))
    return out


def geometric(engine, out, p):
    for part in _blocks(out):
        with np.errstate(divide="ignore"):  # log 0 = -inf is a value like any other
            values = np.ceil(np.log(engine.doubles(part.size)) / math.log1p(-p))
        if part.dtype.kind in "iu":
            values = values.astype(np.int64)
        _store(part, values)
    return out


def cauchy(engine, out, median, sigma):
    tan = _function(out, np.tan, math.tan)
    for part in _blocks(out):
        _store(part, scaled(tan(math.pi * (engine.doubles(part.size) - 0.5)), f8(sigma), f8(median)))
    return out


def log_normal(engine, out, mean, std):
    exp = _function(out, np.exp, _exp)
    for part in _blocks(out):
        _store(part, exp(pairs(engine, part.size, mean, std)))
    return out


def _exp(x):
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def poisson(engine, rates):
    """Counts at the given rates, float64.  Below 10 by products of uniforms, above by Hoermann's PTRS (1993)."""
    return np.fromiter((_poisson(engine, rate) for rate in rates.ravel().tolist()), f8, rates.size).reshape(rates.shape)


def _poisson(engine, rate):
    if not rate >= 0:
        raise RuntimeError(f"invalid Poisson rate, expected rate to be non-negative, got {rate}")
    if rate == 0:
        return 0
    if rate < 10:
        limit, count, product = math.exp(-rate), 0, engine.double()
        while product > limit:
            count += 1
            product *= engine.double()
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_max = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = engine.double() - 0.5, engine.double()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_max:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        accept = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if accept <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def multinomial(engine, p, n, replacement):
    """`n` indices from each row of the weights `p` (rows, categories): int64 (rows, n)."""
    if replacement and n > 1:
        return _with_replacement(engine, p, n)
    if not (p >= 0).all() or not np.isfinite(p).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (p.sum(1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    # p / Exp(1) is largest at i with probability p[i] / sum(p), and so on down (the Gumbel trick)
    race = p / exponential(engine, np.empty(p.shape, p.dtype), 1.0)
    if n == 1:
        return race.argmax(1)[:, None]
    return np.argsort(-race, axis=1, kind="stable")[:, :n]


def _with_replacement(engine, p, n):
    out = np.empty((len(p), n), np.int64)
    for row, weights in zip(out, p if p.dtype == f8 else p.astype(f4), strict=True):
        if not (weights >= 0).all():
            raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
        if not np.isfinite(weights).all():
            raise RuntimeError(
                "invalid multinomial distribution (encountering probability entry = infinity or NaN)"
            )
        ladder = np.cumsum(weights)
        if not ladder[-1] > 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
        ladder /= ladder[-1]
        ladder[-1] = 1
        row[:] = np.searchsorted(ladder, engine.doubles(n), side="left")
    return out
