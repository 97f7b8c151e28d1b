// Softmax and cross entropy in one: the loss of rows of logits, and the gradient in their place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ropewalk::training {

// What one row of logits came to; null: not wanted. [rows] each.
template <class T>
struct RowResults {
  T* losses = nullptr;             // -ln of the target's probability; 0 where the weight is 0
  int32_t* predictions = nullptr;  // the first of the largest logits
};

// Answers sum_r w[r] (-ln softmax(logits[r])[target[r]]) / sum w, and turns logits [rows, classes] into its
// gradient. weights [rows], null: 1 each; at least one is above 0. Rows of weight 0 are left out, their
// targets unread.
template <class T>
double crossEntropy(T* logits, const int32_t* targets, const T* weights, size_t rows, size_t classes,
                    const RowResults<T>& results = {});

}  // namespace ropewalk::training
