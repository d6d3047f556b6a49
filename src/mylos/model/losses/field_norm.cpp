#include "mylos/model/losses/field_norm.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

std::vector<std::int64_t> without_ones(std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> result;
  std::copy_if(extents.begin(), extents.end(), std::back_inserter(result),
               [](std::int64_t extent) { return extent != 1; });
  return result;
}

void require_shape(const PointWeights& weights, const GridShape& grid, std::size_t axes) {
  const std::span<const std::int64_t> extents = std::span(grid.extent).last(axes);
  const auto count = static_cast<std::int64_t>(weights.values.size());
  const bool has_channels = weights.channels == 1 || weights.channels == grid.channels;
  if (has_channels && count == grid.points() * weights.channels &&
      without_ones(weights.extents) == without_ones(extents))
    return;
  fail_input(errors::data_mismatch,
             "{} has the shape [{}], but the network's outputs lie on [{}] points; one number per point is "
             "expected",
             weights.source, fmt::join(weights.extents, ", "), fmt::join(extents, ", "));
}

}  // namespace

std::vector<double> spectral_coefficients(std::int64_t n) {
  std::vector<double> c(static_cast<std::size_t>(n));
  for (std::int64_t k = 1; k < n; ++k) {
    if (2 * k == n) continue;  // the cotangent is 0
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    const double size = std::numbers::pi / (n % 2 == 0 ? std::tan(angle) : std::sin(angle));
    c[static_cast<std::size_t>(k)] = k % 2 == 0 ? size : -size;
  }
  return c;
}

FieldNorm::FieldNorm(const OutputField& field, bool has_derivatives)
    : grid_(field.grid),
      derivative_(field.derivative),
      per_channel_(field.per == LossPer::channel),
      has_weights_(field.weights != nullptr || field.share != 1),
      are_of_numbers_(field.weights != nullptr && field.weights->channels > 1),
      skips_missing_(field.skips_missing) {
  if (field.weights != nullptr) {
    require_shape(*field.weights, grid_, field.axes);
    constants_ = field.weights->values;
  } else if (has_weights_) {
    constants_.assign(static_cast<std::size_t>(grid_.points()), 1.0f);
  }
  if (field.share != 1) {
    for (float& weight : constants_) weight = static_cast<float>(field.share * static_cast<double>(weight));
  }
  if (!has_derivatives) return;
  const bool has_holes = std::find(constants_.begin(), constants_.end(), 0.0f) != constants_.end();
  if (derivative_ == Derivative::spectral && has_holes) {
    fail_input(
        errors::keys_conflict,
        "model.derivative = \"spectral\": a derivative reads all points of the grid, and {} has weights "
        "of 0, whose points do not count; use \"differences\" or \"one_sided\"",
        field.weights->source);
  }
  if (derivative_ == Derivative::spectral && skips_missing_) {
    fail_input(errors::keys_conflict,
               "model.derivative = \"spectral\": a derivative reads all points of the grid, and targets may "
               "be missing (data.arrays.missing); use \"differences\" or \"one_sided\"");
  }
  add_axes(field.axes);
  if (has_weights_) add_slope_weights();
  if (derivative_ == Derivative::spectral) add_tables();
}

void FieldNorm::add_axes(std::size_t axes) {
  std::int64_t stride = grid_.points();
  for (std::size_t a = grid_.extent.size() - axes; a < grid_.extent.size(); ++a) {
    stride /= grid_.extent[a];
    axis_[axes_++] = {.extent = grid_.extent[a], .stride = stride};
    if (derivative_ != Derivative::one_sided || grid_.extent[a] >= one_sided_points) continue;
    fail_input(errors::keys_conflict,
               "model.derivative = \"one_sided\" reads {} points at the ends of an axis, and an axis of the "
               "network's outputs has {}; use \"differences\"",
               one_sided_points, grid_.extent[a]);
  }
}

void FieldNorm::add_slope_weights() {
  const std::int64_t channels = are_of_numbers_ ? grid_.channels : 1;
  const std::int64_t numbers = grid_.points() * channels;
  constants_.reserve(static_cast<std::size_t>(numbers * (1 + axes_)));
  const auto counts = [this](std::int64_t at) { return constants_[static_cast<std::size_t>(at)] > 0; };
  for (int a = 0; a < axes_; ++a) {
    Axis& axis = axis_[a];
    axis.weights = constants_.size();
    const std::int64_t n = axis.extent;
    for (std::int64_t number = 0; number < numbers; ++number) {
      const std::int64_t i = number / channels / axis.stride % n;
      const auto at = [&](std::int64_t index) {
        return counts(number + (index - i) * axis.stride * channels);
      };
      bool is_known = true;
      if (derivative_ == Derivative::one_sided && (i == 0 || i == n - 1)) {
        for (std::int64_t k = 0; k < one_sided_points; ++k) is_known = is_known && at(i == 0 ? k : n - 1 - k);
      } else if (derivative_ != Derivative::spectral) {
        is_known = at((i + 1) % n) && at((i + n - 1) % n);
      }
      constants_.push_back(is_known ? constants_[static_cast<std::size_t>(number)] : 0.0f);
    }
  }
}

void FieldNorm::add_tables() {
  for (int a = 0; a < axes_; ++a) {
    Axis& axis = axis_[a];
    axis.table = constants_.size();
    const std::vector<double> c = spectral_coefficients(axis.extent);
    for (std::int64_t k = 1 - axis.extent; k < axis.extent; ++k)
      constants_.push_back(static_cast<float>(c[static_cast<std::size_t>((k + axis.extent) % axis.extent)]));
  }
}

std::int64_t FieldNorm::workspace_numbers(std::int64_t rows) const {
  return axes_ == 0 ? 0 : h1_numbers(rows, points(nullptr), axes_);
}

double FieldNorm::flops_of_derivatives() const {
  double flops = 0;
  for (int a = 0; a < axes_; ++a)
    flops += derivative_ == Derivative::spectral ? 6.0 * static_cast<double>(axis_[a].extent) + 4 : 13;
  return flops;
}

FieldWeights FieldNorm::weights_at(const float* constants, std::size_t offset) const {
  FieldWeights weights{.skips_missing = skips_missing_};
  if (has_weights_) (are_of_numbers_ ? weights.of_numbers : weights.of_points) = constants + offset;
  return weights;
}

FieldPoints FieldNorm::points(const float* constants) const {
  return {grid_.points(), grid_.channels, weights_at(constants, 0)};
}

FieldDerivatives FieldNorm::derivatives(const float* constants) const {
  FieldDerivatives result{.derivative = derivative_, .axes = axes_};
  for (int a = 0; a < axes_; ++a) {
    result.axis[a] = {.extent = axis_[a].extent,
                      .stride = axis_[a].stride,
                      .weights = weights_at(constants, axis_[a].weights),
                      .table = derivative_ == Derivative::spectral ? constants + axis_[a].table : nullptr};
  }
  return result;
}

}  // namespace mylos
