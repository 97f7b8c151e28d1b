# Attention with KERPLE, logarithmic (Chi et al., 2022).
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

r1, r2 = torch.tensor([1.0, 1.0]), torch.tensor([1.0, 0.5])  # learned, a number above 0 for each head
distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]  # key minus query, [T, T]
bias = -r1[:, None, None] * torch.log1p(r2[:, None, None] * torch.abs(distance))  # [H, T, T]

weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D) + bias, -1)  # [H, T, T]
out = weights @ v
print(out)
