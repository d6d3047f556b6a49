#include "mylos/train/health/health_rows.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"

namespace mylos {
namespace {

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

/// Returns the format of lines that are identified by the parameter in their second column.
RowFormat format_of(const std::vector<std::string>& parameters) {
  std::unordered_map<std::string, int> indices;
  for (const std::string& parameter : parameters)
    indices.emplace(parameter, static_cast<int>(indices.size()));
  const auto index_in_step = [indices = std::move(indices)](std::string_view line) {
    line.remove_prefix(std::min(line.find(','), line.size() - 1) + 1);
    const auto found = indices.find(std::string(line.substr(0, line.find(','))));
    return found == indices.end() ? -1 : found->second;
  };
  const auto whole = [](std::string_view line) { return std::string(line.substr(0, line.find('\n'))); };
  return {header(), index_in_step, whole, "parameters"};
}

}  // namespace

HealthRows::HealthRows(std::string path, std::vector<std::string> parameters)
    : parameters_(std::move(parameters)), file_(std::move(path), format_of(parameters_)) {}

PartMemory HealthRows::memory(const HealthOptions& options, std::size_t parameters) {
  const std::size_t looks = options.every > 0 ? 2 * tail_length : 0;
  return {{"rows of health.csv", looks * parameters * columns.size() * sizeof(double), false}};
}

std::string HealthRows::line_of(const Look& look, std::size_t parameter) const {
  std::string line = fmt::format("{},{}", look.step, parameters_[parameter]);
  for (const double value : look.parameters[parameter])
    fmt::format_to(std::back_inserter(line), ",{:.6g}", value);
  return line + '\n';
}

void HealthRows::add(const HealthRecord& record) {
  Look look{record.step, {}};
  for (const ParameterHealth& seen : record.parameters) look.parameters.push_back(values_of(seen));
  if (file_.is_written())
    for (std::size_t i = 0; i < parameters_.size(); ++i) new_lines_ += line_of(look, i);
  tail_.push_back(std::move(look));
  if (tail_.size() > tail_length) tail_.pop_front();
}

void HealthRows::write() {
  const std::string lines = std::exchange(new_lines_, {});
  file_.append(lines);
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
    fail_input(errors::damaged, "{}: /history/health has {} rows, expected 1 to {} of {} parameters",
               saved.path(), looks, tail_length, parameters);
  }
  tail_.resize(static_cast<std::size_t>(looks),
               {0, {parameters_.size(), std::array<double, columns.size()>{}}});
  save(state);
}

std::string HealthRows::restore(std::uint64_t step) {
  std::size_t element = 0;
  for (std::size_t look = 0; look < tail_.size(); ++look) {
    tail_[look].step = stored_steps_[look];
    for (auto& values : tail_[look].parameters) {
      for (std::size_t i = 0; i < columns.size(); ++i) values[i] = stored_[i][element];
      ++element;
    }
  }
  if (tail_.empty() && !file_.exists()) return "";
  std::vector<PositionedLine> lines;
  for (const Look& look : tail_) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      lines.push_back({{look.step, static_cast<int>(i)}, line_of(look, i)});
  }
  return file_.resume(lines, step, 0);  // 0: health.every may have changed, so the number is unknown
}

}  // namespace mylos
