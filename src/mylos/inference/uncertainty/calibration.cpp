#include "mylos/inference/uncertainty/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

std::string path_of(const ConformalCalibration& calibration, std::string_view name = {}) {
  return fmt::format("/{}{}calibration{}{}", calibration.members > 1 ? "ensemble_" : "",
                     calibration.lead_times > 0 ? "rollout_" : "", name.empty() ? "" : "/", name);
}

[[noreturn]] void refuse(const ConformalCalibration& calibration, const std::string& path,
                         const std::string& why) {
  fail_input(errors::damaged, "{}: {}: {}; write it again by `mylos calibrate`", path, path_of(calibration),
             why);
}

void require_valid(const ConformalCalibration& calibration, const std::string& path) {
  const double coverage = calibration.coverage;
  if (!(coverage > 0 && coverage < 1))
    refuse(calibration, path, fmt::format("coverage is {}, not between 0 and 1", coverage));
  const std::int64_t needed = min_calibration_samples(coverage);
  if (calibration.samples < needed) {
    refuse(
        calibration, path,
        fmt::format("coverage {} of {} samples, where it needs {}", coverage, calibration.samples, needed));
  }
  for (const double quantile : calibration.quantiles) {
    if (std::isfinite(quantile) && quantile >= 0) continue;
    refuse(calibration, path, fmt::format("quantiles has {}, which is no width", quantile));
  }
}

}  // namespace

std::string_view name_of(ConformalScore score) {
  return score == ConformalScore::scaled ? "scaled" : "absolute";
}

void ConformalCalibration::bounds(std::span<const float> means, std::span<const float> deviations,
                                  std::span<float> lower, std::span<float> upper) const {
  for (std::size_t i = 0; i < means.size(); ++i) {
    const double mean = means[i];
    const double half = half_width(i, deviations.empty() ? 0.0 : deviations[i]);
    lower[i] = static_cast<float>(mean - half);
    upper[i] = static_cast<float>(mean + half);
  }
}

ConformalCalibration ConformalCalibration::at_lead_time(std::int64_t step) const {
  ConformalCalibration one = *this;
  const auto channels = std::ssize(quantiles) / lead_times;
  const auto first = quantiles.begin() + (step - 1) * channels;
  one.quantiles.assign(first, first + channels);
  one.lead_times = 0;
  return one;
}

std::int64_t quantile_rank(std::int64_t samples, double coverage) {
  // The coverage is off its decimal number by half an epsilon at most, and the product by another half.
  constexpr double rounding = 2 * std::numeric_limits<double>::epsilon();
  const double product = (static_cast<double>(samples) + 1) * coverage;
  return static_cast<std::int64_t>(std::ceil(product * (1 - rounding)));
}

std::int64_t min_calibration_samples(double coverage) {
  const double least = coverage / (1 - coverage);
  // 1 - coverage has lost digits: begin a little below.
  auto samples = static_cast<std::int64_t>(std::max(1.0, std::floor(least * (1 - 1e-9)) - 1));
  while (quantile_rank(samples, coverage) > samples) ++samples;
  return samples;
}

void add_calibration(CheckpointState& state, ConformalCalibration& calibration) {
  const auto path = [&](const char* name) { return path_of(calibration, name); };
  state.add_scalar(path("coverage"), calibration.coverage);
  state.add_scalar(path("samples"), calibration.samples);
  if (calibration.members > 1) state.add_scalar(path("members"), calibration.members);
  std::vector<std::int64_t> dims{std::ssize(calibration.quantiles)};
  if (calibration.lead_times > 0) dims = {calibration.lead_times, dims.front() / calibration.lead_times};
  state.add_host(path("quantiles"), calibration.quantiles.data(), dims);
  state.add_text(path("split"), calibration.split);
  state.add_text(path("score"), std::string(name_of(calibration.score)));
}

std::optional<ConformalCalibration> read_calibration(const CheckpointReader& reader, Calibrated of) {
  ConformalCalibration calibration;
  const bool is_of_rollouts = of == Calibrated::rollouts || of == Calibrated::ensemble_rollouts;
  const bool is_of_ensemble = of == Calibrated::ensemble_predictions || of == Calibrated::ensemble_rollouts;
  calibration.lead_times = is_of_rollouts ? 1 : 0;
  calibration.members = is_of_ensemble ? 2 : 1;
  if (!reader.exists(path_of(calibration))) return std::nullopt;
  const std::string path = path_of(calibration, "quantiles");
  if (reader.exists(path)) {
    const bool has_lead_times = is_of_rollouts && reader.dims(path).size() == 2;
    std::int64_t count = 0;
    if (has_lead_times) {
      const std::vector<std::int64_t> dims = reader.dims(path);
      if (dims.front() < 1 || dims.back() < 1)
        refuse(calibration, reader.path(), fmt::format("[{}, {}] quantiles", dims.front(), dims.back()));
      calibration.lead_times = dims.front();
      count = checked_product(dims.front(), dims.back(), path.c_str());
    } else {
      count = reader.length(path);
    }
    calibration.quantiles.resize(static_cast<std::size_t>(count));
  }
  CheckpointState state;
  add_calibration(state, calibration);
  reader.read(state);
  if (is_of_ensemble && calibration.members < 2) {
    fail_input(errors::damaged, "{}: {} is of {} networks, no ensemble; write it again by `mylos calibrate`",
               reader.path(), path, calibration.members);
  }
  calibration.split = std::move(state.texts.front().text);
  const std::string& score = state.texts.back().text;
  if (score == name_of(ConformalScore::scaled)) {
    calibration.score = ConformalScore::scaled;
  } else if (score != name_of(ConformalScore::absolute)) {
    refuse(calibration, reader.path(),
           fmt::format("score is \"{}\", not \"absolute\" or \"scaled\"", printable(score)));
  }
  require_valid(calibration, reader.path());
  return calibration;
}

void require_calibration_fits(const ConformalCalibration& calibration, const TargetShape& shape,
                              const std::string& path) {
  const auto count = std::ssize(calibration.quantiles) / std::max<std::int64_t>(1, calibration.lead_times);
  if (count != shape.channels) {
    refuse(calibration, path,
           fmt::format("{} quantiles, where the network has {} {}", count, shape.channels,
                       shape.channels == 1 ? "target" : "targets or channels"));
  }
  if (calibration.score == ConformalScore::scaled && !shape.has_deviations) {
    refuse(calibration, path,
           "its scores are scaled by a predicted standard deviation, and the network "
           "predicts none");
  }
}

}  // namespace mylos
