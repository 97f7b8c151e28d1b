# Causal attention with xPos (Sun et al., 2022): RoPE that fades.
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
zeta = (np.arange(0, D, 2) + 0.4 * D) / (1.4 * D)  # [D / 2], below 1
scale = zeta ** (np.arange(T)[:, None] / 8)  # [T, D / 2]; 512 in xPos, 8 shows on few tokens


def rotate(x, scale):
    a, b = x[..., 0::2], x[..., 1::2]
    return np.stack([(a * cos - b * sin) * scale, (a * sin + b * cos) * scale], -1).reshape(x.shape)


scores = rotate(q, scale) @ rotate(k, 1 / scale).swapaxes(-1, -2) / np.sqrt(D)
later = np.arange(T)[None, :] > np.arange(T)[:, None]  # hidden
scores = np.where(later, -np.inf, scores)
weights = softmax(scores)  # [H, T, T]
out = weights @ v
print(out)
