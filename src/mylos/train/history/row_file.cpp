#include "mylos/train/history/row_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

// Bytes of rows stored while the disk is full, about ten thousand rows. Beyond this limit all of them are
// dropped.
constexpr std::size_t max_unwritten = std::size_t{4} << 20;

constexpr std::size_t copied_bytes = std::size_t{64} << 10;  // at a time

/// Returns the step in the first column; 0 for the header and for lines that are not rows.
std::uint64_t step_of(const std::string& line) {
  std::uint64_t step = 0;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

}  // namespace

struct RowFile::Found {
  std::vector<std::string> shared;  // lines that match the tail's rows; "": missing in the file
  std::uint64_t count = 0;          // number of all rows
  std::string why_aside;            // why the file cannot be continued; "": it can
};

void RowFile::append(const std::string& lines) {
  if (path_.empty() || (lines.empty() && unwritten_.empty())) return;
  if (unwritten_.size() > max_unwritten) unwritten_.clear();
  unwritten_ += lines;
  std::error_code failure;
  const auto found = std::filesystem::file_size(path_, failure);
  const auto before = failure ? 0 : found;
  if (failure && begun_) {
    begun_ = false;
    fail_run(errors::no_such_file, "{}: no longer exists; was the run's folder deleted?", path_);
  }
  OutputFile file(path_, O_WRONLY | O_CREAT, path_);
  try {
    file.write(static_cast<std::int64_t>(before), (before == 0 ? format_.header : "") + unwritten_);
    file.close();
  } catch (const Error&) {
    std::filesystem::resize_file(path_, before, failure);
    throw;
  }
  unwritten_.clear();
  begun_ = true;
}

std::string RowFile::begin_anew() {
  if (!is_regular(path_)) return "";
  int number = 1;
  while (std::filesystem::exists(fmt::format("{}.{}", path_, number))) ++number;
  std::string aside = fmt::format("{}.{}", path_, number);
  std::filesystem::rename(path_, aside);
  return aside;
}

RowFile::Found RowFile::read(const std::vector<PositionedLine>& tail, std::uint64_t last,
                             const std::function<void(const std::string& line)>& earlier) const {
  Found rows;
  rows.shared.resize(tail.size());
  RowPosition newest{0, std::numeric_limits<int>::max()};
  std::size_t own = 0;
  const auto commas = std::count(format_.header.begin(), format_.header.end(), ',');
  std::ifstream file;
  if (is_regular(path_)) file.open(path_);
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // incomplete row
    if (line.rfind("step,", 0) == 0 && line + '\n' != format_.header) rows.why_aside = "has other columns";
    if (std::count(line.begin(), line.end(), ',') != commas) continue;
    const RowPosition position{step_of(line), format_.index_in_step(line)};
    if (position.of_step < 0 || !(newest < position) || position.step > last) continue;
    newest = position;
    line += '\n';
    while (own < tail.size() && tail[own].position < position) ++own;
    if (tail.empty() || position < tail.front().position) {
      earlier(line);
    } else if (own < tail.size() && tail[own].position == position) {
      if (format_.computed_part(tail[own].text) != format_.computed_part(line))
        rows.why_aside = "is of another run";
      rows.shared[own] = line;
    } else {
      continue;
    }
    rows.count += 1;
  }
  require_read(file, path_);
  return rows;
}

std::string RowFile::resume(const std::vector<PositionedLine>& tail, std::uint64_t step,
                            std::uint64_t expected) {
  if (path_.empty()) return "";
  PendingFile pending(path_);
  const auto copy = [&] {
    pending.file().truncate(0);
    std::string rows = format_.header;
    Found found = read(tail, step, [&](const std::string& line) {
      rows += line;
      if (rows.size() < copied_bytes) return;
      pending.file().append(rows);
      rows.clear();
    });
    for (std::size_t i = 0; i < tail.size(); ++i)
      rows += found.shared[i].empty() ? tail[i].text : found.shared[i];
    pending.file().append(rows);
    return found;
  };
  Found found = copy();
  std::string said;
  if (!found.why_aside.empty()) {
    said = fmt::format("{} {}: now {}. ", path_, found.why_aside, begin_anew());
    found = copy();
  }
  pending.publish();
  const auto taken =
      static_cast<std::uint64_t>(std::count(found.shared.begin(), found.shared.end(), std::string()));
  begun_ = true;
  if (taken > 0) said += fmt::format("{}: {} rows taken from the checkpoint. ", path_, taken);
  if (found.count + taken < expected) {
    said += fmt::format("{}: rows of {} earlier {} are missing; the checkpoint keeps the last {}. ", path_,
                        expected - found.count - taken, format_.counted, tail.size());
  }
  if (!said.empty()) said.pop_back();
  return said;
}

}  // namespace mylos
