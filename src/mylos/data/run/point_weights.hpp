// The weights of points in the loss, from the file of data.weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/options.hpp"
#include "mylos/data/run/data_description.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

/// Reads the weights and divides them by their mean; null if the options name none. Stored numbers are
/// converted as those of data.arrays, whose `axes` may have an entry for them; without one they have the
/// order of the grid. Throws Error (bad_input) with file, array and index if they cannot be read, if there
/// are more than `max_points`, if one is not finite or negative, or if all are 0.
[[nodiscard]] std::shared_ptr<const PointWeights> read_point_weights(const DataOptions& data,
                                                                     std::int64_t max_points);

/// Returns the weights that the deck and the data give: those of points, by an array or by latitude, times
/// those of variables, without the numbers that a mask of the outputs leaves out. Null if all numbers count
/// alike. Throws Error (bad_input) as read_point_weights() does; (data_mismatch) if the weights are those of
/// another grid or no axis has latitudes; (bad_value) if no number would count.
[[nodiscard]] std::shared_ptr<const PointWeights> point_weights_of(const Options& options,
                                                                   const DataDescription& data);

/// Throws Error (bad_input) on every rank, with the same message, if the weights differ between ranks. All
/// ranks must call it.
void require_agreed(const std::shared_ptr<const PointWeights>& weights, RankGroup& ranks);

/// Throws Error (bad_input) if a run that was trained with `before`, from the checkpoint `path`, would
/// continue with other weights.
void require_same_weights(const std::string& path, const std::shared_ptr<const PointWeights>& before,
                          const std::shared_ptr<const PointWeights>& now);

}  // namespace mylos
