# Attention without positions: the order of the words is lost.
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D), -1)  # [H, T, T]
out = weights @ v
print(out)
