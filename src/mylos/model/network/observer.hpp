// Observer: a function that inspects the tensors that the operations of a pass write.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// A tensor that an operation has just read or written.
struct Observation {
  std::size_t block = 0;    // stage of the chain
  const char* tensor = "";  // "input", "weight", "output", "output gradient", "weight gradient", ...
  ConstTensor value;
};
using Observer = std::function<void(const Observation&)>;

/// Passes `value` to the observer, unless there is none, or the tensor is empty or holds tokens.
inline void observe(const Observer* observer, std::size_t block, const char* tensor,
                    const ConstTensor& value) {
  const bool wanted = observer != nullptr && !value.empty() && value.type() != DType::int32;
  if (wanted) (*observer)({block, tensor, value});
}

/// Passes the tensors of a stage's parameters, by their names and `suffix`.
inline void observe_parameters(const Observer* observer, const Chain& chain, std::size_t stage,
                               std::span<const NamedTensor> tensors, const char* suffix) {
  if (observer == nullptr) return;
  const auto specs = chain.stage_parameters(stage);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    observe(observer, stage, (specs[i].name + suffix).c_str(), tensors[i]);
  }
}

}  // namespace mylos
