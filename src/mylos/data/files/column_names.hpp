// Names of columns: by them the columns that a network knows are found in another file, in whatever order
// they lie there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// The names at `path`: a text with a name on each line, or a list of texts, as h5py writes one. None where
/// there is no such dataset. Throws Error (bad_input) for a name in a list that is empty or has a line break.
[[nodiscard]] std::vector<std::string> read_names(const hdf5::File& file, const std::string& path);

/// As a text with a name on each line, for which the disk has room.
void write_names(hdf5::File& file, const std::string& path, const std::vector<std::string>& names);

/// A name on each line, and back.
[[nodiscard]] std::string text_of_names(const std::vector<std::string>& names);
[[nodiscard]] std::vector<std::string> names_of_text(const std::string& text);

/// For messages: "T, p, humidity", cut off where it is long.
[[nodiscard]] std::string list_of_names(const std::vector<std::string>& names);

/// Which column of a file is read as column i; of names for each channel of a grid, which channel of each
/// point. Empty: columns are read as they lie.
using ColumnOrder = std::vector<std::int64_t>;

/// Both are permutations of the same names: the order that brings `given` to `expected`, empty where they are
/// in the same one. Throws Error (bad_input) where they are not the same names, or two are equal so that the
/// order is not known; the message begins with `subject`, "new.h5: its inputs", and says that the others are
/// those of `expected_by`.
[[nodiscard]] ColumnOrder order_by_name(const std::vector<std::string>& expected,
                                        const std::vector<std::string>& given, const std::string& subject,
                                        const std::string& expected_by);

}  // namespace mylos
