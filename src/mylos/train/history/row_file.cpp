#include "mylos/train/history/row_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

// Bytes of rows stored while the disk is full, about ten thousand rows. Beyond this limit all of them are
// dropped.
constexpr std::size_t max_unwritten = std::size_t{4} << 20;

/// Returns the step in the first column; 0 for the header and for lines that are not rows.
std::uint64_t step_of(const std::string& line) {
  std::uint64_t step = 0;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

void write_or_fail(std::ofstream& file, const std::string& path, const std::string& text) {
  if (file) errno = 0;  // if opening failed, errno has the reason
  file << text << std::flush;
  if (!file) fail_run(ErrorId::cannot_write, "{}: cannot be written: {}", path, std::strerror(errno));
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
    fail_run(ErrorId::no_such_file, "{}: no longer exists; was the run's folder deleted?", path_);
  }
  try {
    std::ofstream file(path_, std::ios::app);
    write_or_fail(file, path_, (before == 0 ? format_.header : "") + unwritten_);
  } catch (const Error&) {
    std::filesystem::resize_file(path_, before, failure);
    throw;
  }
  unwritten_.clear();
  begun_ = true;
}

std::string RowFile::begin_anew() {
  if (!std::filesystem::exists(path_)) return "";
  int number = 1;
  while (std::filesystem::exists(fmt::format("{}.{}", path_, number))) ++number;
  std::string aside = fmt::format("{}.{}", path_, number);
  std::filesystem::rename(path_, aside);
  return aside;
}

RowFile::Found RowFile::read(const std::vector<PlacedLine>& tail, std::uint64_t last,
                             std::ostream& earlier) const {
  Found rows;
  rows.shared.resize(tail.size());
  RowPlace newest{0, std::numeric_limits<int>::max()};
  std::size_t own = 0;
  const auto commas = std::count(format_.header.begin(), format_.header.end(), ',');
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // incomplete row
    if (line.rfind("step,", 0) == 0 && line + '\n' != format_.header) rows.why_aside = "has other columns";
    if (std::count(line.begin(), line.end(), ',') != commas) continue;
    const RowPlace place{step_of(line), format_.place_in(line)};
    if (place.of_step < 0 || !(newest < place) || place.step > last) continue;
    newest = place;
    line += '\n';
    while (own < tail.size() && tail[own].place < place) ++own;
    if (tail.empty() || place < tail.front().place) {
      earlier << line;
    } else if (own < tail.size() && tail[own].place == place) {
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

std::string RowFile::resume(const std::vector<PlacedLine>& tail, std::uint64_t step, std::uint64_t expected) {
  if (path_.empty()) return "";
  PendingFile pending(path_);
  const auto copy = [&](std::ofstream file) {
    write_or_fail(file, pending.temporary(), format_.header);
    Found found = read(tail, step, file);
    std::string rows;
    for (std::size_t i = 0; i < tail.size(); ++i)
      rows += found.shared[i].empty() ? tail[i].text : found.shared[i];
    write_or_fail(file, pending.temporary(), rows);
    return found;
  };
  const auto anew = std::ios::out | std::ios::trunc;
  Found found = copy(std::ofstream(pending.temporary(), anew));
  std::string said;
  if (!found.why_aside.empty()) {
    said = fmt::format("{} {}: now {}. ", path_, found.why_aside, begin_anew());
    found = copy(std::ofstream(pending.temporary(), anew));
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
