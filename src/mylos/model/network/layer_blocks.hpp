// The blocks of a layer that have several kinds or several checks: joins, norms, margins and coordinates.
//
// These functions throw Error (bad_input) and name the layer if its input does not fit.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mylos/model/block/block.hpp"
#include "mylos/model/block/layer_shapes.hpp"
#include "mylos/model/layers/join.hpp"
#include "mylos/precision/options.hpp"

namespace mylos {

/// The types of a block.
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

/// The earlier boundary that a join reads.
struct JoinSource {
  GridShape grid;
  DType type = DType::fp32;
};

/// Returns the block of `add` (gated or not) or `concat`. Both inputs have the same points, and for an
/// addition the same channels.
[[nodiscard]] std::unique_ptr<Block> make_join(const LayerOptions& layer, JoinType join,
                                               const LayerInput& input, const JoinSource& from,
                                               const BlockTypes& types);

/// Returns the block of the layer's `norm`, named `name`.
[[nodiscard]] std::unique_ptr<Block> make_layer_norm(const LayerOptions& layer, const std::string& name,
                                                     const LayerInput& input, const BlockTypes& types);

/// Returns the block of `pad` or `crop`, and sets `grid` to that of its output.
[[nodiscard]] std::unique_ptr<Block> make_margins(LayerKind kind, const MarginShape& shape,
                                                  const LayerInput& input, const BlockTypes& types,
                                                  GridShape& grid);

/// Returns the block of `coordinates`, and sets `grid` to that of its output.
[[nodiscard]] std::unique_ptr<Block> make_coordinates(const LayerInput& input, const BlockTypes& types,
                                                      GridShape& grid);

}  // namespace mylos
