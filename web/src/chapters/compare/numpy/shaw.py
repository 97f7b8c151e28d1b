# Attention with relative rows for keys and values (Shaw et al., 2018).
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

reach = 2  # farther keys share the last row
distance = np.arange(T)[None, :] - np.arange(T)[:, None]  # key minus query, [T, T]
rows = np.clip(distance, -reach, reach) + reach
key_rows = numbers(2.3, 2 * reach + 1, D)[rows]  # [T, T, D]
value_rows = numbers(2.9, 2 * reach + 1, D)[rows]

scores = q @ k.swapaxes(-1, -2) + np.einsum("htd,tsd->hts", q, key_rows)
weights = softmax(scores / np.sqrt(D))  # [H, T, T]
out = weights @ v + np.einsum("hts,tsd->htd", weights, value_rows)
print(out)
