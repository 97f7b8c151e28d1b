# The model of ropewalk's trainer in PyTorch, by its documentation: gradients are autograd's, steps those of AdamW.
import math

import torch
from torch.nn import functional as F

from operations import distances, inverse_frequencies, linear_weights, norm, rotate, split


def t5_bucket(distance, buckets, farthest):
    """Of causal models: keys after the query share bucket 0."""
    back = (-distance).clamp(min=0)
    exact = buckets // 2
    far = exact + (torch.log(back.clamp(min=1) / exact) / math.log(farthest / exact) * (buckets - exact)).long()
    return torch.where(back < exact, back, far.clamp(max=buckets - 1))


def fire(p, distance, threshold):
    c, most = p["fire.c"].abs(), (p["fire.threshold_factor"] * threshold).abs()
    at = torch.arange(distance.shape[0], dtype=torch.float64)[:, None]
    t = torch.log1p(c * distance.abs()) / torch.log1p(c * torch.maximum(most, at))
    hidden = F.relu(t[..., None] * p["fire.hidden_weights"] + p["fire.hidden_bias"])
    return (hidden @ p["fire.out_weights"].T + p["fire.out_bias"]).permute(2, 0, 1)


def distance_bias(kind, p, distance, position):
    """[H, T, T], or None."""
    far = distance.abs().double()
    if kind == "alibi":
        return -p["alibi.slopes"][:, None, None] * far
    if kind == "kerple":
        return -p["kerple.r1"][:, None, None] * torch.log1p(p["kerple.r2"][:, None, None] * far)
    if kind == "t5":
        return p["t5"][t5_bucket(distance, position["numBuckets"], position["maxDistance"])].permute(2, 0, 1)
    return fire(p, distance, position["threshold"]) if kind == "fire" else None


def pope_scores(q, k, phases, base):
    dim = q.shape[-1]
    at = torch.arange(q.shape[-2], dtype=torch.float64)[:, None] * inverse_frequencies(2 * dim, base)
    turn = (at[None] - at[:, None]) + phases[:, None, None]  # [H, T, T, D], key minus query
    return torch.einsum("bhid,bhjd,hijd->bhij", F.softplus(q), F.softplus(k), turn.cos())


def scores_of(kind, p, layer, q, k, distance, position):
    if kind == "pope":
        return pope_scores(q, k, p[f"{layer}.phases"], position["base"])
    if kind == "m3":
        table = p[f"{layer}.relative"]
        return torch.einsum("bhid,bhjd,ijd->bhij", q, k, table[table.shape[0] // 2 - distance])
    scores = q @ k.transpose(-1, -2)
    if kind == "shaw":
        table = p[f"{layer}.relative_keys"]
        most = table.shape[0] // 2
        return scores + torch.einsum("bhid,ijd->bhij", q, table[distance.clamp(-most, most) + most])
    if kind.startswith("relative_key"):
        table = p[f"{layer}.relative"]
        rows = table[table.shape[0] // 2 - distance]
        scores = scores + torch.einsum("bhid,ijd->bhij", q, rows)
        if kind == "relative_key_query":
            scores = scores + torch.einsum("bhjd,ijd->bhij", k, rows)
    return scores


def attended(x, p, layer, o, bias):
    position, heads, tokens = o["position"], o["heads"], x.shape[1]
    kind = position["encoding"]
    distance = distances(tokens, tokens)
    hidden = distance > 0
    q, k, v = (split(x @ p[f"{layer}.{name}"].T, heads) for name in ("query", "key", "value"))
    options = {name: position[name] for name in ("base", "pairing", "rotaryDim") if name in position}
    at = torch.arange(tokens, dtype=torch.float64)
    turn = (lambda y: rotate(y, at, **options)) if kind == "rope" else None
    if o["attention"] != "softmax":
        weights, sums = linear_weights(q, k, o["attention"]["linear"], turn, o["attention"].get("ropeForm", "both"))
        mixed = weights.masked_fill(hidden, 0) / sums.masked_fill(hidden, 0).sum(-1, keepdim=True) @ v
    else:
        if turn is not None:
            q, k = turn(q), turn(k)
        scores = scores_of(kind, p, layer, q, k, distance, position) / math.sqrt(v.shape[-1])
        if bias is not None:
            scores = scores + bias
        if kind == "forget":
            gates = F.logsigmoid(x @ p[f"{layer}.forget"].T + p[f"{layer}.forget_bias"]).cumsum(1).transpose(1, 2)
            scores = scores + gates[..., :, None] - gates[..., None, :]
        weights = torch.softmax(scores.masked_fill(hidden, -math.inf), -1)
        mixed = weights @ v
        if kind == "shaw":
            table = p[f"{layer}.relative_values"]
            most = table.shape[0] // 2
            mixed = mixed + torch.einsum("bhij,ijd->bhid", weights, table[distance.clamp(-most, most) + most])
    return mixed.transpose(1, 2).flatten(-2) @ p[f"{layer}.output"].T


def sinusoids(tokens, dim, base):
    angles = torch.arange(tokens, dtype=torch.float64)[:, None] * inverse_frequencies(dim, base)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)


def logits_of(p, o, ids):
    position = o["position"]
    kind = position["encoding"]
    tokens = ids.shape[1]

    def normed(h, name):
        weights = {name: p[name], f"{name}Bias": p.get(f"{name}_bias")}
        return norm(h, weights, name, o["norm"], o["normEps"])

    x = p["embedding"][ids]
    if kind == "learned":
        x = x + p["positions"][:tokens]
    if kind == "sinusoidal":
        x = x + sinusoids(tokens, x.shape[-1], position["base"])
    bias = distance_bias(kind, p, distances(tokens, tokens), position)
    act = {"gelu": F.gelu, "silu": F.silu}[o["activation"]]
    for layer in (f"layers.{i}" for i in range(o["layers"])):
        x = x + attended(normed(x, f"{layer}.attention_norm"), p, layer, o, bias)
        h = normed(x, f"{layer}.feed_forward_norm")
        x = x + act(h @ p[f"{layer}.up"].T) @ p[f"{layer}.down"].T
    return normed(x, "final_norm") @ p["unembedding"].T


# Matrices that are no tables.
decaying = ("query", "key", "value", "output", "up", "down", "unembedding", "forget")


def train(parameters, ids, targets, weights, options, steps):
    p = {name: value.clone().requires_grad_() for name, value in parameters.items()}
    optimizer = options["optimizer"]
    groups = [[], []]
    for name, value in p.items():
        groups[name.split(".")[-1] in decaying].append(value)
    adam = torch.optim.AdamW(
        [{"params": groups[1]}, {"params": groups[0], "weight_decay": 0.0}],
        lr=optimizer["learningRate"],
        betas=tuple(optimizer["betas"]),
        eps=optimizer["eps"],
        weight_decay=optimizer["weightDecay"],
    )
    outputs = {}
    for step in range(steps):
        adam.zero_grad()
        losses = F.cross_entropy(logits_of(p, options, ids).flatten(0, 1), targets.flatten(), reduction="none")
        loss = (losses * weights.flatten()).sum() / weights.sum()
        loss.backward()
        outputs[f"loss.{step}"] = loss.detach()
        if step == 0:
            for name, value in p.items():
                outputs[f"gradients.{name}"] = value.grad.clone()
        length = torch.nn.utils.clip_grad_norm_(list(p.values()), optimizer["clip"])
        outputs[f"gradientNorm.{step}"] = length.detach()
        adam.step()
    for name, value in p.items():
        outputs[f"parameters.{name}"] = value.detach()
    return outputs
