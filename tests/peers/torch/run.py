# Runs cases of a file, [{ op, options, inputs }], and prints the outputs of each by name. An array is { shape, type, data } in
# base64, of float32 or int32; what is printed is float64. An input may be a record of arrays.
import base64
import json
import sys

import numpy
import torch

import operations
import training


def read(value):
    if "data" not in value:
        return {name: read(each) for name, each in value.items()}
    numbers = numpy.frombuffer(base64.b64decode(value["data"]), value["type"])
    numbers = numbers.astype("int64" if value["type"] == "int32" else "float64")
    return torch.from_numpy(numbers.reshape(value["shape"]))


def written(value):
    return base64.b64encode(value.detach().double().contiguous().numpy().tobytes()).decode()


def rotated(x, positions, **options):
    return {"out": operations.rotate(x, positions.double(), **options)}


calls = {
    "rotate": rotated,
    "attention": operations.attention,
    "linearAttention": operations.linear_attention,
    "attentionLayer": lambda x, weights, **options: {"out": operations.self_attention(x, weights, **options)},
    "transformerLayer": operations.transformer_layer,
    "MultiheadAttention": operations.torch_attention,
    "TransformerEncoderLayer": operations.torch_encoder_layer,
    "train": training.train,
}

torch.set_num_threads(1)
with open(sys.argv[1]) as file:
    cases = json.load(file)
results = []
for case in cases:
    inputs = {name: read(value) for name, value in case["inputs"].items()}
    outputs = calls[case["op"]](**inputs, **case["options"])
    results.append({name: written(value) for name, value in outputs.items()})
print(json.dumps(results))
