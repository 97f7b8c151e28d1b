# Attention with M3 (Huang et al., 2020): query, key and row of the distance multiply.
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]  # key minus query, [T, T]
a = numbers(2.3, 2 * T - 1, D)[distance + T - 1]  # [T, T, D]

weights = torch.softmax(torch.einsum("htd,hsd,tsd->hts", q, k, a) / math.sqrt(D), -1)  # [H, T, T]
out = weights @ v
print(out)
