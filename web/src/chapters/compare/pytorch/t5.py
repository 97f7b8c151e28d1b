# Attention with the bias of T5 (Raffel et al., 2019). T5 does not divide by sqrt(D).
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


q, k, v = (numbers(seed, H, T, D) for seed in (1.1, 1.3, 1.7))  # [H, T, D]

buckets, farthest = 8, 16  # 32 and 128 in T5
table = numbers(2.3, buckets, H)
distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]  # key minus query, [T, T]
half, exact = buckets // 2, buckets // 4  # half of them for later keys; near distances have their own
far = torch.log(torch.clamp(torch.abs(distance), min=1) / exact) / math.log(farthest / exact) * (half - exact)
far = torch.clamp(exact + far.long(), max=half - 1)
bucket = torch.where(distance > 0, half, 0)
bucket = bucket + torch.where(torch.abs(distance) < exact, torch.abs(distance), far)
bias = table[bucket].permute(2, 0, 1)  # [H, T, T]

weights = torch.softmax(q @ k.transpose(-1, -2) + bias, -1)  # [H, T, T]
out = weights @ v
print(out)
