// The results of the contract.

// C++ writes these and TypeScript reads them; the types are the same.
export const results = {
  DenominatorReport: {
    header: 'attention/linear_attention.h',
    fields: { minimum: 'double', negative: 'size_t', zero: 'size_t', nonFinite: 'size_t' },
  },
  // The options of a cache on which calls depend.
  CacheForm: {
    fields: {
      batch: 'size_t',
      kvHeads: 'size_t',
      headDim: 'size_t',
      valueDim: 'size_t',
      keys: 'CachedKeys',
      storage: 'WeightType',
      windowSize: 'size_t', // 0: none
      rebased: 'bool',
    },
  },
  // Two rows of a matrix.
  RowPair: { fields: { first: 'size_t', second: 'size_t' } },
  SafetensorsFault: {
    header: 'models/safetensors.h',
    fields: {
      reason: 'SafetensorsReason',
      at: 'uint64_t',
      keyAt: 'size_t',
      keyBytes: 'size_t',
      wanted: 'uint64_t',
      found: 'uint64_t',
    },
  },
  HeaderLength: { fields: { bytes: 'size_t', fault: 'SafetensorsFault' } },
  SafetensorsTensor: {
    header: 'models/safetensors.h',
    fields: {
      name: 'pointer',
      nameBytes: 'size_t',
      dtype: 'SafetensorsDtype',
      rank: 'size_t',
      begin: 'uint64_t',
      end: 'uint64_t',
    },
  },
  GgufFault: {
    header: 'models/gguf.h',
    fields: {
      reason: 'GgufReason',
      at: 'uint64_t',
      nameAt: 'size_t',
      nameBytes: 'size_t',
      inTensor: 'bool',
      wanted: 'uint64_t',
      found: 'uint64_t',
    },
  },
  GgufEntry: {
    header: 'models/gguf.h',
    fields: {
      key: 'pointer',
      keyBytes: 'size_t',
      type: 'GgufValueType',
      element: 'GgufValueType',
      count: 'size_t',
      at: 'size_t',
    },
  },
  GgufTensor: {
    header: 'models/gguf.h',
    fields: {
      name: 'pointer',
      nameBytes: 'size_t',
      type: 'GgufType',
      rank: 'size_t',
      begin: 'uint64_t',
      end: 'uint64_t',
    },
  },
  TextPair: {
    header: 'models/text_map.h',
    fields: { key: 'pointer', keyBytes: 'size_t', value: 'pointer', valueBytes: 'size_t' },
  },
  // A parameter of a trainer: columns is 0 for a vector; offset counts numbers from the first parameter.
  TrainedParameter: {
    fields: { name: 'pointer', nameBytes: 'size_t', rows: 'size_t', columns: 'size_t', offset: 'size_t' },
  },
  StepReport: {
    fields: {
      notFinite: 'NotFinite',
      tensor: 'pointer',
      tensorBytes: 'size_t',
      step: 'uint64_t',
      loss: 'double',
      gradientNorm: 'double',
      learningRate: 'double',
    },
  },
};
