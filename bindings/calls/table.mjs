// The contract between C++ and TypeScript: every enum whose numbers cross between them. generate.mjs makes both sides
// from it.
//
// `header` says that src/ has the enum already, which must then have these numbers. Without it, C++ gets it from here.

// By name in TypeScript, and in C++. The number is the place in the list. Names are those of the options where these are
// the same.
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
    values: { float32: 'kFloat32', float16: 'kFloat16', bfloat16: 'kBfloat16', int8: 'kInt8' },
  },
  NormKind: { header: 'layers/norm_layer.h', values: { none: 'kNone', layer: 'kLayer', rms: 'kRms' } },
  NormPlace: {
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
};
