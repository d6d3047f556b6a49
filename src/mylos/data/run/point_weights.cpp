#include "mylos/data/run/point_weights.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/comm/ranks/values_of_ranks.hpp"
#include "mylos/data/arrays/coordinates.hpp"
#include "mylos/data/arrays/layout/axes.hpp"
#include "mylos/data/arrays/numbers/conversion_attributes.hpp"
#include "mylos/data/arrays/numbers/number_conversion.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

/// Returns "areas.h5: array /area[3, 0] (stored indices, counted from 0)".
std::string location_of_value(const std::string& where, const std::vector<std::int64_t>& dims,
                              std::size_t at) {
  std::vector<std::int64_t> indices(dims.size());
  auto rest = static_cast<std::int64_t>(at);
  for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) indices[d] = rest % dims[d];
  return fmt::format("{}[{}] (stored indices, counted from 0)", where, fmt::join(indices, ", "));
}

void require_valid(const std::string& where, const std::vector<std::int64_t>& dims,
                   const std::vector<float>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += static_cast<double>(values[i]);
    if (std::isfinite(values[i]) && values[i] >= 0) continue;
    fail_input(
        std::isfinite(values[i]) ? errors::bad_value : errors::not_finite,
        "data.weights: {} is {}, expected a weight of at least 0; 0 is that of points that do not count",
        location_of_value(where, dims, i), values[i]);
  }
  if (sum > 0) return;
  fail_input(errors::bad_value, "data.weights: all {} numbers of {} are 0: no point would count",
             values.size(), where);
}

/// Puts the weights into the order of points, where data.arrays.axes has their axes.
void order_as_grid(const ArrayOptions& arrays, const std::string& array, PointWeights& weights) {
  const auto named = std::ranges::find(arrays.axes_of, array, &ArrayAxes::array);
  if (named == arrays.axes_of.end() || std::ranges::find(arrays.inputs, array) != arrays.inputs.end() ||
      std::ranges::find(arrays.targets, array) != arrays.targets.end())
    return;
  const std::vector<std::string> grid = grid_axes_of(arrays);
  if (!std::ranges::is_permutation(named->axes, grid)) return;  // a constant with channels
  const std::vector<std::int64_t> stored = weights.extents;
  if (named->axes.size() != stored.size()) {
    fail_input(errors::bad_dataset,
               "data.weights: {} has {} dimensions [{}], data.arrays.axes has {}: \"{}\"", weights.source,
               stored.size(), fmt::join(stored, ", "), named->axes.size(), fmt::join(named->axes, " "));
  }
  std::vector<std::size_t> from;  // the stored axis of each of the grid's
  for (const std::string& axis : grid)
    from.push_back(static_cast<std::size_t>(std::ranges::find(named->axes, axis) - named->axes.begin()));
  std::vector<std::int64_t> strides(stored.size(), 1);
  for (std::size_t i = stored.size(); i-- > 1;) strides[i - 1] = strides[i] * stored[i];
  for (std::size_t i = 0; i < from.size(); ++i) weights.extents[i] = stored[from[i]];
  const std::vector<float> values = weights.values;
  for (std::size_t to = 0; to < values.size(); ++to) {
    auto rest = static_cast<std::int64_t>(to);
    std::int64_t offset = 0;
    for (std::size_t i = from.size(); i-- > 0; rest /= weights.extents[i])
      offset += rest % weights.extents[i] * strides[from[i]];
    weights.values[to] = values[static_cast<std::size_t>(offset)];
  }
}

/// Throws if the array of weights states other coordinates than the grid of the training data.
void require_same_places(const WeightOptions& options, const ArrayOptions& arrays, const GridAxes& grid,
                         const std::string& source) {
  const hdf5::File file = hdf5::File::open(options.file);
  const hdf5::Array array(file, options.array);
  const std::vector<std::int64_t>& dims = array.facts().dims;
  const std::vector<std::string> scales = array.scales();
  const auto named = std::ranges::find(arrays.axes_of, options.array, &ArrayAxes::array);
  for (std::size_t i = 0; i < grid.size() && dims.size() == grid.size(); ++i) {
    std::size_t at = i;  // the stored axis
    if (named != arrays.axes_of.end())
      at = static_cast<std::size_t>(std::ranges::find(named->axes, grid[i].name) - named->axes.begin());
    if (at >= dims.size() || scales[at].empty()) continue;
    const GridAxis stated =
        stated_axis(file, scales[at], {.name = grid[i].name, .extent = dims[at], .count = dims[at]});
    require_same_axes({grid[i]}, source, {stated}, fmt::format("{}: array {}", options.file, options.array));
  }
}

std::string digest_of(const PointWeights* weights) {
  if (weights == nullptr) return "none";
  return fmt::format("[{}] numbers of digest {:08x}", fmt::join(weights->extents, ", "),
                     crc32_of(weights->values.data(), weights->values.size() * sizeof(float)));
}

void require_points(const PointWeights& weights, std::int64_t points) {
  if (static_cast<std::int64_t>(weights.values.size()) == points) return;
  fail_input(
      errors::data_mismatch,
      "data.weights: {} has the shape [{}], {} numbers, but the grid has {} points; give one number per "
      "point",
      weights.source, fmt::join(weights.extents, ", "), weights.values.size(), points);
}

std::shared_ptr<const PointWeights> weights_by_latitude(const DataDescription& data) {
  const SampleMeaning meaning = data.meaning();
  const GridAxes axes = of_grid(meaning.axes);
  const std::optional<std::size_t> latitude = latitude_axis(axes);
  if (!latitude) {
    std::vector<std::string> found;
    for (const GridAxis& axis : axes)
      found.push_back(fmt::format("{} ({})", axis.name, axis.units.empty() ? "no units" : axis.units));
    fail_input(
        errors::data_mismatch,
        "data.weights.latitude: no axis of the grid in {} has coordinates in degrees_north; found {}. "
        "Coordinates are dimension scales of the files, and data.arrays.coordinates = \"ignore\" leaves "
        "them out",
        data.path(), found.empty() ? "none" : fmt::format("{}", fmt::join(found, ", ")));
  }
  PointWeights weights{fmt::format("{}: latitudes of axis {}", data.path(), axes[*latitude].name), {}, {}};
  std::size_t points = 1;
  std::size_t stride = 1;  // of the axis
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto extent = static_cast<std::size_t>(meaning.grid[i]);
    weights.extents.push_back(meaning.grid[i]);
    points *= extent;
    if (i > *latitude) stride *= extent;
  }
  const std::vector<double>& degrees = axes[*latitude].values;
  double sum = 0;
  for (std::size_t point = 0; point < points; ++point) {
    const double angle = degrees[point / stride % degrees.size()] * std::numbers::pi / 180;
    weights.values.push_back(static_cast<float>(std::max(0.0, std::cos(angle))));
    sum += static_cast<double>(weights.values.back());
  }
  for (float& value : weights.values)
    value = static_cast<float>(static_cast<double>(value) * static_cast<double>(points) / sum);
  return std::make_shared<const PointWeights>(std::move(weights));
}

/// Returns the weight of each channel of the targets; empty if all have the same.
std::vector<float> channel_weights(const WeightOptions& options, const std::vector<std::string>& arrays) {
  if (options.variables.empty()) return {};
  std::vector<float> weights;
  for (const std::string& array : arrays) {
    const auto named = std::ranges::find(options.variables, array, &VariableWeight::array);
    weights.push_back(named == options.variables.end() ? 1.0f : static_cast<float>(named->weight));
  }
  return weights;
}

}  // namespace

std::shared_ptr<const PointWeights> read_point_weights(const DataOptions& data, std::int64_t max_points) {
  const WeightOptions& options = data.weights;
  if (!options.given()) return nullptr;
  const hdf5::File file = hdf5::File::open(options.file);
  const hdf5::Array array(file, options.array);
  const std::vector<std::int64_t>& dims = array.facts().dims;
  const std::string where = fmt::format("{}: array {}", options.file, array.path());
  std::int64_t count = 1;
  for (const std::int64_t extent : dims) {
    if (extent > 0 && count <= max_points / extent) {
      count *= extent;
      continue;
    }
    fail_input(
        errors::data_mismatch,
        "data.weights: {} has the shape [{}], but a sample has {} targets; give one number per point of "
        "the grid",
        where, fmt::join(dims, ", "), max_points);
  }
  const NumberConversion conversion = conversion_of(array.facts(), array.attributes(), std::nullopt, where);
  std::vector<std::byte> stored(static_cast<std::size_t>(count * size_of(conversion.type)));
  array.read({std::vector<std::int64_t>(dims.size(), 0), std::vector<std::int64_t>(dims.size(), 1), dims},
             stored.data());
  auto weights = std::make_shared<PointWeights>(
      PointWeights{where, dims, std::vector<float>(static_cast<std::size_t>(count))});
  std::vector<float>& values = weights->values;
  static_cast<void>(convert_numbers(conversion, {{count, 1, 1}}, stored.data(), values.data()));
  require_valid(where, dims, values);
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(count);
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) / mean);
  order_as_grid(data.arrays, options.array, *weights);
  return weights;
}

std::shared_ptr<const PointWeights> point_weights_of(const Options& options, const DataDescription& data) {
  std::shared_ptr<const PointWeights> of_points =
      options.data.weights.latitude ? weights_by_latitude(data)
                                    : read_point_weights(options.data, options.model.outputs);
  if (options.data.weights.given())
    require_same_places(options.data.weights, options.data.arrays, of_grid(data.meaning().axes), data.path());
  const std::vector<std::uint8_t> mask = data.mask().targets;
  const std::vector<float> of_channels = channel_weights(options.data.weights, data.target_arrays());
  if (mask.empty() && of_channels.empty()) return of_points;
  if (!is_of_numbers(options.model.prediction())) {
    fail_input(
        errors::keys_conflict,
        "data.arrays.mask: model.loss = \"{}\" counts all targets; use a loss of numbers, such as \"mse\"",
        name_of(options.model.loss));
  }
  const std::int64_t points = data.rollout()->points;  // masks and variables are of arrays
  PointWeights all{of_points      ? of_points->source
                   : mask.empty() ? "data.weights.variables"
                                  : "data.arrays.mask",
                   {},
                   {},
                   options.model.outputs / points};
  if (of_points) require_points(*of_points, points);
  if (!options.model.shape.empty())
    all.extents.assign(options.model.shape.begin(), options.model.shape.end() - 1);
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.model.outputs); ++i) {
    float weight = of_points ? of_points->of(i, all.channels) : 1.0f;
    if (!of_channels.empty()) weight *= of_channels[i % of_channels.size()];
    if (!mask.empty() && mask[i] == 0) weight = 0;
    all.values.push_back(weight);
    sum += static_cast<double>(weight);
  }
  if (!(sum > 0)) {
    fail_input(errors::bad_value,
               "{}: no number of the outputs counts: the mask and the weights share no point", all.source);
  }
  const double factor = static_cast<double>(options.model.outputs) / sum;
  for (float& value : all.values) value = static_cast<float>(static_cast<double>(value) * factor);
  return std::make_shared<const PointWeights>(std::move(all));
}

void require_agreed(const std::shared_ptr<const PointWeights>& weights, RankGroup& ranks) {
  const auto seen = values_of_ranks(ranks, digest_of(weights.get()));
  if (seen.size() < 2) return;
  fail_input(errors::ranks_disagree,
             "data.weights is not the same array for all ranks: {}; all must see the same", describe(seen));
}

void require_same_weights(const std::string& path, const std::shared_ptr<const PointWeights>& before,
                          const std::shared_ptr<const PointWeights>& now) {
  const bool are_same = before && now ? before->values == now->values : before == now;
  if (are_same) return;
  fail_input(errors::restart_mismatch,
             "{} was trained with {}, the deck gives {}; a restart needs the same weights of points "
             "(data.weights)",
             path, before ? "the weights " + digest_of(before.get()) : "equal weights of all points",
             now ? fmt::format("{}, {}", now->source, digest_of(now.get())) : "none");
}

}  // namespace mylos
