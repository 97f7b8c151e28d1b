# Attention with RoPE (Su et al., 2021), interleaved pairs.
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

angles = torch.arange(T)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)  # [T, D / 2]
cos, sin = torch.cos(angles), torch.sin(angles)


def rotate(x):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).reshape(x.shape)


weights = torch.softmax(rotate(q) @ rotate(k).transpose(-1, -2) / math.sqrt(D), -1)  # [H, T, T]
out = weights @ v
print(out)
