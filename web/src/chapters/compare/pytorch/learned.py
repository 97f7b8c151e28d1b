# Attention over words with learned positions (Gehring et al., 2017).
import math

import torch

torch.set_default_dtype(torch.float64)

H, T, D = 2, 8, 8  # heads, tokens, head size


def numbers(seed, *shape):
    """Stands in for trained numbers; the same in every library."""
    count = math.prod(shape)
    return torch.sin(seed * torch.arange(1, count + 1)).reshape(shape)


x = numbers(0.9, T, H * D)  # the words
x = x + numbers(2.3, T, H * D)  # a row for each position


def project(x, seed):
    """[T, H D] to [H, T, D]; the weights are [outputs, inputs]."""
    w = numbers(seed, H * D, H * D) / 4
    return (x @ w.T).reshape(T, H, D).transpose(0, 1)


q, k, v = (project(x, seed) for seed in (1.1, 1.3, 1.7))

weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(D), -1)  # [H, T, T]
out = weights @ v
print(out)
