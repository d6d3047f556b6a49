// The picture of one sample, as a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/files/sample_store.hpp"

namespace mylos::app {

/// Draws the inputs and targets of a sample and publishes the file, SVG or PNG by the end of its name.
/// Returns lines that say what it shows. `grid`: extents and channels of the inputs; empty: the inputs are
/// one curve. Targets that are states share the colours of their inputs, differences do not.
[[nodiscard]] std::string write_sample_picture(const SampleStore& store,
                                               const std::vector<std::int64_t>& grid, std::int64_t sample,
                                               const std::string& path);

}  // namespace mylos::app
