// Names of columns. With them the columns that a network expects are found in another file, whatever their
// order there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos {

/// Returns the names at `path`, each printable(): a text with one name per line, or a list of texts, as h5py
/// writes one; empty if there is none. Throws Error (bad_input) if one in a list is empty or has a line
/// break.
[[nodiscard]] std::vector<std::string> read_names(const hdf5::File& file, const std::string& path);

/// Writes the names as a text with one name per line, after checking the disk's free space.
void write_names(hdf5::File& file, const std::string& path, const std::vector<std::string>& names);

/// Converts names to a text with one name per line, and back.
[[nodiscard]] std::string text_of_names(const std::vector<std::string>& names);
[[nodiscard]] std::vector<std::string> names_of_text(const std::string& text);

/// Returns "T, p, humidity" for messages, shortened if it is long.
[[nodiscard]] std::string list_of_names(const std::vector<std::string>& names);

/// Element i is the column of a file that is read as column i; for names of a grid's channels, the channel of
/// each point. Empty: columns are read in stored order.
using ColumnOrder = std::vector<std::int64_t>;

/// Returns the order that brings `given` to `expected`, which must be permutations of the same names; empty
/// if they have the same order. Throws Error (bad_input) if the names differ, or if two are equal so that the
/// order is ambiguous. The message starts with `subject`, "new.h5: its inputs", and attributes the other
/// names to `expected_by`.
[[nodiscard]] ColumnOrder order_by_name(const std::vector<std::string>& expected,
                                        const std::vector<std::string>& given, const std::string& subject,
                                        const std::string& expected_by);

}  // namespace mylos
