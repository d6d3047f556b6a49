#include "mylos/train/history/run_starts.hpp"

#include <filesystem>

#include "mylos/base/errors/file_text.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_file_bytes = std::size_t{256} << 10;

/// Returns the complete lines of the file; "" if it is none that add_start() wrote.
std::string lines_in(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, failure)) ||
      std::filesystem::file_size(path, failure) > max_file_bytes)
    return {};
  std::string text = file_text(path);
  text.erase(text.find_last_of('\n') + 1);
  return text;
}

}  // namespace

void add_start(const std::string& path, const RunEvent& event) {
  std::string lines = lines_in(path) + event_line(event);
  while (lines.size() > max_file_bytes) lines.erase(0, lines.find('\n') + 1);
  publish_text(path, lines);
}

void forget_starts(const std::string& path) {
  std::error_code failure;
  std::filesystem::remove(path, failure);
}

}  // namespace mylos
