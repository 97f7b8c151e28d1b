// Token vectors from a table, and what they become with the vectors of their positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encodings/learned.h"

namespace ropewalk::training {

// h [batch, tokens, dim] from tokens' rows of a table and positions 0 .. tokens - 1.
template <class T>
struct EmbeddingInput {
  const int32_t* ids = nullptr;  // [batch, tokens], each a row of the table
  size_t batch = 0;
  size_t tokens = 0;
  const T* table = nullptr;      // [vocab, token_dim]
  const T* positions = nullptr;  // [tokens, position_dim], null: none
  LearnedMode mode = LearnedMode::kAdd;
  size_t token_dim = 0;
  size_t position_dim = 0;  // token_dim unless concatenated
};

// h = x + p, x p or [x, p], token_dim + position_dim wide in the last case.
template <class T>
void embeddingForward(T* h, const EmbeddingInput<T>& input);

// Adds to the gradients of the table and of the positions; dpositions null: fixed ones.
template <class T>
void embeddingBackward(T* dtable, T* dpositions, const T* dh, const EmbeddingInput<T>& input);

}  // namespace ropewalk::training
