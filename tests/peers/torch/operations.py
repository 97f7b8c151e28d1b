# The operations of ropewalk in PyTorch, in float64: run.py calls them by name. Shapes are [B, H, T, D].
import math

import torch
from torch.nn import functional as F


def inverse_frequencies(dim, base):
    return base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)


def turn(x, angles, pairing):
    """A pair is a complex number, and a turn a product: angles [.., T, pairs]."""
    half = pairing == "half"
    real, imaginary = x.chunk(2, -1) if half else (x[..., ::2], x[..., 1::2])
    product = torch.view_as_real(torch.complex(real, imaginary) * torch.exp(1j * angles))
    return (product.transpose(-1, -2) if half else product).flatten(-2)


def rotate(x, positions, base=10000.0, pairing="half", rotaryDim=None):
    dim = rotaryDim or x.shape[-1]
    angles = positions[:, None] * inverse_frequencies(dim, base)
    return torch.cat([turn(x[..., :dim], angles, pairing), x[..., dim:]], -1)


def distances(queries, keys, offset=0):
    """Key minus query, [queries, keys]."""
    return torch.arange(keys) - (torch.arange(queries)[:, None] + offset)


def hidden_keys(distance, causal=False, left=-1, right=-1):
    hidden = torch.zeros_like(distance, dtype=torch.bool)
    if causal:
        hidden |= distance > 0
    if left >= 0:
        hidden |= distance < -left
    if right >= 0:
        hidden |= distance > right
    return hidden


def attention(q, k, v, bias=None, keep=None, scale=None, softcap=None, offset=None, **visibility):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = q @ k.transpose(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    queries, keys = scores.shape[-2:]
    hidden = hidden_keys(distances(queries, keys, keys - queries if offset is None else offset), **visibility)
    if keep is not None:
        hidden = hidden | (keep == 0)
    probabilities = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
    return {"out": probabilities @ v, "probabilities": probabilities}


def features(x, kind):
    if kind == "cosine":
        return F.normalize(x, dim=-1, eps=1e-12)
    return {"elu1": lambda: F.elu(x) + 1, "relu": lambda: F.relu(x), "exp": lambda: torch.exp(x)}[kind]()


def linear_weights(q, k, kind, turn=None, form=None):
    """Weights before a mask and the division, and those whose sums divide them."""
    a, b = features(q, kind), features(k, kind)
    shift = 1 if kind == "cosine" else 0
    plain = a @ b.transpose(-1, -2) + shift
    if turn is None:
        return plain, plain
    turned = turn(a) @ turn(b).transpose(-1, -2) + shift
    return turned, plain if form == "numerator" else turned


def linear_attention(q, k, v, featureMap="elu1", causal=False, rope=None, form="numerator"):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    turn = rope and (lambda x: rotate(x, torch.arange(x.shape[-2], dtype=torch.float64), **rope))
    weights, sums = linear_weights(q, k, featureMap, turn, form)
    if causal:
        hidden = distances(q.shape[-2], k.shape[-2]) > 0
        weights, sums = weights.masked_fill(hidden, 0), sums.masked_fill(hidden, 0)
    return {"out": weights / sums.sum(-1, keepdim=True) @ v}


def split(x, heads):
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(-2, -3)


def self_attention(x, weights, heads, kvHeads=None, rope=None, **options):
    """Attention with its projections, as layers have it: x [B, T, M]."""
    kv = kvHeads or heads
    q, k, v = (
        split(F.linear(x, weights[name], weights.get(f"{name}Bias")), count)
        for name, count in (("query", heads), ("key", kv), ("value", kv))
    )
    if rope is not None:
        at = torch.arange(x.shape[1], dtype=torch.float64)
        q, k = rotate(q, at, **rope), rotate(k, at, **rope)
    out = attention(q, k, v, **options)["out"].transpose(1, 2).flatten(-2)
    return F.linear(out, weights["output"], weights.get("outputBias"))


def norm(x, weights, name, kind, eps):
    weight, bias = weights[name], weights.get(f"{name}Bias")
    if kind == "layer":
        return F.layer_norm(x, weight.shape, weight, bias, eps)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


activations = {"gelu": F.gelu, "geluTanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu}


def transformer_layer(x, weights, norms, kind, eps, activation, **options):
    def attended(h):
        return self_attention(h, weights, **options)

    def fed(h):
        act = activations[activation]
        up = F.linear(h, weights["up"], weights.get("upBias"))
        if "gate" in weights:
            up = act(F.linear(h, weights["gate"], weights.get("gateBias"))) * up
        else:
            up = act(up)
        return F.linear(up, weights["down"], weights.get("downBias"))

    def n1(h):
        return norm(h, weights, "attentionNorm", kind, eps)

    def n2(h):
        return norm(h, weights, "feedForwardNorm", kind, eps)

    if norms == "post":
        h = n1(x + attended(x))
        return {"out": n2(h + fed(h))}
    if norms == "parallel":
        return {"out": x + attended(n1(x)) + fed(n2(x))}
    h = x + attended(n1(x))
    return {"out": h + fed(n2(h))}


def parts(weights, names):
    return torch.cat([weights[name] for name in names])


def torch_attention(x, weights, heads, causal):
    """PyTorch's own layer of attention with biases."""
    layer = torch.nn.MultiheadAttention(x.shape[-1], heads, batch_first=True, dtype=torch.float64)
    layer.load_state_dict(
        {
            "in_proj_weight": parts(weights, ["query", "key", "value"]),
            "in_proj_bias": parts(weights, ["queryBias", "keyBias", "valueBias"]),
            "out_proj.weight": weights["output"],
            "out_proj.bias": weights["outputBias"],
        }
    )
    hidden = distances(x.shape[1], x.shape[1]) > 0 if causal else None
    out, probabilities = layer(x, x, x, attn_mask=hidden, average_attn_weights=False)
    return {"out": out, "probabilities": probabilities}


def torch_encoder_layer(x, weights, heads, norms, eps):
    """PyTorch's own encoder layer, with GELU and layer norm."""
    hidden, dim = weights["up"].shape
    options = {"dropout": 0.0, "activation": "gelu", "layer_norm_eps": eps, "batch_first": True}
    layer = torch.nn.TransformerEncoderLayer(
        dim, heads, hidden, norm_first=norms == "pre", dtype=torch.float64, **options
    )
    names = {"linear1": "up", "linear2": "down", "norm1": "attentionNorm", "norm2": "feedForwardNorm"}
    state = {"self_attn.in_proj_weight": parts(weights, ["query", "key", "value"])}
    state["self_attn.in_proj_bias"] = parts(weights, ["queryBias", "keyBias", "valueBias"])
    for theirs, ours in {"self_attn.out_proj": "output", **names}.items():
        state[f"{theirs}.weight"], state[f"{theirs}.bias"] = weights[ours], weights[f"{ours}Bias"]
    layer.load_state_dict(state)
    return {"out": layer.train()(x)}  # eval() takes another way, for inference
