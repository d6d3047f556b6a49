// The masks of arrays (data.arrays.mask): which of their numbers stand for something.
//
// A mask is the same at all levels, in all files. It is an array of the files, or the missing values of the
// masked array in its first level.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/data/array_options.hpp"
#include "mylos/data/arrays/files/open_array.hpp"
#include "mylos/data/arrays/layout/sample_layout.hpp"
#include "mylos/data/coordinates/sample_mask.hpp"
#include "mylos/data/files/meaning/column_names.hpp"

namespace mylos {

/// Returns the masks of the arrays of an open file, in their order: empty for those that have none. Throws
/// Error (bad_input) with file and array if a mask cannot be read, has other axes or extents than its array,
/// or leaves no point.
[[nodiscard]] std::vector<ArrayMask> masks_in(const hdf5::File& file, const std::vector<OpenArray>& arrays,
                                              const ArrayOptions& options, const ReadGrid& grid);

/// Returns the mask of one array; empty if it has none. Throws Error (bad_input) likewise.
[[nodiscard]] ArrayMask mask_in(const hdf5::File& file, const OpenArray& array, const ArrayOptions& options,
                                const ReadGrid& grid);

/// Throws Error (data_mismatch) if the masks of another file, as far as they are arrays of it, differ from
/// `masks`.
void require_same_arrays_of_masks(const std::vector<ArrayMask>& masks, const std::string& first_file,
                                  const hdf5::File& file, const std::vector<OpenArray>& arrays,
                                  const ArrayOptions& options, const ReadGrid& grid);

/// Returns the mask of the channels of a sample at all points, of the layout of the sample's numbers: 1, or 0
/// for those that stand for nothing; empty if all count.
[[nodiscard]] std::vector<std::uint8_t> mask_of_channels(const std::vector<ArrayMask>& masks,
                                                         const std::vector<ChannelSource>& sources,
                                                         std::int64_t points, std::int64_t channels,
                                                         const ColumnOrder& order);

/// Returns summaries of the masks of `arrays`, of those that have one.
[[nodiscard]] std::vector<MaskSummary> summaries_of(const std::vector<ArrayMask>& masks,
                                                    const std::vector<std::string>& arrays);

}  // namespace mylos
