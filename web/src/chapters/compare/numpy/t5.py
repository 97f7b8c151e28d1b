# Attention with the bias of T5 (Raffel et al., 2019). T5 does not divide by sqrt(D).
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

buckets, farthest = 8, 16  # 32 and 128 in T5
table = numbers(2.3, buckets, H)
distance = np.arange(T)[None, :] - np.arange(T)[:, None]  # key minus query, [T, T]
half, exact = buckets // 2, buckets // 4  # half of them for later keys; near distances have their own
far = np.log(np.maximum(np.abs(distance), 1) / exact) / np.log(farthest / exact) * (half - exact)
far = np.minimum(exact + far.astype(int), half - 1)
bucket = np.where(distance > 0, half, 0)
bucket = bucket + np.where(np.abs(distance) < exact, np.abs(distance), far)
bias = np.moveaxis(table[bucket], -1, 0)  # [H, T, T]

weights = softmax(q @ k.swapaxes(-1, -2) + bias)  # [H, T, T]
out = weights @ v
print(out)
