#include "mylos/inference/uncertainty/stored_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/uncertainty/mahalanobis.hpp"

namespace mylos {
namespace {

constexpr const char* inputs_group = "/inputs";
constexpr const char* mean_path = "/inputs/mean";

void add_values(CheckpointState& state, InputStatistics& statistics) {
  const auto inputs = static_cast<std::int64_t>(statistics.mean.size());
  state.add_host(mean_path, statistics.mean.data(), {inputs});
  state.add_host("/inputs/deviation", statistics.deviation.data(), {inputs});
  state.add_host("/inputs/inverse_covariance", statistics.inverse_covariance.data(), {inputs, inputs});
  state.add_host("/inputs/distances", statistics.distances.data(), {std::int64_t{3}});
  state.add_scalar("/inputs/samples", statistics.samples);
  state.add_scalar("/inputs/ridge", statistics.ridge);
}

[[noreturn]] void fail_damaged(const CheckpointReader& reader, const std::string& what) {
  fail_input(errors::damaged, "{}: {} {}", reader.path(), inputs_group, what);
}

void require_numbers(const CheckpointReader& reader, const InputStatistics& statistics) {
  const auto has_bad = [](const auto& values, bool is_positive) {
    return std::any_of(values.begin(), values.end(),
                       [&](double value) { return !std::isfinite(value) || (is_positive && value < 0); });
  };
  if (has_bad(statistics.mean, false)) fail_damaged(reader, "has a mean that is not finite");
  if (has_bad(statistics.deviation, true))
    fail_damaged(reader, "has a standard deviation that is not finite, or is below 0");
  if (has_bad(statistics.inverse_covariance, false))
    fail_damaged(reader, "has an inverse covariance that is not finite");
  const auto& distances = statistics.distances;
  if (has_bad(distances, true) || !std::is_sorted(distances.begin(), distances.end()))
    fail_damaged(reader, "has distances that are no quantiles: they are finite, 0 or more, and ascend");
  if (statistics.samples < 2) fail_damaged(reader, fmt::format("is of {} samples", statistics.samples));
  if (!(statistics.ridge >= 0 && statistics.ridge < 1))
    fail_damaged(reader, fmt::format("has the ridge {}", statistics.ridge));
}

/// Makes room for what the file holds, whose sizes are checked before.
void make_room(const CheckpointReader& reader, InputStatistics& statistics,
               const std::vector<std::int64_t>& shape) {
  const std::int64_t columns = reader.length(mean_path);
  if (shape.size() != 1) fail_damaged(reader, "is of vectors, the network of samples on a grid");
  if (columns != shape.front())
    fail_damaged(reader, fmt::format("has {} columns, the network {}", columns, shape.front()));
  if (columns > max_distance_inputs) {
    fail_damaged(reader,
                 fmt::format("has {} columns; distances are of at most {}", columns, max_distance_inputs));
  }
  const auto size = static_cast<std::size_t>(columns);
  statistics.mean.resize(size);
  statistics.deviation.resize(size);
  statistics.inverse_covariance.resize(size * size);
}

}  // namespace

void add_input_statistics(CheckpointState& state, InputStatistics& statistics) {
  if (statistics.has_distance()) add_values(state, statistics);
}

KnownInputs read_input_statistics(const CheckpointReader& reader, const InputRange& range,
                                  const std::vector<std::int64_t>& shape) {
  KnownInputs known;
  InputStatistics& statistics = known.statistics;
  if (range.known()) {
    statistics.minimum = range.minimum;
    statistics.maximum = range.maximum;
  }
  if (!reader.exists(inputs_group)) return known;
  run_on_all(reader.ranks(), [&] { make_room(reader, statistics, shape); });
  CheckpointState state;
  add_values(state, statistics);
  reader.read(state);
  run_on_all(reader.ranks(), [&] {
    require_numbers(reader, statistics);
    std::optional<std::vector<double>> factor =
        distance_factor(statistics.inverse_covariance, statistics.mean.size());
    if (!factor)
      fail_damaged(reader, "has an inverse covariance that is not symmetric and positive definite");
    known.factor = std::move(*factor);
  });
  return known;
}

}  // namespace mylos
