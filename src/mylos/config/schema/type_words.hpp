// The words of a deck for compute types.
#pragma once

#include "mylos/config/schema/keys.hpp"

namespace mylos {

[[nodiscard]] inline const Words<DType>& type_words() {
  static const Words<DType> words{{"bf16", DType::bf16}, {"fp16", DType::fp16}, {"fp32", DType::fp32}};
  return words;
}

}  // namespace mylos
