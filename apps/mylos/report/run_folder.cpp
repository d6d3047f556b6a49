#include "run_folder.hpp"

#include <fmt/ranges.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/folder.hpp"

namespace mylos::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = std::size_t{64} << 10;
// A deck.toml may belong to the user: it does not identify a run.
constexpr const char* files_of_a_run[] = {"history.csv", "summary.json", "plan.json", "resolved.toml"};

bool is_run(const std::string& folder) {
  std::error_code failure;
  for (const char* name : files_of_a_run)
    if (fs::is_regular_file(fs::path(folder) / name, failure)) return true;
  return !list_checkpoints(folder).empty();
}

}  // namespace

std::string open_run_folder(const std::string& path) {
  std::error_code failure;
  if (!fs::exists(path, failure))
    fail_input(errors::no_such_folder, "{}: there is no such folder{}", printable(path, 300),
               current_folder_note(path));
  if (!fs::is_directory(path, failure))
    fail_input(errors::not_a_folder, "{}: is a file; name the run's folder", printable(path, 300));
  std::string folder = run_folder(path);
  if (!is_run(folder))
    fail_input(errors::wrong_format, "{}: is not a run's folder: it has none of {}, checkpoints/step-*.h5",
               printable(path, 300), fmt::join(files_of_a_run, ", "));
  return folder;
}

bool read_in_pieces(const std::string& path, const std::function<void(std::string_view)>& take) {
  std::error_code failure;
  if (!fs::is_regular_file(path, failure)) return false;  // to open a pipe may be to wait for ever
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::array<char, piece_bytes> piece;
  while (file.read(piece.data(), piece.size()), file.gcount() > 0)
    take({piece.data(), static_cast<std::size_t>(file.gcount())});
  require_read(file, path);
  return true;
}

SmallFile read_small_file(const std::string& path, std::size_t max_bytes) {
  SmallFile file;
  file.exists = read_in_pieces(path, [&](std::string_view piece) {
    if (!file.problem.empty()) return;
    if (file.text.size() + piece.size() <= max_bytes) {
      file.text += piece;
    } else {
      file.text.clear();
      file.problem = "is larger than " + format_bytes(static_cast<std::int64_t>(max_bytes));
    }
  });
  return file;
}

}  // namespace mylos::app
