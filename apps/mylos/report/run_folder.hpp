// Reads the files of a run's folder without trusting them: they may be incomplete or untrusted.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mylos::app {

/// Returns the folder of a run, given its path or that of its checkpoints. Throws Error (bad_input) with the
/// missing files if it is not a run.
[[nodiscard]] std::string open_run_folder(const std::string& path);

/// Passes the file's bytes to `take` in pieces. Returns false if the file is missing or not readable.
bool read_in_pieces(const std::string& path, const std::function<void(std::string_view)>& take);

struct SmallFile {
  bool exists = false;
  std::string text;     // empty where there is a problem
  std::string problem;  // "is larger than 4 MiB", for people
};
[[nodiscard]] SmallFile read_small_file(const std::string& path, std::size_t max_bytes);

}  // namespace mylos::app
