# The model of ropewalk's trainer in PyTorch, by its documentation: gradients are autograd's, steps those of AdamW.
import math

import torch
from torch.nn import functional as F

from operations import distances, inverse_frequencies, linear_weights, norm, rotate, split, turn


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


def sandwich(distance, position, heads):
    """Products of the sinusoidal vectors of both positions; head h divides them by 8 h / H, h from 1."""
    vectors = sinusoids(distance.shape[0], position["dim"], position["base"])
    return vectors @ vectors.T / (8 / heads * torch.arange(1, heads + 1)[:, None, None])


def distance_bias(kind, p, distance, position, heads):
    """[H, T, T], or None."""
    far = distance.abs().double()
    if kind == "alibi":
        return -p["alibi.slopes"][:, None, None] * far
    if kind == "kerple":
        return -p["kerple.r1"][:, None, None] * torch.log1p(p["kerple.r2"][:, None, None] * far)
    if kind == "t5":
        return p["t5"][t5_bucket(distance, position["numBuckets"], position["maxDistance"])].permute(2, 0, 1)
    if kind == "sandwich":
        return sandwich(distance, position, heads)
    return fire(p, distance, position["threshold"]) if kind == "fire" else None


def pope_scores(q, k, phases, base):
    dim = q.shape[-1]
    at = torch.arange(q.shape[-2], dtype=torch.float64)[:, None] * inverse_frequencies(2 * dim, base)
    angles = (at[None] - at[:, None]) + phases[:, None, None]  # [H, T, T, D], key minus query
    return torch.einsum("bhid,bhjd,hijd->bhij", F.softplus(q), F.softplus(k), angles.cos())


def transformer_xl_scores(p, layer, q, k, distance, base):
    """(q + u) . k + (q + v) . R, where R maps the sinusoidal vector of query minus key."""
    heads, dim = q.shape[1], q.shape[-1]
    angles = -distance[..., None] * inverse_frequencies(heads * dim, base)
    mapped = torch.cat([angles.sin(), angles.cos()], -1) @ p[f"{layer}.relative_projection"].T
    u, v = (p[f"{layer}.{name}"][:, None] for name in ("content_bias", "position_bias"))
    return (q + u) @ k.transpose(-1, -2) + torch.einsum("bhid,ijhd->bhij", q + v, mapped.unflatten(-1, (heads, dim)))


def log_bucket(distance, span, farthest):
    """As DeBERTa's versions 2 and 3 have it: themselves up to half of the span, then by their logarithm."""
    middle = span // 2
    far = distance.abs().clamp(min=middle).double()
    share = torch.log(far / middle) / math.log((farthest - 1) / middle)
    return torch.where(far == middle, distance, distance.sign() * (torch.ceil(share * (middle - 1)).long() + middle))


def deberta_scores(p, layer, q, k, distance, span, maxDistance=None):
    """Content to content, content to position, position to content: what it names c2p and p2c."""
    back = -distance if maxDistance is None else log_bucket(-distance, span, maxDistance)
    rows = (back + span).clamp(0, 2 * span - 1)
    keys, queries = (
        split(p["relative_embeddings"] @ p[f"{layer}.{name}"].T, q.shape[1])[:, rows] for name in ("key", "query")
    )
    c2p, p2c = torch.einsum("bhid,hijd->bhij", q, keys), torch.einsum("bhjd,hijd->bhij", k, queries)
    return q @ k.transpose(-1, -2) + c2p + p2c


def cope(q, k, table, hidden):
    """q . e of how many keys count from one on, between two rows of e in proportion."""
    gates = torch.sigmoid(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, 0)
    place = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=table.shape[0] - 1)
    products = q @ table.T
    below, above = (products.gather(-1, row.long()) for row in (place.floor(), place.ceil()))
    return torch.lerp(below, above, place - place.floor())


def scores_of(kind, p, layer, q, k, distance, position):
    if kind == "transformer_xl":
        return transformer_xl_scores(p, layer, q, k, distance, position["base"])
    if kind == "deberta":
        sizes = {name: value for name, value in position.items() if name != "encoding"}
        return deberta_scores(p, layer, q, k, distance, **sizes) / math.sqrt(3)
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


def turn_of(kind, p, layer, tokens, position):
    """How queries and keys turn, or None."""
    at = torch.arange(tokens)
    if kind == "rope":
        options = {name: position[name] for name in ("base", "pairing", "rotaryDim") if name in position}
        return lambda y: rotate(y, at, **options)
    if kind == "rope_mixed":
        x, y = (p[f"{layer}.frequencies_{axis}"][:, None] for axis in "xy")
        row, column = torch.div(at, position["columns"], rounding_mode="floor"), at % position["columns"]
        angles = column[:, None] * x + row[:, None] * y  # [H, T, pairs]
        return lambda heads: turn(heads, angles, position["pairing"])
    return None


def attended(x, p, layer, o, bias):
    position, heads, tokens = o["position"], o["heads"], x.shape[1]
    kind = position["encoding"]
    distance = distances(tokens, tokens)
    hidden = distance > 0
    q, k, v = (split(x @ p[f"{layer}.{name}"].T, heads) for name in ("query", "key", "value"))
    turned = turn_of(kind, p, layer, tokens, position)
    if o["attention"] != "softmax":
        weights, sums = linear_weights(q, k, o["attention"]["linear"], turned, o["attention"].get("ropeForm", "both"))
        mixed = weights.masked_fill(hidden, 0) / sums.masked_fill(hidden, 0).sum(-1, keepdim=True) @ v
    else:
        if turned is not None:
            q, k = turned(q), turned(k)
        scores = scores_of(kind, p, layer, q, k, distance, position) / math.sqrt(v.shape[-1])
        if bias is not None:
            scores = scores + bias
        if kind == "cope":
            scores = scores + cope(q, k, p[f"{layer}.cope"], hidden)
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


def binary(tokens, dim, positions):
    """The bits of the position, the lowest first, as -1 and 1, then zeros."""
    bits = (positions - 1).bit_length()
    ones = torch.arange(tokens)[:, None].bitwise_right_shift(torch.arange(bits)) & 1
    return F.pad(2 * ones - 1, (0, dim - bits))


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
    if kind == "axial":
        x = x + (p["axial.rows"][:, None] + p["axial.columns"]).flatten(0, 1)[:tokens]
    if kind == "binary":
        x = x + binary(tokens, x.shape[-1], position["maxPositions"])
    if kind == "sinusoidal":
        x = x + sinusoids(tokens, x.shape[-1], position["base"])
    bias = distance_bias(kind, p, distances(tokens, tokens), position, o["heads"])
    act = {"gelu": F.gelu, "silu": F.silu}[o["activation"]]
    for layer in (f"layers.{i}" for i in range(o["layers"])):
        x = x + attended(normed(x, f"{layer}.attention_norm"), p, layer, o, bias)
        h = normed(x, f"{layer}.feed_forward_norm")
        x = x + act(h @ p[f"{layer}.up"].T) @ p[f"{layer}.down"].T
    return normed(x, "final_norm") @ p["unembedding"].T


# Matrices that are no tables.
decaying = ("query", "key", "value", "output", "up", "down", "unembedding", "forget", "relative_projection")


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
