#include "mylos/train/health_rows.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mylos/base/error.hpp"
#include "mylos/io/atomic_publish.hpp"

namespace mylos {
namespace {

constexpr std::size_t most_unwritten = std::size_t{1} << 22;  // bytes, of a disk that stays full

std::array<double, HealthRows::columns.size()> values_of(const ParameterHealth& seen) {
  return {gradient_norm(seen),
          weight_norm(seen),
          update_ratio(seen),
          static_cast<double>(seen.largest_gradient),
          static_cast<double>(seen.largest_weight),
          share(seen.zeros, seen),
          share(seen.subnormals, seen),
          static_cast<double>(seen.non_finite)};
}

std::string header() {
  std::string line = "step,parameter";
  for (const std::string_view name : HealthRows::columns) (line += ',') += name;
  return line + '\n';
}

std::string path_of(std::string_view column) {
  return "/history/health/" + std::string(column);
}

void append(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::app);
  if (file) errno = 0;  // else it says why the file could not be opened
  file << text << std::flush;
  if (!file) fail_run("{}: cannot be written: {}", path, std::strerror(errno));
}

/// The rows of the file up to `step`, whole ones alone; the step of the last of them.
std::uint64_t copy_rows(const std::string& path, std::uint64_t step, std::ostream& to) {
  std::uint64_t last = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    std::uint64_t number = 0;
    std::from_chars(line.data(), line.data() + line.size(), number);
    if (number < last || number == 0 || number > step) continue;
    last = number;
    to << line << '\n';
  }
  return last;
}

}  // namespace

std::string HealthRows::lines_of(const Look& look) const {
  fmt::memory_buffer lines;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    fmt::format_to(std::back_inserter(lines), "{},{}", look.step, parameters_[i]);
    for (const double value : look.parameters[i]) fmt::format_to(std::back_inserter(lines), ",{:.6g}", value);
    lines.push_back('\n');
  }
  return fmt::to_string(lines);
}

void HealthRows::add(const HealthRecord& record) {
  Look look{record.step, {}};
  for (const ParameterHealth& seen : record.parameters) look.parameters.push_back(values_of(seen));
  if (!path_.empty() && unwritten_.size() < most_unwritten) unwritten_ += lines_of(look);
  tail_.push_back(std::move(look));
  if (tail_.size() > tail_length) tail_.pop_front();
}

void HealthRows::write() {
  if (path_.empty() || unwritten_.empty()) return;
  std::error_code failure;
  const auto found = std::filesystem::file_size(path_, failure);
  const auto before = failure ? 0 : found;
  try {
    append(path_, (before == 0 ? header() : "") + unwritten_);
  } catch (const Error&) {
    std::filesystem::resize_file(path_, before, failure);
    throw;
  }
  unwritten_.clear();
}

void HealthRows::begin_anew() const {
  std::error_code failure;
  std::filesystem::remove(path_, failure);
}

void HealthRows::save(CheckpointState& state) {
  if (tail_.empty()) return;
  stored_steps_.clear();
  for (std::vector<double>& column : stored_) column.clear();
  for (const Look& look : tail_) {
    stored_steps_.push_back(look.step);
    for (const auto& values : look.parameters)
      for (std::size_t i = 0; i < columns.size(); ++i) stored_[i].push_back(values[i]);
  }
  const auto looks = static_cast<std::int64_t>(tail_.size());
  const auto parameters = static_cast<std::int64_t>(parameters_.size());
  state.add_host(path_of("step"), stored_steps_.data(), {looks});
  for (std::size_t i = 0; i < columns.size(); ++i)
    state.add_host(path_of(columns[i]), stored_[i].data(), {looks, parameters});
  state.add_text(path_of("parameters"), fmt::format("{}", fmt::join(parameters_, "\n")));
}

void HealthRows::make_room(const CheckpointReader& saved, CheckpointState& state) {
  tail_.clear();
  if (!saved.exists("/history/health")) return;
  const auto looks = saved.length(path_of("step"));
  const auto dims = saved.dims(path_of(columns[0]));
  const auto parameters = static_cast<std::int64_t>(parameters_.size());
  if (looks < 1 || looks > static_cast<std::int64_t>(tail_length) || dims != std::vector{looks, parameters}) {
    fail_input("{}: /history/health has {} looks, expected 1 to {} at {} parameters", saved.path(), looks,
               tail_length, parameters);
  }
  tail_.resize(static_cast<std::size_t>(looks),
               {0, {parameters_.size(), std::array<double, columns.size()>{}}});
  save(state);
}

void HealthRows::restore(std::uint64_t step) {
  std::size_t element = 0;
  for (std::size_t look = 0; look < tail_.size(); ++look) {
    tail_[look].step = stored_steps_[look];
    for (auto& values : tail_[look].parameters) {
      for (std::size_t i = 0; i < columns.size(); ++i) values[i] = stored_[i][element];
      ++element;
    }
  }
  if (path_.empty() || (tail_.empty() && !std::filesystem::exists(path_))) return;
  PendingFile pending(path_);
  {
    std::ofstream file(pending.temporary(), std::ios::trunc);
    file << header();
    const std::uint64_t last = copy_rows(path_, step, file);
    for (const Look& look : tail_)
      if (look.step > last) file << lines_of(look);
    if (!file.flush()) fail_run("{}: cannot be written: {}", pending.temporary(), std::strerror(errno));
  }
  pending.publish();
}

}  // namespace mylos
