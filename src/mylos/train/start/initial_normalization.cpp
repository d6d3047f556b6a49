#include "mylos/train/start/initial_normalization.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/numbers/target_channels.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/model/parameters/channels_first.hpp"

namespace mylos {
namespace {

constexpr const char* key = "initial.normalization";

/// Returns a statistic of a safetensors file, channels last.
std::vector<double> numbers_of(WeightFile& file, const std::string& name) {
  const WeightFile::Doubles stored = file.statistic(name);
  const bool are_finite = std::all_of(stored.values.begin(), stored.values.end(),
                                      [](double value) { return std::isfinite(value); });
  if (!are_finite)
    fail_input(errors::bad_dataset, "{}: {}{} has a number that is not finite", file.path(),
               WeightMetadata::statistics, name);
  if (!file.is_channels_first() || stored.dims.size() < 2 || stored.values.empty()) return stored.values;
  const std::int64_t channels = stored.dims.front();
  const ChannelsFirst layout{{}, static_cast<std::int64_t>(stored.values.size()) / channels, channels};
  std::vector<double> values(stored.values.size());
  from_channels_first(layout, std::span<const double>(stored.values), std::span<double>(values));
  return values;
}

ColumnScaling scaling_of(WeightFile& file, const std::string& of) {
  ColumnScaling scaling{numbers_of(file, of + ".shift"), numbers_of(file, of + ".scale")};
  const bool has_no_inverse =
      of == "targets" && std::find(scaling.scale.begin(), scaling.scale.end(), 0.0) != scaling.scale.end();
  if (scaling.shift.size() == scaling.scale.size() && !has_no_inverse) return scaling;
  fail_input(errors::bad_dataset, "{}: {}{}.scale {}", file.path(), WeightMetadata::statistics, of,
             has_no_inverse ? "has a 0, by which outputs would be divided"
                            : "and .shift have different numbers of columns");
}

/// The inputs or the targets.
struct Side {
  const char* what;     // "inputs"
  const char* by_what;  // the layer that must be taken from the file
  bool is_taken;
  std::int64_t columns;
  std::int64_t channels;  // at each point of the samples' grid; 0: no grid
  const ColumnScaling& stored;
  const std::vector<std::string>& stored_names;
  const std::vector<std::string>& names;
  bool has_same_masks = true;
  bool has_same_differences = true;
};

/// Returns the scaling for `columns` columns; of another number, if every point of the grid has that of its
/// channel.
std::optional<ColumnScaling> for_columns(const ColumnScaling& scaling, std::int64_t columns,
                                         std::int64_t channels) {
  const auto count = static_cast<std::int64_t>(scaling.shift.size());
  if (count == columns) return scaling;
  if (channels == 0 || count == 0 || count % channels != 0 || columns % channels != 0) return std::nullopt;
  const auto period = static_cast<std::size_t>(channels);
  for (std::size_t i = period; i < scaling.shift.size(); ++i) {
    const std::size_t first = i % period;
    if (scaling.shift[i] != scaling.shift[first] || scaling.scale[i] != scaling.scale[first])
      return std::nullopt;
  }
  ColumnScaling result;
  for (std::size_t i = 0; i < static_cast<std::size_t>(columns); ++i) {
    result.shift.push_back(scaling.shift[i % period]);
    result.scale.push_back(scaling.scale[i % period]);
  }
  return result;
}

/// Returns why a side of which a layer is taken cannot keep its scaling; "" if it can, by `scaling`.
std::string obstacle(const Side& side, const StoredScaling& stored, Normalize here,
                     const std::optional<ColumnScaling>& scaling) {
  if (stored.method && *stored.method != here)
    return fmt::format("data.normalize is \"{}\" here and \"{}\" there", name_of(here),
                       name_of(*stored.method));
  if (side.stored.identity()) return "the file does not state it";
  if (!side.has_same_masks) return "data.arrays.mask leaves out other points here than there";
  if (!side.has_same_differences) return "other targets are differences here than there";
  if (!scaling)
    return fmt::format("the file scales {} columns, and this run has {}", side.stored.shift.size(),
                       side.columns);
  const bool both_named = !side.stored_names.empty() && !side.names.empty();
  if (!both_named || side.stored_names == side.names) return "";
  return fmt::format("they are {} here and {} there", list_of_names(side.names),
                     list_of_names(side.stored_names));
}

/// Returns whether a scaling of the targets moves the 0 of those that are at least 0.
bool moves_zero(const ColumnScaling& scaling, const ModelOptions& model) {
  if (model.nonnegative.empty()) return false;
  const std::vector<std::string>& names = model.target_names;
  const auto count = static_cast<std::int64_t>(names.size());
  for (const std::int64_t channel : channels_of_targets("model.nonnegative", model.nonnegative, names, count))
    for (auto i = static_cast<std::size_t>(channel); i < scaling.shift.size(); i += names.size())
      if (scaling.shift[i] != 0) return true;
  return false;
}

std::vector<Side> normalised_sides(const StoredScaling& stored, const Options& options,
                                   const SampleMeaning& here, const TakenEnds& taken) {
  const ModelOptions& model = options.model;
  if (options.data.normalize == Normalize::none || model.type == ModelType::gpt) return {};
  const std::int64_t channels = model.shape.empty() ? 0 : model.shape.back();
  const std::int64_t points = channels == 0 ? 1 : model.inputs / channels;
  std::vector<Side> sides{{"inputs", "the layer that reads them", taken.first, model.inputs, channels,
                           stored.inputs, stored.samples.input_names, here.input_names,
                           stored.samples.masks == here.masks}};
  if (!is_of_numbers(model.prediction())) return sides;
  const bool on_grid = channels > 0 && model.outputs % points == 0;
  sides.push_back({"targets", "the layer that computes them", taken.last, model.outputs,
                   on_grid ? model.outputs / points : 0, stored.targets, stored.samples.target_names,
                   here.target_names, true,
                   !stored.differences || *stored.differences == options.data.arrays.all_differences()});
  return sides;
}

}  // namespace

StoredScaling read_stored_scaling(RankGroup& ranks, WeightFile& file) {
  StoredScaling stored{.path = file.path()};
  if (const CheckpointReader* reader = file.checkpoint(); reader != nullptr) {
    run_on_all(ranks, [&] { stored.samples = stored_samples(*reader); });
    if (!reader->exists("/data/normalization")) return stored;
    Normalizer normalizer = read_stored_data(*reader).normalizer;
    stored.inputs = std::move(normalizer.inputs);
    stored.targets = std::move(normalizer.targets);
    return stored;
  }
  run_on_all(ranks, [&] {
    stored.inputs = scaling_of(file, "inputs");
    stored.targets = scaling_of(file, "targets");
  });
  return stored;
}

KeptScaling kept_scaling(const StoredScaling& stored, const Options& options, const SampleMeaning& here,
                         const TakenEnds& taken, const Places& places) {
  const InitialNormalization wanted = options.initial.normalization;
  const std::vector<Side> sides = normalised_sides(stored, options, here, taken);
  std::vector<std::string> kept;
  std::vector<std::string> computed;
  KeptScaling result;
  for (const Side& side : sides) {
    if (wanted == InitialNormalization::recompute) {
      computed.push_back(side.what);
      continue;
    }
    if (!side.is_taken) {
      computed.push_back(fmt::format("{} ({} is not taken from the file)", side.what, side.by_what));
      continue;
    }
    std::optional<ColumnScaling> scaling = for_columns(side.stored, side.columns, side.channels);
    const bool are_inputs = side.what == std::string_view("inputs");
    std::string problem = obstacle(side, stored, options.data.normalize, scaling);
    if (problem.empty() && !are_inputs && moves_zero(*scaling, options.model))
      problem = "the file shifts targets that 'model.nonnegative' has here";
    if (problem.empty()) {
      kept.emplace_back(side.what);
      (are_inputs ? result.given.inputs : result.given.targets) = std::move(scaling);
      continue;
    }
    if (wanted == InitialNormalization::keep) {
      fail_input(errors::model_mismatch,
                 "{}{}: {} = \"keep\", but the {} cannot keep their normalisation: {}. Set \"recompute\", or "
                 "leave the key out",
                 place_of(places, {key}), stored.path, key, side.what, problem);
    }
    computed.push_back(fmt::format("{} ({})", side.what, problem));
  }
  if (wanted == InitialNormalization::keep && kept.empty()) {
    fail_input(errors::key_without_effect,
               "{}{} = \"keep\": {} and {} give no normalisation that this run could keep; leave it out",
               place_of(places, {key}), key, stored.path, "this deck");
  }
  std::vector<std::string> parts;
  if (!kept.empty()) parts.push_back(fmt::format("{} kept from {}", fmt::join(kept, " and "), stored.path));
  if (!computed.empty())
    parts.push_back(fmt::format("{} computed from this run's data", fmt::join(computed, " and ")));
  if (!parts.empty()) result.line = fmt::format("normalisation: {}", fmt::join(parts, "; "));
  return result;
}

}  // namespace mylos
