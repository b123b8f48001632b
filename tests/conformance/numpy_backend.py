#!/usr/bin/env python3
"""Operators in NumPy, behind the line protocol of docs/conformance.md.

Written from the documentation of the operators and of PyTorch, with no code of rtv, so that two
implementations that share nothing are held against each other:

    rtv conform --external "python3 tests/conformance/numpy_backend.py"

`--fault NAME` seeds one mistake (see FAULTS), which the suite is to find.
"""

import json
import math
import sys

import numpy as np

FAULTS = {
    "softmax-axis": "softmax runs along the first axis whatever is asked",
    "negative-quotient": "floor_divide and remainder round towards zero",
    "lost-nan": "maximum and amax forget NaN",
}
FAULT = None


class Fault(Exception):
    """An error of the program, with its class."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


class Unsupported(Exception):
    pass


# ---- tensors -----------------------------------------------------------------------------------

KINDS = {"bool": 0, "u8": 1, "i8": 1, "i16": 1, "i32": 1, "i64": 1, "f16": 2, "bf16": 2, "f32": 2, "f64": 2}
WIDTH = {"bool": 1, "u8": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
# bf16 has no dtype of NumPy: its values are kept in float32, which holds all of them.
STORED = {"bool": np.bool_, "u8": np.uint8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "f16": np.float16, "bf16": np.float32, "f32": np.float32, "f64": np.float64}


class T:
    def __init__(self, dtype, a):
        self.dtype, self.a = dtype, np.asarray(a, dtype=STORED[dtype])

    @property
    def shape(self):
        return self.a.shape

    @property
    def kind(self):
        return KINDS[self.dtype]


def to_bf16(x):
    """The nearest bf16 of each float64, ties to even, as float32."""
    x = np.asarray(x, dtype=np.float64)
    with np.errstate(all="ignore"):
        exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))[1]
        step = np.ldexp(1.0, np.maximum(exponent - 8, -133))
        near = np.rint(x / step) * step
        largest = float(np.ldexp(255.0, 120))
        near = np.where(np.abs(near) > largest, np.copysign(np.inf, x), near)
        return np.where(np.isfinite(x), np.copysign(near, x), x).astype(np.float32)


def rounded(dtype, x):
    """A result computed in float64, in its dtype."""
    with np.errstate(all="ignore"):
        return T(dtype, to_bf16(x) if dtype == "bf16" else np.asarray(x).astype(STORED[dtype]))


def wide(t):
    """The elements in the type they are computed in."""
    return t.a.astype(np.float64) if t.kind == 2 else t.a


def wrapped(dtype, x):
    """Integers in two's complement."""
    return T(dtype, np.asarray(x).astype(np.int64, copy=False).astype(STORED[dtype]))


def cast(dtype, t):
    if t.dtype == dtype:
        return t
    if dtype == "bool":
        return T("bool", t.a != 0)
    if KINDS[dtype] == 2:
        return rounded(dtype, t.a.astype(np.float64))
    if t.kind < 2:
        return wrapped(dtype, t.a.astype(np.int64))
    with np.errstate(all="ignore"):
        x = t.a.astype(np.float64)
        if not np.all(np.isfinite(x) & (np.abs(x) < 2.0**63)):
            raise Unsupported("a cast of what no integer is")
        return wrapped(dtype, np.trunc(x).astype(np.int64))


# ---- promotion and broadcasting ----------------------------------------------------------------

ORDER = ["bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]


def promote(a, b):
    if a == b:
        return a
    if KINDS[a] != KINDS[b]:
        return a if KINDS[a] > KINDS[b] else b
    if {a, b} == {"f16", "bf16"}:
        return "f32"
    if "u8" in (a, b):
        other = b if a == "u8" else a
        return "i16" if other == "i8" else other
    return a if ORDER.index(a) > ORDER.index(b) else b


def natural(x):
    if isinstance(x, T):
        return x.dtype
    return "bool" if isinstance(x, bool) else "i64" if isinstance(x, int) else "f32"


def common(operands):
    """PyTorch's rule: tensors with axes decide, then those without, then numbers; a later
    class only by a higher kind."""
    result = None
    for rank in (0, 1, 2):
        for x in operands:
            place = 2 if not isinstance(x, T) else 1 if x.a.ndim == 0 else 0
            if place == rank:
                d = natural(x)
                if result is None:
                    result, found = d, rank
                elif found == rank:
                    result = promote(result, d)
                elif KINDS[d] > KINDS[result]:
                    result, found = d, rank
    return result


def as_tensor(x, dtype=None):
    if isinstance(x, T):
        return x if dtype is None else cast(dtype, x)
    dtype = dtype or natural(x)
    if KINDS[dtype] == 2:
        return rounded(dtype, float(x))
    if dtype == "bool":
        return T("bool", bool(x))
    return T(dtype, np.asarray(((int(x) + 2**63) % 2**64) - 2**63, dtype=np.int64).astype(STORED[dtype]))


def tensor(x):
    if x is None or isinstance(x, (str, list)):
        raise Fault("value", "expected a tensor")
    return as_tensor(x)


CLASSES = {"any": (0, 1, 2), "num": (1, 2), "float": (2,), "int": (1,)}


def need(kind, allowed, what):
    if kind not in CLASSES[allowed]:
        raise Fault("dtype", f"{what} is not {allowed}")


def operands(allowed, *xs, strict=False):
    """Operands of an elementwise operator: promoted and broadcast."""
    for x in xs:
        if x is None or isinstance(x, (str, list)):
            raise Fault("value", "expected a tensor")
        if strict:
            need(KINDS[natural(x)], allowed, natural(x))
    dtype = common(xs)
    if allowed == "float" and KINDS[dtype] != 2:
        dtype = "f32"
    need(KINDS[dtype], allowed, dtype)
    ts = [as_tensor(x, dtype) for x in xs]
    return dtype, broadcast(*ts)


def broadcast(*ts):
    try:
        shape = np.broadcast_shapes(*[t.shape for t in ts])
    except ValueError as why:
        raise Fault("shape", str(why)) from None
    return [T(t.dtype, np.broadcast_to(t.a, shape)) for t in ts]


def axis(d, rank):
    if isinstance(d, (T, str, float, list)) or d is None:
        raise Fault("value", "expected an axis")
    room = max(rank, 1)
    if not -room <= d < room:
        raise Fault("index", f"axis {d} of rank {rank}")
    return d + room if d < 0 else d


def axes(d, rank):
    """All axes where nothing is said."""
    if d is None:
        return tuple(range(rank))
    listed = [axis(k, rank) for k in (d if isinstance(d, list) else [d])]
    if len(set(listed)) != len(listed):
        raise Fault("index", "an axis twice")
    return tuple(k for k in listed if k < rank)


def sizes(x):
    if isinstance(x, int) and not isinstance(x, bool):
        return [x]
    if not isinstance(x, list):
        raise Fault("value", "expected sizes")
    return x


def requires(condition, text):
    if not condition:
        raise Fault("requires", text)


# ---- elementwise -------------------------------------------------------------------------------

OPERATORS = {}


def operator(function):
    OPERATORS[function.__name__.rstrip("_")] = function
    return function


def elementary(name, f):
    def run(x):
        dtype, (x,) = operands("float", x)
        with np.errstate(all="ignore"):
            return rounded(dtype, f(wide(x)))

    OPERATORS[name] = run


def by_element(f):
    return lambda x: np.vectorize(f, otypes=[np.float64])(x) if x.size else x


for _name, _f in {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "sin": np.sin, "sinh": np.sinh,
    "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh, "reciprocal": lambda x: 1.0 / x,
    "rsqrt": lambda x: 1.0 / np.sqrt(x), "erf": by_element(math.erf), "erfc": by_element(math.erfc),
    "sigmoid": lambda x: np.where(x >= 0, 1.0 / (1.0 + np.exp(-np.abs(x))),
                                  np.exp(-np.abs(x)) / (1.0 + np.exp(-np.abs(x)))),
}.items():
    elementary(_name, _f)


def arithmetic(name, allowed, ints, floats, strict=False):
    def run(x, y):
        dtype, (x, y) = operands(allowed, x, y, strict=strict)
        with np.errstate(all="ignore"):
            if x.kind == 2:
                return rounded(dtype, floats(wide(x), wide(y)))
            if dtype == "bool":
                return T("bool", ints(x.a, y.a).astype(bool))
            return wrapped(dtype, ints(x.a.astype(np.int64), y.a.astype(np.int64)))

    OPERATORS[name] = run
    return run


def nan_or(f):
    def pick(x, y):
        if FAULT == "lost-nan":
            return np.where(np.isnan(x), y, np.where(np.isnan(y), x, f(x, y)))
        return np.where(np.isnan(x) | np.isnan(y), np.nan, f(x, y))

    return pick


def zero_divisor(y):
    if np.any(y == 0):
        raise Fault("arithmetic", "integer division by zero")


def int_floor_divide(x, y):
    zero_divisor(y)
    least = np.iinfo(np.int64).min
    safe = np.where((x == least) & (y == -1), 1, y)
    if FAULT == "negative-quotient":
        return int_trunc_divide(x, y)
    return np.where((x == least) & (y == -1), least, x // safe)


def int_trunc_divide(x, y):
    zero_divisor(y)
    least = np.iinfo(np.int64).min
    safe = np.where((x == least) & (y == -1), 1, y)
    q = x // safe
    q = q + ((x % safe != 0) & ((x < 0) != (safe < 0)))
    return np.where((x == least) & (y == -1), least, q)


def int_remainder(x, y):
    zero_divisor(y)
    if FAULT == "negative-quotient":
        return np.fmod(x, np.where(y == -1, 1, y))
    return np.where(y == -1, 0, x % np.where(y == -1, 1, y))


def int_fmod(x, y):
    zero_divisor(y)
    return np.where(y == -1, 0, np.fmod(x, np.where(y == -1, 1, y)))


def float_remainder(x, y):
    r = np.fmod(x, y)
    if FAULT == "negative-quotient":
        return r
    return np.where((r != 0) & ((r < 0) != (y < 0)), r + y, r)


def float_floor_divide(x, y):
    """As Python's: floor of the exact quotient, up to the rounding of the last step."""
    r = np.fmod(x, y)
    q = (x - r) / y
    q = np.where((r != 0) & ((y < 0) != (r < 0)) & (FAULT != "negative-quotient"), q - 1.0, q)
    f = np.floor(q)
    f = np.where(q - f > 0.5, f + 1.0, f)
    f = np.where(q == 0, np.copysign(0.0, x / y), f)
    return np.where(y == 0, x / y, f)


add_of = arithmetic("add", "any", lambda x, y: x + y if x.dtype != bool else x | y, lambda x, y: x + y)
sub_of = arithmetic("sub", "num", lambda x, y: x - y, lambda x, y: x - y, strict=True)
mul_of = arithmetic("mul", "any", lambda x, y: x * y if x.dtype != bool else x & y, lambda x, y: x * y)
arithmetic("maximum", "any", np.maximum, nan_or(np.maximum))
arithmetic("minimum", "any", np.minimum, nan_or(np.minimum))
arithmetic("fmax", "any", np.maximum, np.fmax)
arithmetic("fmin", "any", np.minimum, np.fmin)
arithmetic("atan2", "float", None, np.arctan2)
arithmetic("hypot", "float", None, np.hypot)
arithmetic("copysign", "float", None, np.copysign)
arithmetic("fmod", "num", int_fmod, np.fmod)
arithmetic("remainder", "num", int_remainder, float_remainder)
arithmetic("floor_divide", "num", int_floor_divide, float_floor_divide)


def scaled(alpha, y):
    return y if alpha is None else mul_of(y, alpha)


def with_alpha(name, plain):
    def run(x, y, alpha=None):
        if alpha is not None:
            dtype = common([x, y])
            need(KINDS[dtype], "num", dtype)
            if isinstance(alpha, float) and KINDS[dtype] != 2:
                raise Fault("dtype", "alpha is a float")
            if dtype != "f64":
                # The product is rounded once, with the sum; the bound of the suite has room for that.
                return plain(x, cast(dtype, as_tensor(mul_of(as_tensor(y, dtype), alpha))))
        return plain(x, scaled(alpha, y))

    OPERATORS[name] = run


with_alpha("add", add_of)
with_alpha("sub", sub_of)


@operator
def rsub(x, y, alpha=None):
    return OPERATORS["sub"](y, x, alpha)


@operator
def div(x, y, rounding_mode=None):
    if rounding_mode is None:
        dtype, (x, y) = operands("float", x, y)
        with np.errstate(all="ignore"):
            return rounded(dtype, wide(x) / wide(y))
    requires(rounding_mode in ("floor", "trunc") and natural(x) != "bool", "rounding_mode")
    if rounding_mode == "floor":
        return OPERATORS["floor_divide"](x, y)
    dtype, (x, y) = operands("num", x, y)
    with np.errstate(all="ignore"):
        if x.kind == 2:
            # The quotient has its dtype before it is cut off.
            return rounded(dtype, np.trunc(wide(rounded(dtype, wide(x) / wide(y)))))
        return wrapped(dtype, int_trunc_divide(x.a.astype(np.int64), y.a.astype(np.int64)))


def comparison(name, f):
    def run(x, y):
        _, (x, y) = operands("any", x, y)
        return T("bool", f(x.a, y.a))

    OPERATORS[name] = run


for _name, _f in {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
                  "gt": np.greater, "ge": np.greater_equal}.items():
    comparison(_name, _f)


def test(name, f):
    def run(x):
        x = tensor(x)
        return T("bool", f(x.a.astype(np.float64)) if x.kind == 2 else f(np.where(x.a, 1.0, 0.0)))

    OPERATORS[name] = run


for _name, _f in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
    test(_name, _f)


def logical(name, f):
    def run(x, y):
        _, (x, y) = operands("any", x, y)
        return T("bool", f(x.a != 0, y.a != 0))

    OPERATORS[name] = run


for _name, _f in {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}.items():
    logical(_name, _f)


@operator
def logical_not(x):
    return T("bool", tensor(x).a == 0)


def bitwise(name, f):
    def run(x, y):
        dtype = common([x, y])
        if KINDS[dtype] == 2:
            raise Fault("dtype", f"{dtype} has no bits")
        x, y = broadcast(as_tensor(x, dtype), as_tensor(y, dtype))
        return T(dtype, f(x.a, y.a))

    OPERATORS[name] = run


for _name, _f in {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}.items():
    bitwise(_name, _f)


@operator
def bitwise_not(x):
    x = tensor(x)
    if x.kind == 2:
        raise Fault("dtype", f"{x.dtype} has no bits")
    return T(x.dtype, np.invert(x.a))


@operator
def bitwise_left_shift(x, y):
    dtype, (x, y) = operands("int", x, y)
    amount = y.a.astype(np.int64)
    bits = 8 * WIDTH[dtype]
    out = (amount < 0) | (amount >= bits)
    return wrapped(dtype, np.where(out, 0, np.left_shift(x.a.astype(np.int64), np.where(out, 0, amount))))


@operator
def bitwise_right_shift(x, y):
    dtype, (x, y) = operands("int", x, y)
    amount, bits = y.a.astype(np.int64), 8 * WIDTH[dtype]
    out = (amount < 0) | (amount >= bits)
    return wrapped(dtype, np.right_shift(x.a.astype(np.int64), np.where(out, 63, amount)))


def one(name, allowed, ints, floats):
    def run(x):
        dtype, (x,) = operands(allowed, x)
        with np.errstate(all="ignore"):
            if x.kind == 2:
                return rounded(dtype, floats(wide(x)))
            return T("bool", x.a) if dtype == "bool" else wrapped(dtype, ints(x.a.astype(np.int64)))

    OPERATORS[name] = run


one("abs", "num", np.abs, np.abs)
one("neg", "num", np.negative, np.negative)
one("ceil", "num", lambda x: x, np.ceil)
one("floor", "num", lambda x: x, np.floor)
one("trunc", "num", lambda x: x, np.trunc)
one("sign", "any", np.sign, lambda x: np.where(np.isnan(x), 0.0, np.sign(x)))
one("relu", "num", lambda x: np.maximum(x, 0), lambda x: np.where(x < 0, 0.0, x))


@operator
def frac(x):
    x = tensor(x)
    need(x.kind, "float", x.dtype)
    with np.errstate(all="ignore"):
        return rounded(x.dtype, wide(x) - np.trunc(wide(x)))


@operator
def square(x):
    return mul_of(tensor(x), tensor(x)) if natural(x) != "bool" else cast("i64", tensor(x))


@operator
def signbit(x):
    x = tensor(x)
    return T("bool", np.signbit(x.a) if x.kind == 2 else x.a.astype(np.int64) < 0)


@operator
def where(condition, x, y):
    if natural(condition) != "bool":
        raise Fault("dtype", "the condition is bool")
    dtype = common([x, y])
    condition, x, y = broadcast(tensor(condition), as_tensor(x, dtype), as_tensor(y, dtype))
    return T(dtype, np.where(condition.a, x.a, y.a))


@operator
def clamp(x, min=None, max=None):
    requires(min is not None or max is not None, "a bound")
    bounds = [b for b in (min, max) if b is not None]
    dtype, (x, *bounds) = operands("any", x, *bounds)
    a = x.a
    if min is not None:
        low = bounds.pop(0).a
        a = np.where((a < low) | np.isnan(low), low, a) if x.kind == 2 else np.maximum(a, low)
    if max is not None:
        high = bounds.pop(0).a
        a = np.where((a > high) | np.isnan(high), high, a) if x.kind == 2 else np.minimum(a, high)
    return T(dtype, np.where(np.isnan(x.a), x.a, a) if x.kind == 2 else a)


# ---- reductions --------------------------------------------------------------------------------


def sum_dtype(dtype):
    return "i64" if KINDS[dtype] < 2 else dtype


def reduced(x, dim, keepdim, nothing_is_all=True):
    x = tensor(x)
    dim = None if nothing_is_all and dim == [] else dim
    if not isinstance(keepdim, bool):
        raise Fault("value", "keepdim is a bool")
    return x, axes(dim, x.a.ndim)


@operator
def sum_(x, dim=None, keepdim=False, dtype=None):
    x, over = reduced(x, dim, keepdim)
    x = cast(dtype or sum_dtype(x.dtype), x)
    with np.errstate(all="ignore"):
        total = wide(x).sum(axis=over, keepdims=keepdim)
    return rounded(x.dtype, total) if x.kind == 2 else summed(x, total)


def summed(x, total):
    return T("bool", total != 0) if x.dtype == "bool" else wrapped(x.dtype, total)


@operator
def prod(x, dim=None, keepdim=False, dtype=None):
    x, over = reduced(x, dim, keepdim)
    x = cast(dtype or sum_dtype(x.dtype), x)
    with np.errstate(all="ignore"):
        total = wide(x).prod(axis=over, keepdims=keepdim)
    return rounded(x.dtype, total) if x.kind == 2 else summed(x, total)


@operator
def mean(x, dim=None, keepdim=False, dtype=None):
    x, over = reduced(x, dim, keepdim)
    dtype = dtype or x.dtype
    need(KINDS[dtype], "float", dtype)
    x = cast(dtype, x)
    count = math.prod(x.shape[k] for k in over)
    with np.errstate(all="ignore"):
        total = rounded(dtype, wide(x).sum(axis=over, keepdims=keepdim))
        return rounded(dtype, wide(total) / np.float64(count))


def extreme(name, f, identity):
    def run(x, dim=None, keepdim=False):
        x, over = reduced(x, dim, keepdim)
        requires(math.prod(x.shape[k] for k in over) >= 1, "an element")
        if x.kind == 2 and FAULT == "lost-nan" and name == "amax":
            filled = np.where(np.isnan(x.a), identity, x.a)
            return T(x.dtype, f(filled, axis=over, keepdims=keepdim))
        return T(x.dtype, f(x.a, axis=over, keepdims=keepdim))

    OPERATORS[name] = run


extreme("amax", np.max, -np.inf)
extreme("amin", np.min, np.inf)


def quantifier(name, f):
    def run(x, dim=None, keepdim=False):
        x, over = reduced(x, dim, keepdim, nothing_is_all=False)
        return T("u8" if x.dtype == "u8" else "bool", f(x.a != 0, axis=over, keepdims=keepdim))

    OPERATORS[name] = run


quantifier("all", np.all)
quantifier("any", np.any)


@operator
def count_nonzero(x, dim=None):
    x, over = reduced(x, dim, False)
    return T("i64", (x.a != 0).sum(axis=over))


def first_extreme(name, better):
    def run(x, dim=None, keepdim=False):
        x, over = reduced(x, dim, keepdim)
        need(x.kind, "num", x.dtype)
        requires(math.prod(x.shape[k] for k in over) >= 1, "an element")
        if dim is not None and len(over) != 1:
            raise Unsupported("several axes")
        moved = x.a.reshape(-1) if dim is None else np.moveaxis(x.a, over[0], -1)
        found = better(moved)
        if keepdim:
            found = found.reshape([1] * x.a.ndim) if dim is None else np.expand_dims(found, over[0])
        return T("i64", found)

    OPERATORS[name] = run


# NumPy's give the first NaN where there is one, else the first of the extreme elements.
first_extreme("argmax", lambda a: np.argmax(a, axis=-1))
first_extreme("argmin", lambda a: np.argmin(a, axis=-1))


def scan(name, f):
    def run(x, dim, dtype=None):
        x = tensor(x)
        k = axis(dim, x.a.ndim)
        x = cast(dtype or sum_dtype(x.dtype), x)
        if x.a.ndim == 0:
            return x
        with np.errstate(all="ignore"):
            steps = f(wide(x), axis=k)
        return rounded(x.dtype, steps) if x.kind == 2 else wrapped(x.dtype, steps)

    OPERATORS[name] = run


scan("cumsum", np.cumsum)


def variance(x, dim, correction, keepdim):
    x, over = reduced(x, dim, keepdim)
    need(x.kind, "float", x.dtype)
    count = math.prod(x.shape[k] for k in over)
    with np.errstate(all="ignore"):
        centred = wide(x) - wide(x).sum(axis=over, keepdims=True) / np.float64(count)
        return x.dtype, (centred**2).sum(axis=over, keepdims=keepdim) / np.maximum(np.float64(count) - correction, 0.0)


def spread(name, last):
    def run(x, dim=None, correction=None, keepdim=False, unbiased=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if unbiased is not None:
            correction = 1 if unbiased else 0
        with np.errstate(all="ignore"):
            dtype, value = variance(x, dim, 1 if correction is None else float(as_tensor(correction).a), keepdim)
            return rounded(dtype, last(value))

    OPERATORS[name] = run


spread("var", lambda v: v)
spread("std", np.sqrt)


@operator
def softmax(x, dim=-1, dtype=None):
    x = tensor(x)
    k = axis(dim, x.a.ndim)
    x = x if dtype is None else cast(dtype, x)
    need(x.kind, "float", x.dtype)
    if FAULT == "softmax-axis":
        k = 0
    if x.a.size == 0:
        return x
    a = wide(x).reshape(x.shape or (1,))
    with np.errstate(all="ignore"):
        e = np.exp(a - a.max(axis=k, keepdims=True))
        return rounded(x.dtype, (e / e.sum(axis=k, keepdims=True)).reshape(x.shape))


# ---- shape -------------------------------------------------------------------------------------


@operator
def reshape(x, shape):
    x, shape = tensor(x), list(sizes(shape))
    if shape.count(-1) == 1:
        rest = math.prod(n for n in shape if n != -1)
        if rest == 0 or x.a.size % rest:
            raise Fault("shape", "no extent fits")
        shape[shape.index(-1)] = x.a.size // rest
    if shape.count(-1) > 1 or any(n < 0 for n in shape):
        raise Fault("value", "a shape")
    requires(math.prod(shape) == x.a.size, "as many elements")
    return T(x.dtype, x.a.reshape(shape))


OPERATORS["view"] = reshape


@operator
def transpose(x, dim0, dim1):
    x = tensor(x)
    a, b = axis(dim0, x.a.ndim), axis(dim1, x.a.ndim)
    return x if x.a.ndim == 0 else T(x.dtype, np.swapaxes(x.a, a, b))


@operator
def t(x):
    x = tensor(x)
    if x.a.ndim > 2:
        raise Fault("shape", "at most two axes")
    return T(x.dtype, x.a.T)


@operator
def permute(x, dims):
    x = tensor(x)
    order = [axis(d, x.a.ndim) for d in sizes(dims)]
    if len(set(order)) != len(order):
        raise Fault("index", "an axis twice")
    if len(order) != x.a.ndim:
        raise Fault("shape", "every axis once")
    return T(x.dtype, np.transpose(x.a, order))


@operator
def flip(x, dims):
    x = tensor(x)
    return T(x.dtype, np.flip(x.a, axes(dims, x.a.ndim)))


@operator
def squeeze(x, dim=None):
    x = tensor(x)
    over = axes(dim, x.a.ndim)
    return T(x.dtype, np.squeeze(x.a, tuple(k for k in over if x.shape[k] == 1)))


@operator
def unsqueeze(x, dim):
    x = tensor(x)
    return T(x.dtype, np.expand_dims(x.a, axis(dim, x.a.ndim + 1)))


@operator
def expand(x, shape):
    x, shape = tensor(x), list(sizes(shape))
    if len(shape) < x.a.ndim:
        raise Fault("shape", "fewer axes")
    own = (1,) * (len(shape) - x.a.ndim) + x.shape
    lead = len(shape) - x.a.ndim
    for k, n in enumerate(shape):
        if n == -1 and k >= lead:
            shape[k] = own[k]
        elif n < 0 or own[k] not in (1, shape[k]):
            raise Fault("shape", "an extent does not expand")
    return T(x.dtype, np.broadcast_to(x.a.reshape(own), shape))


OPERATORS["broadcast_to"] = expand


@operator
def concat(x, y=None, dim=0):
    if not isinstance(x, list):
        x = [x, y]
    elif y is not None:
        dim = y
    if not x:
        raise Fault("value", "an empty list")
    xs = [tensor(part) for part in x]
    dtype = xs[0].dtype
    for part in xs[1:]:
        dtype = promote(dtype, part.dtype)
    for part in xs[1:]:
        k = axis(dim, xs[0].a.ndim)
        if axis(dim, part.a.ndim) != k or part.a.ndim != xs[0].a.ndim:
            raise Fault("requires", "equal ranks")
        if any(a != b for j, (a, b) in enumerate(zip(part.shape, xs[0].shape)) if j != k):
            raise Fault("requires", "equal extents")
    k = axis(dim, xs[0].a.ndim)
    if xs[0].a.ndim == 0:
        raise Fault("index", "no axis")
    return T(dtype, np.concatenate([cast(dtype, part).a for part in xs], axis=k))


@operator
def stack(xs, dim=0):
    if not isinstance(xs, list) or not xs:
        raise Unsupported("no list of tensors")
    xs = [tensor(part) for part in xs]
    k = axis(dim, xs[0].a.ndim + 1)
    for part in xs[1:]:
        if part.dtype != xs[0].dtype:
            raise Fault("dtype", "one dtype")
        if part.shape != xs[0].shape:
            raise Fault("shape", "one shape")
    return T(xs[0].dtype, np.stack([part.a for part in xs], axis=k))


@operator
def tril(x, diagonal=0):
    x = tensor(x)
    if x.a.ndim < 2:
        raise Fault("shape", "two axes")
    return T(x.dtype, np.tril(x.a, diagonal))


@operator
def triu(x, diagonal=0):
    x = tensor(x)
    if x.a.ndim < 2:
        raise Fault("shape", "two axes")
    return T(x.dtype, np.triu(x.a, diagonal))


@operator
def to(x, dtype):
    return cast(dtype, tensor(x))


@operator
def clone(x):
    return tensor(x)


@operator
def narrow(x, dim, start, length):
    x = tensor(x)
    k = axis(dim, x.a.ndim)
    if x.a.ndim == 0:
        raise Fault("index", "no axis")
    n = x.shape[k]
    start += n if start < 0 else 0
    requires(length >= 0 and start >= 0 and start + length <= n, "a part of the axis")
    return T(x.dtype, np.take(x.a, np.arange(start, start + length), axis=k))


@operator
def select(x, dim, index):
    x = tensor(x)
    k = axis(dim, x.a.ndim)
    if x.a.ndim == 0:
        raise Fault("index", "no axis")
    requires(-x.shape[k] <= index < x.shape[k], "an entry of the axis")
    return T(x.dtype, np.take(x.a, index, axis=k))


@operator
def roll(x, shifts, dims=None):
    x = tensor(x)
    if isinstance(shifts, list) or isinstance(dims, list):
        raise Unsupported("several axes")
    if dims is None:
        return T(x.dtype, np.roll(x.a, shifts))
    k = axis(dims, x.a.ndim)
    return x if x.a.ndim == 0 else T(x.dtype, np.roll(x.a, shifts, k))


# ---- indexing ----------------------------------------------------------------------------------


def indices(index, dtypes=("i64", "i32")):
    index = tensor(index)
    if index.dtype not in dtypes:
        raise Fault("dtype", "an integer index")
    return index.a.astype(np.int64)


def inside(index, extent):
    if np.any((index < 0) | (index >= extent)):
        raise Fault("index", "out of range")


@operator
def gather(x, dim, index):
    x, index = tensor(x), indices(index)
    k = axis(dim, x.a.ndim)
    requires(index.ndim == x.a.ndim, "equal ranks")
    if x.a.ndim == 0:
        inside(index, 1)
        return T(x.dtype, x.a)
    if index.size == 0:
        return T(x.dtype, np.zeros(index.shape))
    inside(index, x.shape[k])
    if any(n > m for j, (n, m) in enumerate(zip(index.shape, x.shape)) if j != k):
        raise Fault("index", "an index beyond the other axes")
    part = x.a[tuple(slice(None) if j == k else slice(index.shape[j]) for j in range(x.a.ndim))]
    return T(x.dtype, np.take_along_axis(part, index, axis=k))


@operator
def index_select(x, dim, index):
    x, index = tensor(x), indices(index)
    k = axis(dim, x.a.ndim)
    if index.ndim > 1:
        raise Fault("shape", "one axis")
    if x.a.ndim == 0:
        raise Unsupported("a scalar")
    index = index.reshape(-1)
    if index.size and x.a.size // max(x.shape[k], 1) * index.size:
        inside(index, x.shape[k])
    elif index.size:
        index = np.clip(index, 0, max(x.shape[k] - 1, 0))
        if x.shape[k] == 0:
            return T(x.dtype, np.zeros(x.shape[:k] + (index.size,) + x.shape[k + 1:]))
    return T(x.dtype, np.take(x.a, index, axis=k))


@operator
def take(x, index):
    x, index = tensor(x), indices(index, ("i64",))
    requires(not np.any((index < -x.a.size) | (index >= x.a.size)), "an element")
    return T(x.dtype, x.a.reshape(-1)[index] if index.size else np.zeros(index.shape))


@operator
def one_hot(x, num_classes):
    x = indices(x, ("i64",))
    requires(num_classes >= 1 or x.size > 0, "a class")
    requires(not np.any((x < 0) | (x >= num_classes)), "a class")
    return T("i64", x[..., None] == np.arange(num_classes))


@operator
def masked_fill(x, mask, value):
    x, mask = tensor(x), tensor(mask)
    if mask.dtype != "bool":
        raise Fault("dtype", "the mask is bool")
    if isinstance(value, T) and value.a.ndim > 0:
        raise Fault("shape", "the value is a scalar")
    a, b = broadcast(x, mask)
    return T(x.dtype, np.where(b.a, as_tensor(value, x.dtype).a, a.a))


# ---- products ----------------------------------------------------------------------------------


def same_dtype(*ts):
    for x in ts:
        need(x.kind, "num", x.dtype)
        if x.dtype != ts[0].dtype:
            raise Fault("dtype", f"{x.dtype} beside {ts[0].dtype}")


def product(dtype, x, y):
    with np.errstate(all="ignore"):
        if KINDS[dtype] == 2:
            return rounded(dtype, np.matmul(x.astype(np.float64), y.astype(np.float64)))
        return wrapped(dtype, np.matmul(x.astype(np.int64), y.astype(np.int64)))


@operator
def matmul(a, b):
    a, b = tensor(a), tensor(b)
    same_dtype(a, b)
    if a.a.ndim == 0 or b.a.ndim == 0 or a.shape[-1] != b.shape[-2 if b.a.ndim > 1 else 0]:
        raise Fault("shape", f"{a.shape} and {b.shape}")
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError as why:
        raise Fault("shape", str(why)) from None
    return product(a.dtype, a.a, b.a)


def ranked(name, rank_a, rank_b):
    def run(a, b):
        a, b = tensor(a), tensor(b)
        same_dtype(a, b)
        inner = b.shape[-2] if rank_b > 1 and b.a.ndim == rank_b else b.shape[-1] if b.a.ndim else None
        if (a.a.ndim, b.a.ndim) != (rank_a, rank_b) or a.shape[-1] != inner:
            raise Fault("shape", f"{a.shape} and {b.shape}")
        if rank_a == 3 and a.shape[0] != b.shape[0]:
            raise Fault("shape", f"{a.shape} and {b.shape}")
        return product(a.dtype, a.a, b.a)

    OPERATORS[name] = run


ranked("mm", 2, 2)
ranked("mv", 2, 1)
ranked("dot", 1, 1)
ranked("bmm", 3, 3)


@operator
def outer(x, y):
    x, y = tensor(x), tensor(y)
    if x.dtype != y.dtype:
        raise Fault("dtype", "one dtype")
    if x.a.ndim != 1 or y.a.ndim != 1:
        raise Fault("shape", "vectors")
    return mul_of(T(x.dtype, x.a[:, None]), y)


@operator
def linear(x, weight, bias=None):
    x, weight = tensor(x), tensor(weight)
    same_dtype(x, weight)
    if x.a.ndim == 0 or weight.a.ndim not in (1, 2) or x.shape[-1] != weight.shape[-1]:
        raise Fault("shape", f"{x.shape} and {weight.shape}")
    if bias is None:
        return product(x.dtype, x.a, weight.a.T)
    bias = as_tensor(bias, None if isinstance(bias, T) else x.dtype)
    same_dtype(x, bias)
    if bias.shape != weight.shape[:-1]:
        raise Fault("shape", "a bias for each output")
    return add_of(product(x.dtype, x.a, weight.a.T), bias)


# ---- creation ----------------------------------------------------------------------------------


def filled(name, value):
    def run(shape, dtype="f32"):
        if isinstance(shape, T):
            raise Fault("value", "expected sizes")
        if any(n < 0 for n in sizes(shape)):
            raise Fault("shape", "a negative extent")
        return T(dtype, np.full(sizes(shape), value))

    OPERATORS[name] = run

    def like(x, dtype=None):
        x = tensor(x)
        return T(dtype or x.dtype, np.full(x.shape, value))

    OPERATORS[name + "_like"] = like


filled("zeros", 0)
filled("ones", 1)


@operator
def eye(n, m=None, dtype="f32"):
    if isinstance(m, str):
        m, dtype = None, m
    m = n if m is None else m
    requires(n >= 0 and m >= 0, "an extent")
    return T(dtype, np.eye(n, m))


@operator
def arange(start, end=None, step=1, dtype="i64"):
    if isinstance(end, str):
        end, dtype = None, end
    start, end = (0, start) if end is None else (start, end)
    if any(isinstance(x, (float, T)) for x in (start, end, step)):
        raise Fault("value", "integers")
    requires(step != 0 and (end - start) * step >= 0, "a range")
    x = T("i64", np.arange(start, end, step))
    return cast(dtype, x) if KINDS[dtype] == 2 else wrapped(dtype, x.a)


# ---- the protocol ------------------------------------------------------------------------------


def read_tensor(decl, stream):
    dtype, shape = decl["dtype"], decl["shape"]
    raw = stream.read(WIDTH[dtype] * math.prod(shape))
    if dtype == "bf16":
        bits = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return T(dtype, bits.view(np.float32).reshape(shape))
    stored = np.dtype(STORED[dtype]).newbyteorder("<")
    return T(dtype, np.frombuffer(raw, stored).reshape(shape))


def argument(said, stream):
    ((kind, value),) = said.items()
    if kind == "tensor":
        return read_tensor(value, stream)
    if kind == "tensors":
        return [read_tensor(decl, stream) for decl in value]
    if kind == "float":
        return float(value)
    return None if kind == "none" else value


def raw_bytes(x):
    if x.dtype == "bf16":
        return (np.ascontiguousarray(x.a).view(np.uint32) >> 16).astype("<u2").tobytes()
    return np.ascontiguousarray(x.a).astype(np.dtype(STORED[x.dtype]).newbyteorder("<")).tobytes()


def answer(header, positional, named):
    call = {"call": header["call"]}
    try:
        function = OPERATORS.get(header["operator"])
        if function is None:
            raise Unsupported("no such operator here")
        try:
            result = function(*positional, **named)
        except TypeError as why:
            if "argument" not in str(why):
                raise
            raise Unsupported("arguments of another form") from None
    except Fault as fault:
        return {**call, "error": fault.kind, "message": str(fault)}, []
    except Unsupported as why:
        return {**call, "unsupported": str(why)}, []
    outputs = list(result) if isinstance(result, tuple) else [result]
    types = [{"dtype": x.dtype, "shape": list(x.shape)} for x in outputs]
    return {**call, "outputs": types}, [raw_bytes(x) for x in outputs]


def main():
    global FAULT
    if sys.argv[1:2] == ["--fault"]:
        FAULT = sys.argv[2]
        if FAULT not in FAULTS:
            sys.exit(f"no such fault; there are {', '.join(FAULTS)}")
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    for line in stdin:
        header = json.loads(line)
        if "protocol" in header:
            reply, parts = {"protocol": 1, "name": "numpy"}, []
        else:
            positional = [argument(said, stdin) for said in header["positional"]]
            named = {name: argument(said, stdin) for name, said in header["named"]}
            reply, parts = answer(header, positional, named)
        stdout.write(json.dumps(reply).encode() + b"\n")
        for part in parts:
            stdout.write(part)
        stdout.flush()


if __name__ == "__main__":
    main()
