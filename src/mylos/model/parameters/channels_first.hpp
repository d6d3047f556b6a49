// The parameters of a chain that have another layout in frameworks with channels before points.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mylos/model/block/channels_first_layout.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns the parameters whose layouts differ, by path ("conv1/weight"). `chain`: of `model`.
[[nodiscard]] std::map<std::string, ChannelsFirst> channels_first_parameters(const ModelOptions& model,
                                                                             const Chain& chain);
/// Returns the layout of one number per column of a sample on a grid: 1 to 3 extents, then channels.
[[nodiscard]] ChannelsFirst channels_first_sample(const std::vector<std::int64_t>& shape);

}  // namespace mylos
