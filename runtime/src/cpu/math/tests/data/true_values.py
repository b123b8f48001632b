"""Writes true_values.txt: true values of functions of f64, by mpmath with 300 bits.

python true_values.py COUNT > true_values.txt    (96 * COUNT lines a function; 1 is checked in)

A line is the function, the bits of its arguments and of the rounded value, and what the
value lacks in units of its last place.
"""

import math
import random
import struct
import sys

import mpmath as m

m.mp.prec = 300
random.seed(20260730)


def bits(x):
    return format(struct.unpack("<Q", struct.pack("<d", x))[0], "016x")


def signed(x):
    return x if random.random() < 0.5 else -x


def uniform(lo, hi):
    return lambda: random.uniform(lo, hi)


def scattered(lo, hi):
    """Uniform in the logarithm."""
    return lambda: math.exp(random.uniform(math.log(lo), math.log(hi)))


def both(draw):
    return lambda: signed(draw())


def beside(x, draw):
    return lambda: x + draw()


def pairs(first, second):
    return lambda: (first(), second())


def multiples_of_quarter_turns():
    return random.randint(-60000, 60000) * math.pi / 2 + random.uniform(-1e-9, 1e-9)


tiny = both(scattered(1e-17, 1))
positive = [scattered(1e-307, 1e308), uniform(0.5, 2), beside(1, both(scattered(1e-16, 0.3))), scattered(5e-324, 2e-308)]
angles = [uniform(-10, 10), both(scattered(1e-12, 1e5)), multiples_of_quarter_turns, both(scattered(1e5, 1e300))]
arcs = [uniform(-1, 1), tiny, both(uniform(0.48, 0.56)), both(lambda: 1 - scattered(1e-16, 0.1)())]
wide = both(scattered(1e-300, 1e300))
plain = uniform(-3, 3)

ONE = {
    "exp": (m.exp, [uniform(-745, 709.7), uniform(-2, 2), tiny, uniform(-745, -708)]),
    "exp2": (lambda x: m.power(2, x), [uniform(-1074, 1023.9), uniform(-2, 2), tiny, uniform(-1074, -1020)]),
    "expm1": (m.expm1, [uniform(-40, 709.7), uniform(-2, 2), tiny, both(uniform(0.3, 0.4))]),
    "log": (m.log, positive),
    "log2": (lambda x: m.log(x) / m.log(2), positive),
    "log10": (m.log10, positive),
    "log1p": (
        m.log1p,
        [scattered(1e-18, 1e308), lambda: -scattered(1e-18, 1)(), uniform(-0.99, 3), beside(-1, scattered(1e-16, 0.1))],
    ),
    "sqrt": (m.sqrt, [scattered(5e-324, 1e308)]),
    "rsqrt": (lambda x: 1 / m.sqrt(x), [scattered(5e-324, 1e308), uniform(0.5, 4)]),
    "reciprocal": (lambda x: 1 / x, [both(scattered(1e-307, 1e307))]),
    "sin": (m.sin, angles),
    "cos": (m.cos, angles),
    "tan": (m.tan, angles),
    "asin": (m.asin, arcs),
    "acos": (m.acos, arcs),
    "atan": (m.atan, [plain, both(scattered(1e-17, 1e17)), both(uniform(0.9, 1.1))]),
    "sinh": (m.sinh, [uniform(-710.4, 710.4), plain, tiny, both(uniform(0.9, 1.5))]),
    "cosh": (m.cosh, [uniform(-710.4, 710.4), plain, tiny]),
    "tanh": (m.tanh, [uniform(-22, 22), uniform(-2, 2), tiny, both(uniform(0.5, 0.6))]),
    "asinh": (m.asinh, [both(scattered(1e-17, 1e308)), plain, both(uniform(0.2, 1)), both(scattered(1e8, 1e10))]),
    "acosh": (m.acosh, [scattered(1, 1e308), uniform(1, 4), beside(1, scattered(1e-15, 1)), scattered(1e8, 1e10)]),
    "atanh": (m.atanh, [uniform(-1, 1), tiny, both(lambda: 1 - scattered(1e-16, 0.1)()), both(uniform(0.1, 0.6))]),
    "erf": (m.erf, [uniform(-6, 6), uniform(-1.5, 1.5), tiny, both(uniform(0.9, 1.5))]),
    "erfc": (m.erfc, [uniform(-6, 27.2), uniform(-1, 2), uniform(26, 27.2), tiny]),
    "sigmoid": (lambda x: 1 / (1 + m.exp(-x)), [uniform(-745, 40), uniform(-4, 4), uniform(-745, -708)]),
}

TWO = {
    "atan2": (m.atan2, [pairs(wide, wide), pairs(plain, plain), pairs(both(uniform(1, 1.2)), both(uniform(1, 1.2)))]),
    "hypot": (lambda x, y: m.sqrt(x * x + y * y), [pairs(wide, wide), pairs(plain, plain)]),
    "pow": (
        m.power,
        [
            pairs(scattered(1e-10, 1e10), uniform(-30, 30)),
            pairs(uniform(0.9, 1.1), uniform(-6000, 6000)),
            pairs(uniform(0.01, 100), uniform(-8, 8)),
            pairs(lambda: -random.uniform(0.1, 30), lambda: float(random.randint(-50, 50))),
        ],
    ),
}


def line(name, args, value):
    rounded = float(value)
    if math.isinf(rounded) or rounded == 0:
        return
    exponent = max(math.frexp(rounded)[1] - 1, -1022)
    rest = (value - m.mpf(rounded)) / m.mpf(2) ** (exponent - 52)
    print(name, *map(bits, args), bits(rounded), f"{float(rest):.4f}")


def main(count):
    for name, (function, draws) in (ONE | TWO).items():
        for draw in draws:
            for _ in range(96 // len(draws) * count):
                args = draw() if name in TWO else (draw(),)
                line(name, args, function(*map(m.mpf, args)))


main(int(sys.argv[1]))
