# Causal attention with ALiBi (Press et al., 2021).
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

slopes = 2.0 ** (-8 * torch.arange(1, H + 1) / H)  # H is a power of 2
distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]  # key minus query, [T, T]
bias = slopes[:, None, None] * distance  # 0 and below for keys that are visible
bias = torch.where(distance > 0, -math.inf, bias)  # later keys are hidden

weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D) + bias, -1)  # [H, T, T]
out = weights @ v
print(out)
