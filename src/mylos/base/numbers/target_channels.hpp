// The channels of the outputs that hold target variables, by the names that the data give their channels.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Returns whether `name` is that of a channel of the array: "wind" or "wind[1]" of "/wind".
[[nodiscard]] bool is_channel_of(std::string_view name, std::string_view array);

/// Returns the channels of the targets, in their order. `names`: of all channels, "sst" or "wind[0]". A
/// target is the name of a channel, or of an array, "/wind", which stands for all channels of the array.
/// Throws Error (bad_input), whose message begins with `what`: (unknown_name), with similar names, if there
/// is no such channel; (bad_value) if two targets have a channel in common; (data_mismatch) if no names are
/// known, or not one for each of `channels`.
[[nodiscard]] std::vector<std::int64_t> channels_of_targets(const std::string& what,
                                                            const std::vector<std::string>& targets,
                                                            const std::vector<std::string>& names,
                                                            std::int64_t channels);

}  // namespace mylos
