// Writes ONNX models as bytes: the few messages of onnx.proto3 that a graph of named nodes needs. Written by hand,
// because a protobuf library with the schema is a hundred times as large. It checks nothing: onnxruntime does.

// TensorProto.DataType
const types = { float32: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9 };

function typeOf(data) {
  if (data instanceof Float32Array) return types.float32;
  if (data instanceof Int32Array) return types.int32;
  return data instanceof BigInt64Array ? types.int64 : types.bool;
}

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return bytes;
}

const number = (field, value) => Uint8Array.from([...varint(field << 3), ...varint(value)]);

function concat(parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

function bytes(field, ...parts) {
  const content = concat(parts.flat(Number.POSITIVE_INFINITY));
  return concat([[...varint((field << 3) | 2), ...varint(content.length)], content]);
}

const utf8 = new TextEncoder();
const string = (field, text) => bytes(field, utf8.encode(text));

function float(field, value) {
  const out = new Uint8Array(5);
  out[0] = (field << 3) | 5;
  new DataView(out.buffer).setFloat32(1, value, true);
  return out;
}

// AttributeProto: an integer, a list of integers, or { float }.
function attribute(name, value) {
  const head = string(1, name);
  if (Array.isArray(value)) return [head, value.map((v) => number(8, v)), number(20, 7)];
  if (typeof value === 'object') return [head, float(2, value.float), number(20, 1)];
  return [head, number(3, value), number(20, 2)];
}

function node({ op, domain = '', in: inputs, out, ...attributes }) {
  return bytes(
    1,
    inputs.map((name) => string(1, name)),
    [out].flat().map((name) => string(2, name)),
    string(4, op),
    Object.entries(attributes).map(([name, value]) => bytes(5, attribute(name, value))),
    string(7, domain),
  );
}

// A dimension is a number or the name of one that is known only when it runs; without a shape not even the rank is known.
function valueInfo(field, name, { type = 'float32', shape }) {
  const dims = shape?.map((dim) => bytes(1, typeof dim === 'string' ? string(2, dim) : number(1, dim)));
  return bytes(field, string(1, name), bytes(2, bytes(1, number(1, types[type]), dims ? bytes(2, dims) : [])));
}

function initializer(name, { data, shape, type }) {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return bytes(
    5,
    shape.map((dim) => number(1, dim)),
    number(2, type === undefined ? typeOf(data) : types[type]),
    string(8, name),
    bytes(9, raw),
  );
}

/**
 * A model. `nodes` are { op, domain, in: [names], out: name or names, ...attributes }, `inputs` and `outputs`
 * { name: { type, shape } }, `constants` { name: { data, shape, type } }, with
 * the type of bytes where they are not booleans.
 */
export function model({ nodes, inputs = {}, outputs, constants = {}, opset = 24 }) {
  const graph = [
    nodes.map(node),
    string(2, 'graph'),
    Object.entries(constants).map(([name, value]) => initializer(name, value)),
    Object.entries(inputs).map(([name, value]) => valueInfo(11, name, value)),
    Object.entries(outputs).map(([name, value]) => valueInfo(12, name, value)),
  ];
  const domains = [bytes(8, string(1, ''), number(2, opset)), bytes(8, string(1, 'com.microsoft'), number(2, 1))];
  return concat([number(1, 10), domains, bytes(7, graph)].flat()); // 10: the version of the format
}
