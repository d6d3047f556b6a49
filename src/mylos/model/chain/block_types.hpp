// The types of a block, by the rules of a deck.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mylos/base/dtype.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

struct BlockTypes {
  const PrecisionOptions& precision;
  bool accumulates = false;    // a step has several micro-batches
  std::optional<DType> input;  // of the boundary that the block reads; none: the block's own

  [[nodiscard]] DType compute(std::string_view name, std::string_view kind) const;
  [[nodiscard]] DType input_of(DType type) const { return input.value_or(type); }
  [[nodiscard]] DType gradient(DType type) const;
  /// Sets the name and the types of a block of this kind.
  template <class BlockOptions>
  void set(BlockOptions& options, const std::string& name, std::string_view kind) const {
    options.name = name;
    options.type = compute(name, kind);
    options.input_type = input_of(options.type);
    options.gradient_type = gradient(options.type);
  }
  /// Returns the type of a block without weights: its input's, because another type would only cost a
  /// conversion.
  [[nodiscard]] DType without_weights(std::string_view name, std::string_view kind) const {
    return input_of(compute(name, kind));
  }
};

}  // namespace mylos
