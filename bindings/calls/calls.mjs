// The calls of the contract: what TypeScript writes and C++ reads.

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
      inverseFrequencies: 'pointer?',
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
  FireTerms: {
    header: 'encodings/fire.h',
    fields: {
      c: 'double',
      threshold: 'double',
      width: 'size_t',
      hiddenWeights: 'pointer',
      hiddenBias: 'pointer',
      outWeights: 'pointer',
      outBias: 'pointer',
    },
  },
  FireOptions: {
    header: 'encodings/fire.h',
    fields: { terms: 'FireTerms', heads: 'size_t', queries: 'size_t', keys: 'size_t', queryOffset: 'int64_t' },
  },
  SandwichOptions: {
    header: 'encodings/sandwich.h',
    fields: {
      heads: 'size_t',
      dim: 'size_t',
      base: 'double',
      queries: 'size_t',
      keys: 'size_t',
      queryOffset: 'int64_t',
    },
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
  RelativeRows: {
    header: 'encodings/relative.h',
    fields: { limit: 'int64_t', keyMinusQuery: 'bool', buckets: 'pointer?' },
  },
  RelativeTerms: {
    header: 'encodings/relative.h',
    fields: {
      rows: 'RelativeRows',
      queryTable: 'pointer?',
      keyTable: 'pointer?',
      productTable: 'pointer?',
      valueTable: 'pointer?',
      ownTables: 'bool?',
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
      fire: 'FireTerms?',
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
      keys: 'CachedKeys',
      storage: 'WeightType',
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
    fields: { kind: 'NormKind', size: 'size_t', eps: 'double', unitOffset: 'bool', sets: 'size_t' },
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
      type: 'WeightType',
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
  FeedForwardOptions: {
    header: 'layers/feed_forward.h',
    fields: { activation: 'Activation', chosen: 'size_t?', normalize: 'bool?', sigmoid: 'bool?' },
  },
  BlockOptions: {
    header: 'layers/transformer_block.h',
    fields: {
      attention: 'SelfAttentionOptions',
      placement: 'NormPlacement',
      feedForward: 'FeedForwardOptions',
      residual: 'float',
    },
  },
  HeadOptions: {
    header: 'models/logits_head.h',
    fields: { activation: 'Activation', scale: 'float', softcap: 'float' },
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
  StackLayerCall: {
    fields: {
      turnValues: 'bool',
      visibility: 'VisibilityCall',
      options: 'AttentionOptions',
      chunked: 'bool?',
      temperatureStep: 'int64_t?',
      temperatureScale: 'float?',
      segmentTable: 'pointer?',
      segmentBias: 'pointer?',
    },
  },
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
      types: 'pointer?', // [batch, tokens] doubles
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

  // A trainer's encoding. slopes is [heads] doubles.
  TrainedPositionOptions: {
    header: 'training/options.h',
    struct: 'training::PositionOptions',
    fields: {
      kind: 'TrainedPosition',
      length: 'size_t',
      mode: 'LearnedMode',
      positionDim: 'size_t',
      scale: 'double',
      base: 'double',
      frequencies: 'FrequencyOptions',
      pairing: 'Pairing',
      trainable: 'bool',
      slopes: 'pointer?',
      numBuckets: 'size_t',
      maxDistance: 'int64_t',
      maxRelative: 'size_t',
      width: 'size_t',
      columns: 'size_t',
      threshold: 'double',
    },
  },
  TrainedModelOptions: {
    header: 'training/options.h',
    struct: 'training::ModelOptions',
    fields: {
      vocab: 'size_t',
      modelDim: 'size_t',
      heads: 'size_t',
      layers: 'size_t',
      hiddenDim: 'size_t',
      causal: 'bool',
      norm: 'NormKind',
      eps: 'double',
      activation: 'Activation',
      attention: 'TrainedAttention',
      kernel: 'LinearKernel',
      rotation: 'LinearRotation',
      position: 'TrainedPositionOptions',
    },
  },
  OptimizerOptions: {
    header: 'training/options.h',
    struct: 'training::OptimizerOptions',
    fields: {
      kind: 'OptimizerKind',
      lr: 'double',
      beta1: 'double',
      beta2: 'double',
      eps: 'double',
      weightDecay: 'double',
      clip: 'double',
      warmup: 'uint64_t',
      totalSteps: 'uint64_t',
      finalShare: 'double',
    },
  },
  TrainerOptions: {
    header: 'training/options.h',
    struct: 'training::TrainerOptions',
    fields: { model: 'TrainedModelOptions', optimizer: 'OptimizerOptions', seed: 'uint64_t' },
  },
  // ids and targets [batch, tokens] int32, weights [batch, tokens] float32.
  BatchCall: {
    fields: { ids: 'pointer', targets: 'pointer', weights: 'pointer', batch: 'size_t', tokens: 'size_t' },
  },
  EvaluateCall: {
    fields: {
      batch: 'BatchCall',
      loss: 'pointer', // of one double
      losses: 'pointer',
      predictions: 'pointer',
      logits: 'pointer?',
      position: 'pointer?', // a TrainedPositionOptions in place of the trainer's
    },
  },
};
