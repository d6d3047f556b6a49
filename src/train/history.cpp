#include "mylos/train/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "mylos/base/error.hpp"

namespace mylos {
namespace {

// Of a disk that stays full: some ten thousand rows, which are dropped together.
constexpr std::size_t most_unwritten = std::size_t{1} << 20;

/// The step in the first column; 0 for the header or what is no row.
std::uint64_t step_of(const std::string& line) {
  std::uint64_t step = 0;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

struct FileRows {
  std::string text;                 // of steps before the tail's
  std::vector<std::string> shared;  // by the tail's rows; "": the file lacks it
  std::uint64_t count = 0;          // of all
  std::string why_aside;            // why the file cannot be gone on with; "": it can
};

FileRows read_rows(const std::string& path, const std::deque<HistoryRow>& tail, std::uint64_t last) {
  FileRows rows;
  rows.shared.resize(tail.size());
  std::uint64_t newest = 0;
  std::size_t own = 0;
  const std::string header = history_header();
  const auto commas = std::count(header.begin(), header.end(), ',');
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (file.eof()) break;  // half a row
    if (line.rfind("step,", 0) == 0 && line + '\n' != header) rows.why_aside = "has other columns";
    const std::uint64_t step = step_of(line);
    if (step <= newest || step > last || std::count(line.begin(), line.end(), ',') != commas) continue;
    newest = step;
    line += '\n';
    while (own < tail.size() && tail[own].record.step < step) ++own;
    if (tail.empty() || step < tail.front().record.step) {
      rows.text += line;
    } else if (own < tail.size() && tail[own].record.step == step) {
      if (computed_part(history_line(tail[own])) != computed_part(line)) rows.why_aside = "is of another run";
      rows.shared[own] = line;
    } else {
      continue;
    }
    rows.count += 1;
  }
  return rows;
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
  for (const HistoryRow& row : rows) unwritten_ += history_line(row);
  std::error_code failure;
  const auto found = std::filesystem::file_size(path_, failure);
  const auto before = failure ? 0 : found;
  if (failure && begun_) {
    begun_ = false;
    fail_run("{}: is no longer there; was the run's folder deleted?", path_);
  }
  try {
    std::ofstream file(path_, std::ios::app);
    write_or_fail(file, path_, (before == 0 ? history_header() : "") + unwritten_);
  } catch (const Error&) {
    std::filesystem::resize_file(path_, before, failure);
    throw;
  }
  unwritten_.clear();
  begun_ = true;
}

std::string History::begin_anew() {
  if (!std::filesystem::exists(path_)) return "";
  int number = 1;
  while (std::filesystem::exists(fmt::format("{}.{}", path_, number))) ++number;
  std::string aside = fmt::format("{}.{}", path_, number);
  std::filesystem::rename(path_, aside);
  return aside;
}

std::string History::resume(std::deque<HistoryRow> tail, std::uint64_t step) {
  tail_ = std::move(tail);
  if (path_.empty()) return "";
  FileRows found = read_rows(path_, tail_, step);
  std::string said;
  if (!found.why_aside.empty()) {
    said = fmt::format("{} {}: now {}. ", path_, found.why_aside, begin_anew());
    found = read_rows(path_, tail_, step);
  }
  std::string rows = history_header() + found.text;
  std::uint64_t taken = 0;
  for (std::size_t i = 0; i < tail_.size(); ++i) {
    taken += found.shared[i].empty() ? 1 : 0;
    rows += found.shared[i].empty() ? history_line(tail_[i]) : found.shared[i];
  }
  const std::string aside = path_ + ".tmp";
  {
    std::ofstream file(aside, std::ios::trunc);
    write_or_fail(file, aside, rows);
  }
  std::filesystem::rename(aside, path_);
  begun_ = true;
  if (taken > 0) said += fmt::format("{}: {} rows taken from the checkpoint. ", path_, taken);
  if (found.count + taken < step) {
    said += fmt::format("{}: rows of {} earlier steps are missing; the checkpoint keeps the last {}. ", path_,
                        step - found.count - taken, tail_.size());
  }
  if (!said.empty()) said.pop_back();
  return said;
}

void History::save(CheckpointState& state) {
  saved_ = HistoryColumns(tail_);
  saved_.add_to(state);
}

void History::make_room(const CheckpointReader& saved, CheckpointState& state) {
  saved_ = HistoryColumns(static_cast<std::size_t>(saved.length("/history/step")));
  saved_.add_to(state, saved);
}

}  // namespace mylos
