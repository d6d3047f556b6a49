// The weights of points in the loss, from the file of data.weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/options.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// Reads the weights and divides them by their mean; null if the options name none. Stored numbers are
/// converted as those of data.arrays, whose `axes` may have an entry for them; without one they have the
/// order of the grid. Throws Error (bad_input) with file, array and index if they cannot be read, if there
/// are more than `max_points`, if one is not finite or negative, or if all are 0.
[[nodiscard]] std::shared_ptr<const PointWeights> read_point_weights(const DataOptions& data,
                                                                     std::int64_t max_points);

/// Returns the weights without the numbers that a mask of the outputs [points, channels] leaves out, of
/// mean 1. `weights`: null if all points count alike. `shape`: of a sample, its extents and channels. Throws
/// Error (data_mismatch) if the weights are those of another grid, and (bad_value) if no number would count.
[[nodiscard]] std::shared_ptr<const PointWeights> masked_weights(std::shared_ptr<const PointWeights> weights,
                                                                 const std::vector<std::uint8_t>& mask,
                                                                 std::int64_t points,
                                                                 const std::vector<std::int64_t>& shape);

/// Throws Error (bad_input) on every rank, with the same message, if the weights differ between ranks. All
/// ranks must call it.
void require_agreed(const std::shared_ptr<const PointWeights>& weights, RankGroup& ranks);

/// Throws Error (bad_input) if a run that was trained with `before`, from the checkpoint `path`, would
/// continue with other weights.
void require_same_weights(const std::string& path, const std::shared_ptr<const PointWeights>& before,
                          const std::shared_ptr<const PointWeights>& now);

}  // namespace mylos
