// What the name of an output states about its kind, and whether a file can be written there.
#pragma once

#include <optional>
#include <string>

#include "mylos/interchange/source/source_file.hpp"

namespace mylos::app {

/// Returns whether a file of this name is to be a table: it ends in .csv.
[[nodiscard]] bool is_table(const std::string& path);

/// For files that are HDF5 whatever they are called: throws Error (bad_input) where the name has an ending
/// that is not one of HDF5.
void require_hdf5_name(const std::string& path, const char* or_else = "");

/// The same for files of arrays as solvers write them, which may be called .nc as well.
void require_array_name(const std::string& path);

/// Returns whether the name ends in ".onnx", in letters of any case.
[[nodiscard]] bool has_onnx_name(const std::string& path);

/// Returns whether another ending follows ".onnx": neither HDF5 nor ONNX is meant for sure.
[[nodiscard]] bool has_ending_after_onnx(const std::string& path);

/// Returns the language of source that a file of this name has: its name ends in .hpp, .c or .f90.
[[nodiscard]] std::optional<SourceLanguage> source_language(const std::string& path);

/// Throws Error (bad_input) if the path cannot be written or is a folder. For the message: `whose` file it is
/// ("checkpoint's"), and the name of an `example` in that folder.
void require_file_output(const std::string& path, const char* whose, const char* example);

}  // namespace mylos::app
