# Causal attention with xPos (Sun et al., 2022): RoPE that fades.
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
zeta = (torch.arange(0, D, 2) + 0.4 * D) / (1.4 * D)  # [D / 2], below 1
scale = zeta ** (torch.arange(T)[:, None] / 8)  # [T, D / 2]; 512 in xPos, 8 shows on few tokens


def rotate(x, scale):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([(a * cos - b * sin) * scale, (a * sin + b * cos) * scale], -1).reshape(x.shape)


scores = rotate(q, scale) @ rotate(k, 1 / scale).transpose(-1, -2) / math.sqrt(D)
later = torch.arange(T)[None, :] > torch.arange(T)[:, None]  # hidden
scores = torch.where(later, -math.inf, scores)
weights = torch.softmax(scores, -1)  # [H, T, T]
out = weights @ v
print(out)
