#include "mylos/train/history.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "mylos/base/error.hpp"

namespace mylos {
namespace {

constexpr const char* header =
    "step,epoch,loss,lr,gradient_norm,scale,overflow,updates,samples_per_s,elapsed_s\n";

// Of a disk that stays full: some ten thousand rows, which are dropped together.
constexpr std::size_t most_unwritten = std::size_t{1} << 20;

std::string line_of(const HistoryRow& row) {
  const StepRecord& record = row.record;
  return fmt::format("{},{:.6g},{:.9g},{:.9g},{:.9g},{:.9g},{},{},{:.6g},{:.3f}\n", record.step, row.epoch,
                     record.loss, record.lr, record.gradient_norm, record.scale, record.overflow != 0 ? 1 : 0,
                     record.updates, row.samples_per_s, row.elapsed_s);
}

/// The step in the first column; 0 for the header or what is no row.
std::uint64_t step_of(const std::string& line) {
  std::uint64_t step = 0;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

void write_or_fail(std::ofstream& file, const std::string& path, const std::string& text) {
  if (file) errno = 0;  // else it says why the file could not be opened
  file << text << std::flush;
  if (!file) fail_run("{}: cannot be written: {}", path, std::strerror(errno));
}

}  // namespace

void History::append(std::span<const HistoryRow> rows) {
  for (const HistoryRow& row : rows) {
    tail_.push_back(row);
    if (tail_.size() > tail_length) tail_.pop_front();
  }
  if (path_.empty() || rows.empty()) return;
  if (unwritten_.size() > most_unwritten) unwritten_.clear();
  for (const HistoryRow& row : rows) unwritten_ += line_of(row);
  std::error_code failure;
  const auto found = std::filesystem::file_size(path_, failure);
  const auto before = failure ? 0 : found;
  if (failure && begun_) {
    begun_ = false;
    fail_run("{}: is no longer there; was the run's folder deleted?", path_);
  }
  try {
    std::ofstream file(path_, std::ios::app);
    write_or_fail(file, path_, (before == 0 ? header : "") + unwritten_);
  } catch (const Error&) {
    std::filesystem::resize_file(path_, before, failure);
    throw;
  }
  unwritten_.clear();
  begun_ = true;
}

void History::begin_anew() {
  if (!std::filesystem::exists(path_)) return;
  int number = 1;
  while (std::filesystem::exists(fmt::format("{}.{}", path_, number))) ++number;
  std::filesystem::rename(path_, fmt::format("{}.{}", path_, number));
}

void History::resume(std::deque<HistoryRow> tail, std::uint64_t step) {
  tail_ = std::move(tail);
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  std::string kept = header;
  {
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      const std::uint64_t number = step_of(line);
      if (number > 0 && number <= step) kept += line + "\n";
    }
  }
  const std::string aside = path_ + ".tmp";
  {
    std::ofstream file(aside, std::ios::trunc);
    write_or_fail(file, aside, kept);
  }
  std::filesystem::rename(aside, path_);
  begun_ = true;
}

}  // namespace mylos
