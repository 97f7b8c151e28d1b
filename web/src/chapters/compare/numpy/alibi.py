# Causal attention with ALiBi (Press et al., 2021).
import numpy as np

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = np.prod(shape)
    return np.sin(seed * np.arange(1, count + 1)).reshape(shape)


def softmax(scores):
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

slopes = 2.0 ** (-8 * np.arange(1, H + 1) / H)  # H is a power of 2
distance = np.arange(T)[None, :] - np.arange(T)[:, None]  # key minus query, [T, T]
bias = slopes[:, None, None] * distance  # 0 and below for keys that are visible
bias = np.where(distance > 0, -np.inf, bias)  # later keys are hidden

weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D) + bias)  # [H, T, T]
out = weights @ v
print(out)
