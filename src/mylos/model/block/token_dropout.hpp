// Dropout of activations. A row's random numbers depend on the index of its sample or token in the global
// batch.
#pragma once

#include "mylos/kernels/pointwise/dropout.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

/// `length`: tokens per sample; 1 if rows are samples.
[[nodiscard]] inline Dropout token_dropout(const StepContext& context, const RandomStream& stream,
                                           double probability, std::int64_t length) {
  if ((!context.training && !context.drops) || probability == 0) return {};
  return {stream, static_cast<float>(probability), context.step,
          context.first_sample * static_cast<std::uint64_t>(length)};
}

/// Of matrices whose rows are the points of the samples' grids, or of a box of these. `points`: in the
/// matrix.
[[nodiscard]] inline Dropout point_dropout(const StepContext& context, const RandomStream& stream,
                                           double probability, std::int64_t points,
                                           const std::optional<GridBox>& box) {
  Dropout dropout = token_dropout(context, stream, probability, box ? box->grid_points() : points);
  if (dropout.active()) dropout.box = box;
  return dropout;
}

}  // namespace mylos
