// The contract between C++ and TypeScript: every enum whose numbers are passed between them, and every call and result
// that is passed as a row of doubles. generate.mjs generates both sides, so that the order of fields is defined only
// here. A field has the same name on both sides, `headDim` in TypeScript and head_dim in C++.
//
// `header` names a header in src/ that defines the type: a struct is then read or written through its members, and an
// enum must have these numbers. Where that type has another name, `struct` or, for an enum, `type` is that name. Without
// `header`, the type is generated for C++.

export { calls } from './calls.mjs';
export { enums } from './enums.mjs';
export { results } from './results.mjs';
