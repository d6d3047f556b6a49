// Signature: what other stages know of a stage: its name, its kind, and the sizes and types of its matrices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "mylos/base/dtype.hpp"

namespace mylos {

struct Signature {
  std::string name;          // in decks, checkpoints and messages: "hidden1", "head"
  std::string_view kind;     // rules of the deck may name the kind instead: "linear"
  std::int64_t inputs = 0;   // columns of the input
  std::int64_t outputs = 0;  // columns of the output; the head: classes, or predicted values per row
  DType input_type = DType::fp32;
  DType output_type = DType::fp32;
  DType compute_type = DType::fp32;  // of the operands of the arithmetic
  std::int64_t skip_inputs = 0;      // columns of the earlier boundary that it reads; 0: none
  DType skip_type = DType::fp32;     // of that boundary

  bool operator==(const Signature&) const = default;
};

}  // namespace mylos
