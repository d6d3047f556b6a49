// Digests of what identifies a store apart from its values: the section [data.arrays], and the files' names
// and metadata.
#pragma once

#include <string>
#include <vector>

#include "mylos/data/array_options.hpp"
#include "mylos/data/arrays/files/file_table.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {

/// Returns the options that decide what a sample is, as text.
[[nodiscard]] std::string text_of_options(const ArrayOptions& options);

/// Adds the name of a file without its folder, and of each array its path, type, shape and attributes.
void add_metadata(Xxh128& digest, const std::string& path, const std::vector<OpenArray>& arrays);

/// Returns the digest of all on which sums over the values depend. `metadata`: digests of names, sizes, times
/// and attributes.
[[nodiscard]] std::string statistics_key_of(const std::string& metadata, const ArrayOptions& options,
                                            const SampleLayout& layout);

}  // namespace mylos
