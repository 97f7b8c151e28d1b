# Attention with KERPLE, logarithmic (Chi et al., 2022).
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

r1, r2 = np.array([1.0, 1.0]), np.array([1.0, 0.5])  # learned, a number above 0 for each head
distance = np.arange(T)[None, :] - np.arange(T)[:, None]  # key minus query, [T, T]
bias = -r1[:, None, None] * np.log1p(r2[:, None, None] * np.abs(distance))  # [H, T, T]

weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(D) + bias)  # [H, T, T]
out = weights @ v
print(out)
