# Attention with relative rows for keys and values (Shaw et al., 2018).
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

reach = 2  # farther keys share the last row
distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]  # key minus query, [T, T]
rows = torch.clamp(distance, -reach, reach) + reach
key_rows = numbers(2.3, 2 * reach + 1, D)[rows]  # [T, T, D]
value_rows = numbers(2.9, 2 * reach + 1, D)[rows]

scores = q @ k.transpose(-1, -2) + torch.einsum("htd,tsd->hts", q, key_rows)
weights = torch.softmax(scores / math.sqrt(D), -1)  # [H, T, T]
out = weights @ v + torch.einsum("hts,tsd->htd", weights, value_rows)
print(out)
