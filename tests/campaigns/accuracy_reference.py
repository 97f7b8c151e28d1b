"""Writes random plans of rotary encodings with frequencies to 320 bits: accuracy_reference.py COUNT FOLDER.

The formulas are those of Hugging Face's modeling_rope_utils.py, in mpmath with 130 digits. A plan is a file of lines
`name value ...`: options as C hexadecimal doubles, the attention factor, the frequencies as turns per position modulo 1
in units of 2^-320, and hard positions, at which some angle is close to a quarter turn.
"""

import random
import sys
from fractions import Fraction

from mpmath import ceil, floor, log, mp, mpf, nint, pi, sqrt

mp.dps = 130
BITS = 320
MAX_POSITION = 2**53 - 1
pick = random.Random(20250611)


def log_uniform(low, high):
    return low * (high / low) ** pick.random()


def clamp(x):
    return min(max(x, mpf(0)), mpf(1))


def geometric(base, dim):
    return [mpf(base) ** (-mpf(2 * i) / dim) for i in range(dim // 2)]


def default(o, w):
    return w, 1


def linear(o, w):
    return [x / mpf(o["factor"]) for x in w], 1


def ntk(o, w):
    return geometric(mpf(o["base"]) * mpf(o["factor"]) ** (mpf(o["dim"]) / (o["dim"] - 2)), o["dim"]), 1


def dynamic(o, w):
    longest = mpf(o["max_length"])
    n = max(mpf(o["sequence_length"]), longest)
    stretch = mpf(o["factor"]) * n / longest - (mpf(o["factor"]) - 1)
    return geometric(mpf(o["base"]) * stretch ** (mpf(o["dim"]) / (o["dim"] - 2)), o["dim"]), 1


def yarn(o, w):
    dim, factor = o["dim"], mpf(o["factor"])

    def correction(turns):
        return dim * log(mpf(o["original_length"]) / (2 * pi * mpf(turns))) / (2 * log(mpf(o["base"])))

    low, high = correction(o["beta_fast"]), correction(o["beta_slow"])
    if o["truncate"]:
        low, high = floor(low), ceil(high)
    low, high = max(low, mpf(0)), min(high, mpf(dim - 1))
    if low == high:
        high += mpf(0.001)
    ramp = [clamp((i - low) / (high - low)) for i in range(dim // 2)]

    def magnitude(scale):
        return 1 if factor <= 1 else mpf(scale) / 10 * log(factor) + 1

    if o["attention_factor"]:
        attention = o["attention_factor"]
    elif o["mscale"] and o["mscale_all_dim"]:
        attention = magnitude(o["mscale"]) / magnitude(o["mscale_all_dim"])
    else:
        attention = magnitude(1)
    return [x / factor * r + x * (1 - r) for x, r in zip(w, ramp)], attention


def longrope(o, w):
    long = o["sequence_length"] > o["original_length"]
    factors = o["long_factors" if long else "short_factors"]
    if o["attention_factor"]:
        attention = o["attention_factor"]
    elif o["factor"] <= 1:
        attention = 1
    else:
        attention = sqrt(1 + log(mpf(o["factor"])) / log(mpf(o["original_length"])))
    return [x / mpf(f) for x, f in zip(w, factors)], attention


def llama3(o, w):
    old, factor = mpf(o["original_length"]), mpf(o["factor"])
    low, high = mpf(o["low_freq_factor"]), mpf(o["high_freq_factor"])

    def scaled(x):
        wavelength = 2 * pi / x
        if wavelength < old / high:
            return x
        if wavelength > old / low:
            return x / factor
        smooth = (old / wavelength - low) / (high - low)
        return (1 - smooth) * x / factor + smooth * x

    return [scaled(x) for x in w], 1


def proportional(o, w):
    turning = int(o["rotary_fraction"] * o["dim"] // 2)
    return [x / mpf(o["factor"]) if i < turning else mpf(0) for i, x in enumerate(w)], 1


def custom(o, w):
    return [mpf(x) for x in o["custom"]], 1


def some_factor():
    return pick.choice([1.0, 2.0, 4.0, 8.0, 32.0, 40.0, log_uniform(1, 100), log_uniform(1, 100), log_uniform(0.5, 1)])


def some_length():
    return float(pick.choice([2048, 4096, 8192, 32768, 131072, pick.randint(16, 1 << 20)]))


def lengths(o, name, sequence):
    o[name] = some_length()
    o["sequence_length"] = float(sequence(o[name]))


# Each gives the options of its kind that the formula above reads.
def choose_yarn(o):
    o.update(original_length=some_length(), factor=some_factor(), beta_fast=32.0, beta_slow=1.0, mscale=0.0,
             mscale_all_dim=0.0, truncate=float(pick.random() < 0.6), attention_factor=0.0)
    if pick.random() < 0.4:
        o.update(beta_fast=log_uniform(4, 128), beta_slow=log_uniform(0.25, 4))
    if pick.random() < 0.4:
        o.update(mscale=pick.choice([1.0, 0.707, pick.uniform(0.1, 2)]),
                 mscale_all_dim=pick.choice([0.0, 1.0, pick.uniform(0.1, 2)]))
    if pick.random() < 0.2:
        o["attention_factor"] = pick.uniform(0.5, 2)


def choose_longrope(o):
    lengths(o, "original_length", lambda n: pick.choice([0, n // 2, n, n + 1, 3 * n]))
    pairs = o["dim"] // 2
    o.update(factor=some_factor(), attention_factor=pick.choice([0.0, 0.0, 1.25]),
             short_factors=[pick.uniform(0.9, 4) for _ in range(pairs)],
             long_factors=[log_uniform(1, 64) for _ in range(pairs)])


def choose_llama3(o):
    low = pick.choice([1.0, log_uniform(0.25, 4)])
    o.update(original_length=some_length(), factor=some_factor(), low_freq_factor=low,
             high_freq_factor=pick.choice([4.0 * low, low * log_uniform(1.01, 16)]))


def choose_dynamic(o):
    lengths(o, "max_length", lambda n: pick.choice([0, n - 1, n, n + 1, 2 * n, 17 * n + 3]))
    o["factor"] = max(1.0, some_factor())


def choose_factor(o):
    o["factor"] = some_factor()


def choose_proportional(o):
    o.update(factor=some_factor(), rotary_fraction=pick.choice([0.25, 0.5, 1.0, pick.random()]))


def choose_custom(o):
    ranges = [(1e-9, 1), (1e-3, 1e3), (1, 2.0**59)]
    low, high = pick.choice(ranges)
    o["custom"] = [pick.choice([-1, 1, 1]) * log_uniform(low, high) for _ in range(o["dim"] // 2)]


# In the order of the enum Scaling.
KINDS = [("default", default, lambda o: None), ("linear", linear, choose_factor), ("ntk", ntk, choose_factor),
         ("dynamic", dynamic, choose_dynamic), ("yarn", yarn, choose_yarn), ("longrope", longrope, choose_longrope),
         ("llama3", llama3, choose_llama3), ("proportional", proportional, choose_proportional),
         ("custom", custom, choose_custom)]


def hard_positions(turns):
    """Multiples of the denominators of a frequency's best approximations by quarter turns: small results far out."""
    positions = []
    x = Fraction(turns, 2 ** (BITS - 2)) % 1
    before, q = 0, 1
    while q <= MAX_POSITION:
        for _ in range(4 if q < 2**40 else 40):
            positions.append(pick.choice([-1, 1]) * q * int(log_uniform(1, MAX_POSITION // q)))
        if x == 0:
            break
        whole, x = divmod(1 / x, 1)
        before, q = q, whole * q + before
    return positions


def plan(n):
    scaling = n % len(KINDS)
    name, formula, choose = KINDS[scaling]
    smallest = 4 if name in ("ntk", "dynamic") else 2
    half = pick.choice([smallest // 2, 256] + 8 * [round(log_uniform(smallest // 2, 256))])
    o = {"scaling": scaling, "dim": 2 * half,
         "base": pick.choice([1e4, 5e5, 1e6] + 5 * [log_uniform(1e2, 1e8)])}
    choose(o)
    frequencies, attention = formula(o, geometric(o["base"], o["dim"]))
    turns = [int(nint(x / (2 * pi) * 2**BITS)) % 2**BITS for x in frequencies]
    lines = [f"kind {name}"]
    for option, value in o.items():
        values = value if isinstance(value, list) else [value]
        lines.append(" ".join([option] + [float(v).hex() for v in values]))
    lines.append(f"expected_attention {float(attention).hex()}")
    lines.append(" ".join(["turns"] + [f"{t:0{BITS // 4}x}" for t in turns]))
    hard = [p for t in pick.sample(turns, min(6, len(turns))) for p in hard_positions(t)]
    lines.append(" ".join(["hard"] + [str(p) for p in hard]))
    return "\n".join(lines) + "\n"


for n in range(int(sys.argv[1])):
    with open(f"{sys.argv[2]}/{n % len(KINDS)}-{n:04d}.plan", "w") as file:
        file.write(plan(n))
