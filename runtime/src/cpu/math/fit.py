"""Prints the coefficients of the polynomials in single/ and double/, with the errors they leave.

python fit.py [NAME]    (minutes; needs mpmath)

Each is the minimax fit of one function with a weight, found by Remez exchange on a grid in
45 digits. The first four coefficients are rounded one after the other, the rest fitted anew
each time, since what rounding them does can be made up for by the later ones.
"""

import struct
import sys

import mpmath as m
from mpmath import mpf

m.mp.dps = 45


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def remez(function, powers, weight, lo, hi, grid, rounds):
    """Coefficients of `powers` and the greatest error times weight."""
    count = len(powers)
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * m.cos(m.pi * k / grid) for k in range(grid + 1)]
    wanted = [function(x) * weight(x) for x in xs]
    basis = [[x**p * weight(x) for p in powers] for x in xs]
    nodes = [round(grid * k / count) for k in range(count + 1)]
    best = None
    for _ in range(rounds):
        system = m.matrix(count + 1, count + 1)
        right = m.matrix(count + 1, 1)
        for row, k in enumerate(nodes):
            for column in range(count):
                system[row, column] = basis[k][column]
            system[row, count] = (-1) ** row
            right[row] = wanted[k]
        solved = m.lu_solve(system, right)
        coefficients = [solved[k] for k in range(count)]
        errors = [w - sum(c * b for c, b in zip(coefficients, bs)) for w, bs in zip(wanted, basis)]
        worst = max(map(abs, errors))
        if best is None or worst < best[1]:
            best = coefficients, worst
        if worst <= abs(solved[count]) * 1.02:
            break
        extrema = alternating(errors)
        while len(extrema) > count + 1:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < count + 1:
            break
        nodes = extrema
    return best


def alternating(errors):
    """The place of the greatest error in each run of one sign."""
    found = []
    sign = None
    for k, error in enumerate(errors):
        if (error >= 0) != sign:
            sign = error >= 0
            found.append(k)
        elif abs(error) > abs(errors[found[-1]]):
            found[-1] = k
    return found


def fit(function, count, weight, lo, hi, rounded, grid=600):
    lo, hi = mpf(lo), mpf(hi)
    done = []

    def left(x):
        return function(x) - sum(c * x**p for p, c in enumerate(done))

    while len(done) < count:
        powers = list(range(len(done), count))
        found, _ = remez(left, powers, weight, lo, hi, grid, 15 if done else 25)
        done += [rounded(c) for c in (found if len(done) == 4 else found[:1])]
    error = max(abs(left(x) * weight(x)) for x in m.linspace(lo, hi, 778))
    print(f"  2^{float(m.log(error, 2)):.1f}", [float(c) for c in done])


def odd(function, first):
    """P where `function(x) = x + x^3 P(x^2)`, and the weight that makes its error relative."""

    def rest(z):
        x = m.sqrt(z)
        return (function(x) - x) / x**3 if z > 1e-9 else first

    def weight(z):
        return z * m.sqrt(z) / function(m.sqrt(z)) if z > 1e-12 else z

    return rest, weight


def scaled_tail(t):
    """(1 + 2a) exp(a^2) erfc(a) where t = (a - 4) / (a + 4)."""
    a = max(4 * (1 + t) / (1 - t), mpf(0))
    return (1 + 2 * a) * m.exp(a * a) * m.erfc(a)


half_log = m.log(2) / 2 * mpf("1.01")
quarter = (m.pi / 4 * mpf("1.001")) ** 2
low, high = m.sqrt(mpf(1) / 2) - 1, m.sqrt(mpf(2)) - 1
sine, of_sine = odd(m.sin, -mpf(1) / 6)
tanh, of_tanh = odd(m.tanh, -mpf(1) / 3)
sinh, of_sinh = odd(m.sinh, mpf(1) / 6)
asin, of_asin = odd(m.asin, mpf(1) / 6)
atan, of_atan = odd(m.atan, -mpf(1) / 3)
atanh, _ = odd(m.atanh, mpf(1) / 3)


def exp_rest(x):
    return (m.exp(x) - 1 - x) / x**2 if abs(x) > 1e-9 else mpf(1) / 2 + x / 6


def exp2_rest(x):
    return (m.power(2, x) - 1) / x if abs(x) > 1e-20 else m.log(2)


def log_rest(r):
    return (m.log1p(r) - r + r * r / 2) / r**3 if abs(r) > 1e-9 else mpf(1) / 3 - r / 4


def of_log(r):
    return r**3 / m.log1p(r) if abs(r) > 1e-9 else r * r


def cos_rest(z):
    return (m.cos(m.sqrt(z)) - 1 + z / 2) / z**2 if z > 1e-7 else mpf(1) / 24 - z / 720


def erf_rest(z):
    return (m.erf(m.sqrt(z)) / m.sqrt(z) if z > 1e-20 else 2 / m.sqrt(m.pi)) - 1


def of_exp(x):
    return x * x * m.exp(-x)


def of_exp2(x):
    return x / m.power(2, x)


def of_cos(z):
    return z * z / m.cos(m.sqrt(z))


def of_erf(z):
    return 1 / (erf_rest(z) + 1)


FITS = {
    "single exp": lambda: fit(exp_rest, 5, of_exp, -half_log, half_log, f32),
    "single exp2": lambda: fit(exp2_rest, 6, of_exp2, -0.5, 0.5, f32),
    "single log": lambda: fit(log_rest, 9, of_log, low, high, f32),
    "single tanh": lambda: fit(tanh, 5, of_tanh, 0, mpf("0.55") ** 2, f32),
    "single sin": lambda: fit(sine, 3, of_sine, 0, quarter, f32),
    "single cos": lambda: fit(cos_rest, 3, of_cos, 0, quarter, f32),
    "single erf near": lambda: fit(erf_rest, 7, of_erf, 0, mpf("0.9375") ** 2, f32),
    "single erf far": lambda: fit(lambda a: -m.log(m.erfc(a)), 7, m.erfc, mpf("0.9375"), 4, f32),
    "double exp": lambda: fit(exp_rest, 11, of_exp, -half_log, half_log, f64),
    "double exp2": lambda: fit(exp2_rest, 12, of_exp2, -0.5, 0.5, f64),
    "double log": lambda: fit(lambda z: 2 * atanh(z), 7, lambda z: z, 0, mpf("0.02949"), f64),
    "double tanh": lambda: fit(tanh, 11, of_tanh, 0, mpf("0.55") ** 2, f64),
    "double sinh": lambda: fit(sinh, 8, of_sinh, 0, 1, f64),
    "double sin": lambda: fit(sine, 6, of_sine, 0, quarter, f64),
    "double cos": lambda: fit(cos_rest, 6, of_cos, 0, quarter, f64),
    "double asin": lambda: fit(asin, 13, of_asin, 0, mpf("0.2501"), f64),
    "double atan": lambda: fit(atan, 21, of_atan, 0, 1, f64),
    "double erf near": lambda: fit(erf_rest, 13, of_erf, 0, 1, f64),
    "double erf far": lambda: fit(scaled_tail, 23, lambda t: 1 / scaled_tail(t), -1, mpf(24) / 32, f64, 400),
}

for name, run in FITS.items():
    if len(sys.argv) < 2 or sys.argv[1] in name:
        print(name, flush=True)
        run()
