# Attention with RoPE (Su et al., 2021), interleaved pairs.
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

angles = np.arange(T)[:, None] * 10000 ** (-np.arange(0, D, 2) / D)  # [T, D / 2]
cos, sin = np.cos(angles), np.sin(angles)


def rotate(x):
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


weights = softmax(rotate(q) @ rotate(k).swapaxes(-1, -2) / np.sqrt(D))  # [H, T, T]
out = weights @ v
print(out)
