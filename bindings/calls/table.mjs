// The contract between C++ and TypeScript: every enum whose numbers are passed between them, and every call and result
// that is passed as a row of doubles. generate.mjs generates both sides, so that the order of fields is defined only
// here. A field has the same name on both sides, `headDim` in TypeScript and head_dim in C++.
//
// `header` names a header in src/ that defines the type: a struct is then read or written through its members, and an
// enum must have these numbers. Without it, the type is generated for C++.

// From the name in TypeScript to the name in C++. The number is the index in the list. Enums that are options have the
// names of the options.
export const enums = {
  Status: {
    header: 'status.h',
    values: {
      ok: 'kOk',
      outOfMemory: 'kOutOfMemory',
      invalidShape: 'kInvalidShape',
      invalidArgument: 'kInvalidArgument',
      positionOutOfRange: 'kPositionOutOfRange',
      full: 'kFull',
    },
  },

  Pairing: { header: 'encodings/rope.h', values: { interleaved: 'kInterleaved', half: 'kHalf' } },
  Turn: { header: 'encodings/rope.h', values: { forward: 'kForward', back: 'kBack' } },
  Role: { header: 'encodings/rope.h', values: { any: 'kAny', query: 'kQuery', key: 'kKey' } },
  Angles: { header: 'encodings/rope_layout.h', values: { exact: 'kExact', float32: 'kFloat32' } },
  AxisLayout: {
    header: 'encodings/rope_layout.h',
    values: {
      single: 'kSingle',
      axial: 'kAxial',
      sections: 'kSections',
      interleaved: 'kInterleaved',
      vision: 'kVision',
      pixtral: 'kPixtral',
    },
  },
  Scaling: {
    header: 'angles/inverse_frequencies.h',
    values: {
      default: 'kDefault',
      linear: 'kLinear',
      ntk: 'kNtk',
      dynamic: 'kDynamic',
      yarn: 'kYarn',
      longrope: 'kLongRope',
      llama3: 'kLlama3',
      proportional: 'kProportional',
      custom: 'kCustom',
    },
  },

  Family: {
    header: 'encodings/registry.h',
    values: { absolute: 'kAbsolute', rotary: 'kRotary', bias: 'kBias', relative: 'kRelative' },
  },
  SinusoidLayout: {
    header: 'encodings/sinusoidal.h',
    values: { interleaved: 'kInterleaved', concatenated: 'kConcatenated', tensor2tensor: 'kTensor2Tensor' },
  },
  LearnedMode: {
    header: 'encodings/learned.h',
    values: { add: 'kAdd', multiply: 'kMultiply', concatenate: 'kConcatenate' },
  },
  AlibiVariant: {
    header: 'encodings/alibi.h',
    values: { symmetric: 'kSymmetric', bloom: 'kBloom', mpt: 'kMpt', falcon: 'kFalcon' },
  },
  KerpleKind: { header: 'encodings/kerple.h', values: { logarithmic: 'kLogarithmic', power: 'kPower' } },
  Measure: {
    header: 'analysis/pairwise.h',
    values: { dot: 'kDot', cosine: 'kCosine', euclidean: 'kEuclidean', hamming: 'kHamming' },
  },

  LinearKernel: {
    header: 'attention/linear_features.h',
    values: { elu1: 'kElu1', relu: 'kRelu', exp: 'kExp', cosine: 'kCosine', product: 'kProduct' },
  },
  UpdateRule: {
    header: 'attention/linear_recurrence.h',
    values: { linear: 'kLinear', gated: 'kGated', delta: 'kDelta', gated_delta: 'kGatedDelta' },
  },
  KeyStorage: {
    header: 'attention/kv_cache.h',
    values: { plain: 'kPlain', rotated: 'kRotated', unrotated: 'kUnrotated' },
  },
  SavedProblem: {
    header: 'attention/kv_cache.h',
    values: { none: 'kNone', noCache: 'kNoCache', version: 'kVersion', damaged: 'kDamaged', plans: 'kPlans' },
  },

  Activation: {
    header: 'kernels/activation.h',
    values: { gelu: 'kGelu', geluTanh: 'kGeluTanh', silu: 'kSilu', relu: 'kRelu', tanh: 'kTanh' },
  },
  WeightType: {
    header: 'kernels/weight_type.h',
    values: {
      float32: 'kFloat32',
      float16: 'kFloat16',
      bfloat16: 'kBfloat16',
      int8: 'kInt8',
      q4_0: 'kQ4_0',
      q4_1: 'kQ4_1',
      q5_0: 'kQ5_0',
      q5_1: 'kQ5_1',
      q8_0: 'kQ8_0',
      q4_k: 'kQ4_K',
      q5_k: 'kQ5_K',
      q6_k: 'kQ6_K',
    },
  },
  NormKind: { header: 'layers/norm_layer.h', values: { none: 'kNone', layer: 'kLayer', rms: 'kRms' } },
  NormPlacement: {
    header: 'layers/transformer_block.h',
    values: { post: 'kPost', pre: 'kPre', sandwich: 'kSandwich', parallel: 'kParallel' },
  },
  // The linear maps and the norms of a layer, by the names of their weights.
  BlockLinear: {
    values: {
      query: 'kQuery',
      key: 'kKey',
      value: 'kValue',
      output: 'kOutput',
      gate: 'kGate',
      up: 'kUp',
      down: 'kDown',
    },
  },
  BlockNorm: {
    values: {
      attentionNorm: 'kAttentionNorm',
      feedForwardNorm: 'kFeedForwardNorm',
      attentionAfterNorm: 'kAttentionAfterNorm',
      feedForwardAfterNorm: 'kFeedForwardAfterNorm',
      queryNorm: 'kQueryNorm',
      keyNorm: 'kKeyNorm',
    },
  },

  SafetensorsDtype: {
    header: 'models/safetensors.h',
    values: {
      BOOL: 'kBool',
      U8: 'kU8',
      I8: 'kI8',
      I16: 'kI16',
      U16: 'kU16',
      F16: 'kF16',
      BF16: 'kBf16',
      I32: 'kI32',
      U32: 'kU32',
      F32: 'kF32',
      F64: 'kF64',
      I64: 'kI64',
      U64: 'kU64',
      C64: 'kC64',
      F8_E5M2: 'kF8E5M2',
      F8_E4M3: 'kF8E4M3',
      F8_E8M0: 'kF8E8M0',
      F8_E4M3FNUZ: 'kF8E4M3Fnuz',
      F8_E5M2FNUZ: 'kF8E5M2Fnuz',
      F6_E2M3: 'kF6E2M3',
      F6_E3M2: 'kF6E3M2',
      F4: 'kF4',
    },
  },
  SafetensorsReason: {
    header: 'models/safetensors.h',
    values: {
      none: 'kNone',
      tooShort: 'kTooShort',
      headerTooLong: 'kHeaderTooLong',
      headerPastEnd: 'kHeaderPastEnd',
      notUtf8: 'kNotUtf8',
      notAnObject: 'kNotAnObject',
      syntax: 'kSyntax',
      duplicate: 'kDuplicate',
      notText: 'kNotText',
      notATensor: 'kNotATensor',
      missing: 'kMissing',
      dtype: 'kDtype',
      shape: 'kShape',
      offsets: 'kOffsets',
      size: 'kSize',
      overlap: 'kOverlap',
      hole: 'kHole',
      dataPastEnd: 'kDataPastEnd',
      dataLeft: 'kDataLeft',
      partOfByte: 'kPartOfByte',
    },
  },
  GgufType: {
    header: 'models/gguf.h',
    values: {
      F32: 'kF32',
      F16: 'kF16',
      Q4_0: 'kQ4_0',
      Q4_1: 'kQ4_1',
      Q5_0: 'kQ5_0',
      Q5_1: 'kQ5_1',
      Q8_0: 'kQ8_0',
      Q8_1: 'kQ8_1',
      Q2_K: 'kQ2_K',
      Q3_K: 'kQ3_K',
      Q4_K: 'kQ4_K',
      Q5_K: 'kQ5_K',
      Q6_K: 'kQ6_K',
      Q8_K: 'kQ8_K',
      IQ2_XXS: 'kIq2Xxs',
      IQ2_XS: 'kIq2Xs',
      IQ3_XXS: 'kIq3Xxs',
      IQ1_S: 'kIq1S',
      IQ4_NL: 'kIq4Nl',
      IQ3_S: 'kIq3S',
      IQ2_S: 'kIq2S',
      IQ4_XS: 'kIq4Xs',
      I8: 'kI8',
      I16: 'kI16',
      I32: 'kI32',
      I64: 'kI64',
      F64: 'kF64',
      IQ1_M: 'kIq1M',
      BF16: 'kBf16',
      TQ1_0: 'kTq1_0',
      TQ2_0: 'kTq2_0',
      MXFP4: 'kMxfp4',
      NVFP4: 'kNvfp4',
      Q1_0: 'kQ1_0',
      Q2_0: 'kQ2_0',
    },
  },
  GgufValueType: {
    header: 'models/gguf.h',
    values: {
      uint8: 'kUint8',
      int8: 'kInt8',
      uint16: 'kUint16',
      int16: 'kInt16',
      uint32: 'kUint32',
      int32: 'kInt32',
      float32: 'kFloat32',
      bool: 'kBool',
      string: 'kString',
      array: 'kArray',
      uint64: 'kUint64',
      int64: 'kInt64',
      float64: 'kFloat64',
    },
  },
  GgufReason: {
    header: 'models/gguf.h',
    values: {
      none: 'kNone',
      more: 'kMore',
      magic: 'kMagic',
      version: 'kVersion',
      bigEndian: 'kBigEndian',
      headerTooLong: 'kHeaderTooLong',
      headerPastEnd: 'kHeaderPastEnd',
      entryCount: 'kEntryCount',
      tensorCount: 'kTensorCount',
      textPastEnd: 'kTextPastEnd',
      arrayPastEnd: 'kArrayPastEnd',
      notUtf8: 'kNotUtf8',
      emptyKey: 'kEmptyKey',
      duplicate: 'kDuplicate',
      valueType: 'kValueType',
      nestedArray: 'kNestedArray',
      bool: 'kBool',
      alignmentType: 'kAlignmentType',
      alignmentSize: 'kAlignmentSize',
      rank: 'kRank',
      shape: 'kShape',
      tensorType: 'kTensorType',
      block: 'kBlock',
      size: 'kSize',
      offset: 'kOffset',
      overlap: 'kOverlap',
      hole: 'kHole',
      dataPastEnd: 'kDataPastEnd',
    },
  },
};

const mask = {
  data: 'pointer',
  batchStride: 'size_t',
  headStride: 'size_t',
  queryStride: 'size_t',
  keyStride: 'size_t',
};

// TypeScript writes these and C++ reads them. A pointer is an address in the heap, 0 for none; bool and the numbers are
// types of C++; any other type is an enum or a call of this table, and `T[4]` is an array. TypeScript may omit a field
// whose type ends in `?`: zeros are written, which mean that it is absent.
export const calls = {
  PositionsCall: {
    fields: {
      values: 'pointer', // of doubles; none: offset, offset + 1, ...
      count: 'size_t', // entries at values
      perBatch: 'bool',
      offset: 'int64_t',
    },
  },
  HeadsCall: { fields: { x: 'pointer', tokensFirst: 'bool', batch: 'size_t', heads: 'size_t', tokens: 'size_t' } },

  FrequencyOptions: {
    header: 'angles/inverse_frequencies.h',
    fields: {
      dim: 'size_t',
      base: 'double',
      scaling: 'Scaling',
      factor: 'double',
      originalLength: 'double?',
      maxLength: 'double?',
      sequenceLength: 'double?',
      attentionFactor: 'double?',
      betaFast: 'double',
      betaSlow: 'double',
      mscale: 'double?',
      mscaleAllDim: 'double?',
      truncate: 'bool',
      lowFreqFactor: 'double',
      highFreqFactor: 'double',
      rotaryFraction: 'double',
      shortFactors: 'pointer?',
      longFactors: 'pointer?',
      custom: 'pointer?',
    },
  },
  AxisOptions: {
    header: 'encodings/rope_layout.h',
    fields: { layout: 'AxisLayout', axes: 'size_t', sizes: 'size_t[4]' },
  },
  XPosOptions: { header: 'encodings/rope.h', fields: { scaleBase: 'double', center: 'double' } },
  RopeOptions: {
    header: 'encodings/rope.h',
    fields: {
      headDim: 'size_t',
      frequencies: 'FrequencyOptions',
      pairing: 'Pairing',
      angles: 'Angles',
      axes: 'AxisOptions',
      xpos: 'XPosOptions?',
    },
  },
  RotateCall: { fields: { heads: 'HeadsCall', positions: 'PositionsCall', turn: 'Turn', role: 'Role' } },
  // Queries and keys of the same tokens, in one order: [T, H, D] of one head is [H, T, D] as well.
  RotateBothCall: {
    fields: {
      q: 'pointer',
      k: 'pointer',
      tokensFirst: 'bool',
      batch: 'size_t',
      qHeads: 'size_t',
      kHeads: 'size_t',
      tokens: 'size_t',
      positions: 'PositionsCall',
    },
  },
  RerotateCall: { fields: { keys: 'HeadsCall', from: 'PositionsCall', to: 'PositionsCall' } },
  RotaryTables: {
    header: 'encodings/rope_tables.h',
    fields: { cos: 'pointer', sin: 'pointer', rows: 'size_t', pairs: 'size_t' },
  },
  RotateByTablesCall: {
    fields: {
      heads: 'HeadsCall',
      headDim: 'size_t',
      tables: 'RotaryTables',
      tableRows: 'pointer', // [batch, tokens] doubles: which row of the tables
      pairing: 'Pairing',
    },
  },

  SinusoidalOptions: {
    header: 'encodings/sinusoidal.h',
    fields: { dim: 'size_t', base: 'double', layout: 'SinusoidLayout', scale: 'double' },
  },
  LearnedTable: { header: 'encodings/learned.h', fields: { data: 'pointer', positions: 'size_t', dim: 'size_t' } },
  LearnedCall: {
    fields: {
      out: 'pointer',
      x: 'pointer',
      xDim: 'size_t',
      table: 'LearnedTable',
      mode: 'LearnedMode',
      positions: 'pointer', // [rows] doubles: the position of each
      rows: 'size_t',
    },
  },
  ExtendLearnedCall: { fields: { out: 'pointer', table: 'LearnedTable', alpha: 'double', rows: 'size_t' } },
  BinaryOptions: { header: 'encodings/binary.h', fields: { bits: 'size_t', msbFirst: 'bool', sign: 'bool' } },
  AlibiOptions: {
    header: 'encodings/alibi.h',
    fields: { heads: 'size_t', queries: 'size_t', keys: 'size_t', queryOffset: 'int64_t', variant: 'AlibiVariant' },
  },
  T5Options: {
    header: 'encodings/t5.h',
    fields: { bidirectional: 'bool', numBuckets: 'size_t', maxDistance: 'int64_t' },
  },
  KerpleOptions: {
    header: 'encodings/kerple.h',
    fields: { kind: 'KerpleKind', heads: 'size_t', queries: 'size_t', keys: 'size_t', queryOffset: 'int64_t' },
  },
  T5BiasCall: {
    fields: {
      out: 'pointer',
      table: 'pointer',
      heads: 'size_t',
      queries: 'size_t',
      keys: 'size_t',
      queryOffset: 'int64_t',
    },
  },
  DecayBoundCall: {
    fields: {
      out: 'pointer',
      dim: 'size_t',
      base: 'double',
      products: 'pointer', // [dim / 2] complex: query times conjugate of the key, pair by pair
      distances: 'pointer', // [count] doubles
      count: 'size_t',
    },
  },
  RelativeRows: { header: 'encodings/relative.h', fields: { limit: 'int64_t', keyMinusQuery: 'bool' } },
  RelativeTerms: {
    header: 'encodings/relative.h',
    fields: {
      rows: 'RelativeRows',
      queryTable: 'pointer?',
      keyTable: 'pointer?',
      productTable: 'pointer?',
      valueTable: 'pointer?',
    },
  },

  KeepMask: { header: 'attention/attention.h', struct: 'MaskView<uint8_t>', fields: mask },
  BiasMask: { header: 'attention/attention.h', struct: 'MaskView<float>', fields: mask },
  DistanceRange: {
    header: 'attention/attention.h',
    fields: { first: 'int64_t', count: 'int64_t', start: 'int64_t' },
  },
  // The keys that are visible to a query. Lists are stored in the heap as doubles.
  VisibilityCall: {
    fields: {
      causal: 'bool',
      left: 'int64_t',
      right: 'int64_t',
      sinkTokens: 'size_t',
      queryOffset: 'int64_t?',
      queryOffsets: 'pointer?',
      keyPositions: 'pointer?',
      keyLengths: 'pointer?',
    },
  },
  // All options except those of a VisibilityCall.
  AttentionOptions: {
    header: 'attention/attention.h',
    fields: {
      scale: 'float',
      softcap: 'float',
      keep: 'KeepMask?',
      bias: 'BiasMask?',
      sinks: 'pointer?',
      distanceBias: 'pointer?',
      distanceFirst: 'int64_t?',
      distanceCount: 'size_t?',
      distanceRanges: 'pointer?', // DistanceRange structs in the form of calls
      distanceRangeCount: 'size_t?',
      relative: 'RelativeTerms?',
    },
  },
  // Results [B, requested heads, Tq, Tk], and queries and keys before rotation.
  ScoresCall: {
    fields: {
      content: 'pointer?',
      position: 'pointer?',
      raw: 'pointer?',
      capped: 'pointer?',
      biased: 'pointer?',
      probabilities: 'pointer?',
      plainQ: 'pointer?',
      plainK: 'pointer?',
      slots: 'pointer?', // [heads] int32
      slotCount: 'size_t?',
    },
  },
  AttentionCall: {
    fields: {
      out: 'pointer',
      q: 'pointer',
      k: 'pointer?', // none, and no v: those of the cache are used
      v: 'pointer?',
      batch: 'size_t',
      heads: 'size_t',
      kvHeads: 'size_t',
      queries: 'size_t',
      keys: 'size_t',
      headDim: 'size_t',
      valueDim: 'size_t',
      tokensFirst: 'bool',
      visibility: 'VisibilityCall',
      options: 'AttentionOptions',
      scores: 'ScoresCall',
    },
  },

  CacheWindow: { header: 'attention/kv_cache.h', fields: { size: 'size_t', sinkTokens: 'size_t', rebased: 'bool' } },
  KvCacheOptions: {
    header: 'attention/kv_cache.h',
    fields: {
      batch: 'size_t',
      kvHeads: 'size_t',
      headDim: 'size_t',
      valueDim: 'size_t',
      capacity: 'size_t',
      growing: 'bool',
      storage: 'KeyStorage',
      window: 'CacheWindow',
    },
  },
  // k [B, G, T, D] and v [B, G, T, Dv]; positions [T] and axisPositions [axes, T] as doubles.
  AppendCall: {
    fields: {
      k: 'pointer',
      v: 'pointer',
      positions: 'pointer?',
      axisPositions: 'pointer?',
      tokens: 'size_t',
      tokensFirst: 'bool',
    },
  },

  LinearAttentionOptions: {
    header: 'attention/linear_attention.h',
    fields: { kernel: 'LinearKernel', normalize: 'bool', rotateNormalizer: 'bool', scale: 'float' },
  },
  LinearStateShape: {
    header: 'attention/linear_attention.h',
    fields: { batch: 'size_t', kvHeads: 'size_t', headDim: 'size_t', valueDim: 'size_t' },
  },
  LinearStateCall: { fields: { form: 'LinearAttentionOptions', shape: 'LinearStateShape' } },
  LinearAttentionCall: {
    fields: {
      out: 'pointer',
      q: 'pointer',
      k: 'pointer',
      v: 'pointer',
      keep: 'pointer?',
      keepBatchStride: 'size_t?',
      keepKeyStride: 'size_t?',
      rmsNorm: 'bool?',
      rmsEps: 'float?',
      rmsWeight: 'pointer?',
      denominators: 'pointer?',
      report: 'pointer', // address of the DenominatorReport to write
      batch: 'size_t',
      heads: 'size_t',
      kvHeads: 'size_t',
      queries: 'size_t',
      keys: 'size_t',
      headDim: 'size_t',
      valueDim: 'size_t',
      tokensFirst: 'bool',
      causal: 'bool',
      queryPositions: 'PositionsCall',
      keyPositions: 'PositionsCall',
    },
  },
  LinearRecurrenceCall: {
    fields: {
      out: 'pointer',
      q: 'pointer',
      k: 'pointer',
      v: 'pointer',
      decay: 'pointer?',
      beta: 'pointer?',
      past: 'pointer?',
      present: 'pointer',
      rule: 'UpdateRule',
      scale: 'float',
      batch: 'size_t',
      heads: 'size_t',
      kvHeads: 'size_t',
      tokens: 'size_t',
      headDim: 'size_t',
      valueDim: 'size_t',
      decayDim: 'size_t?',
      betaHeads: 'size_t?',
      tokensFirst: 'bool',
    },
  },

  NormLayerOptions: {
    header: 'layers/norm_layer.h',
    fields: { kind: 'NormKind', size: 'size_t', eps: 'double', unitOffset: 'bool' },
  },
  NormWeights: {
    header: 'layers/norm_layer.h',
    fields: { type: 'WeightType', weight: 'pointer', biasType: 'WeightType?', bias: 'pointer?' },
  },
  NormCall: { fields: { options: 'NormLayerOptions', weights: 'NormWeights' } },
  // Norms of rows [rows, size] with float32 weights [size]; no weight means ones, no bias zeros.
  RowNormCall: {
    fields: {
      out: 'pointer',
      x: 'pointer',
      rows: 'size_t',
      size: 'size_t',
      weight: 'pointer?',
      bias: 'pointer?',
      eps: 'double',
      unitOffset: 'bool?',
    },
  },
  EmbedCall: {
    fields: {
      out: 'pointer',
      table: 'pointer', // [tableRows, dim]
      tableRows: 'size_t',
      dim: 'size_t',
      ids: 'pointer', // [count] doubles
      count: 'size_t',
      scale: 'float',
    },
  },
  // Row indices [batch, tokens] as doubles.
  TokenVectorsCall: {
    fields: {
      out: 'pointer',
      batch: 'size_t',
      tokens: 'size_t',
      ids: 'pointer',
      types: 'pointer?',
      positions: 'pointer?',
    },
  },
  SelfAttentionOptions: {
    header: 'layers/self_attention.h',
    fields: { modelDim: 'size_t', heads: 'size_t', kvHeads: 'size_t', headDim: 'size_t', valueDim: 'size_t' },
  },
  BlockOptions: {
    header: 'layers/transformer_block.h',
    fields: { attention: 'SelfAttentionOptions', placement: 'NormPlacement', activation: 'Activation' },
  },
  // Addresses for the intermediates of a layer; none: not wanted.
  CaptureCall: {
    fields: {
      q: 'pointer?',
      k: 'pointer?',
      v: 'pointer?',
      qRotated: 'pointer?',
      kRotated: 'pointer?',
      vRotated: 'pointer?',
      context: 'pointer?',
      normed: 'pointer?',
      attentionOut: 'pointer?',
      hidden: 'pointer?',
      mlp: 'pointer?',
      scores: 'ScoresCall',
    },
  },
  // The settings of a model's layer that are the same in every pass.
  StackLayerCall: { fields: { turnValues: 'bool', visibility: 'VisibilityCall', options: 'AttentionOptions' } },
  // Layers first ... end - 1 over x [B, T, M].
  StackCall: {
    fields: {
      x: 'pointer',
      batch: 'size_t',
      tokens: 'size_t',
      first: 'size_t',
      end: 'size_t',
      positions: 'PositionsCall',
      keep: 'KeepMask?',
      capture: 'pointer?', // a CaptureCall for the last layer
    },
  },
  LayerCall: {
    fields: {
      out: 'pointer',
      x: 'pointer',
      batch: 'size_t',
      tokens: 'size_t',
      positions: 'PositionsCall',
      turnValues: 'bool',
      visibility: 'VisibilityCall',
      options: 'AttentionOptions',
      capture: 'CaptureCall',
    },
  },
};

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
      storage: 'KeyStorage',
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
};
