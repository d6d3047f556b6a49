// The files of a run's folder, read without trust: perhaps half written, perhaps a stranger's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mylos::app {

/// The folder of a run by its path or that of its checkpoints. Throws Error (bad_input), naming what was
/// looked for, where it is none.
[[nodiscard]] std::string open_run_folder(const std::string& path);

/// Gives `take` the file's bytes in pieces. False where there is no such file, or none that may be read.
bool read_in_pieces(const std::string& path, const std::function<void(std::string_view)>& take);

struct SmallFile {
  bool exists = false;
  std::string text;     // empty where there is a problem
  std::string problem;  // "is larger than 4 MiB", for people
};
[[nodiscard]] SmallFile read_small_file(const std::string& path, std::size_t max_bytes);

}  // namespace mylos::app
