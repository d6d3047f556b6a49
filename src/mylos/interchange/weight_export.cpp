#include "mylos/interchange/weight_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/io/safetensors/safetensors.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/model/chain/grid_layers.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/parameters/channels_first.hpp"
#include "mylos/train/start/run_state.hpp"

namespace mylos {
namespace {

/// "hidden1/weight" -> "hidden1.weight".
std::string name_in_tensors(const std::string& name) {
  std::string result = name;
  if (const auto slash = result.rfind('/'); slash != std::string::npos) result[slash] = '.';
  return result;
}

using Layouts = std::map<std::string, ChannelsFirst>;

/// The layout of the file's tensors. Without a value the grid of the layers is unknown, and the parameters
/// keep their layout.
struct ExportLayout {
  std::optional<Layouts> parameters;  // those whose layout differs
  ChannelsFirst inputs, targets;      // of a sample; no dims: no grid
};

std::int64_t rows_of(const WeightFile& file, const std::string& parameter) {
  for (const WeightEntry& entry : file.entries()) {
    if (entry.name == parameter && entry.dims.size() == 2) return entry.dims[0];
  }
  return 0;
}

/// Returns the targets of a network whose last layer this is.
std::int64_t targets_of(const WeightFile& file, const ModelOptions& model, const std::string& last) {
  return rows_of(file, last + "/weight") / outputs_per_target(model.loss);
}

/// Returns the last extents of a grid of the network, one per axis of its samples, followed by the channels.
std::vector<std::int64_t> shape_of(const GridShape& grid, std::size_t axes) {
  std::vector<std::int64_t> shape(grid.extent.end() - static_cast<std::ptrdiff_t>(axes), grid.extent.end());
  shape.push_back(grid.channels);
  return shape;
}

ExportLayout layout_of(const WeightFile& file) {
  ExportLayout layout{Layouts{}, {}, {}};
  if (file.deck().empty()) return {};
  Options options = read_stored_deck(file.deck(), file.path()).options;
  ModelOptions& model = options.model;
  if (model.type == ModelType::gpt) return layout;  // no grid
  const bool says_grid = model.shape.empty() && file.checkpoint() != nullptr;
  if (says_grid) model.shape = stored_samples(*file.checkpoint()).grid;
  if (model.shape.size() < 2) {
    return needs_grid(model) ? ExportLayout{} : layout;
  }
  layout.inputs = channels_first_sample(model.shape);
  model.inputs = layout.inputs.row();
  std::string last = "head";
  if (model.type == ModelType::chain) {
    const std::size_t index = model.chain.size() - 1;
    const std::int64_t copies = model.chain[index].repeat;
    last = layer_name(model.chain, index);
    if (copies > 1) last += fmt::format(".{}", copies);
    model.outputs = 0;  // the last layer's outputs, unless they are the data's
    if (takes_outputs_of_data(model.chain, index)) model.outputs = targets_of(file, model, last);
  } else {
    model.outputs = targets_of(file, model, last);
  }
  for (LossTerm& term : model.terms) term.variables.clear();  // the data have the names
  model.nonnegative.clear();                                  // likewise
  const Chain chain = make_chain(model, options.precision, options.run.seed, false);
  layout.parameters = channels_first_parameters(model, chain);
  if (!chain.grids.empty() && chain.grids.back().points() > 1)
    layout.targets = channels_first_sample(shape_of(chain.output_grid(), model.shape.size() - 1));
  return layout;
}

const ChannelsFirst* find(const ExportLayout& layout, const WeightEntry& entry) {
  if (!layout.parameters) return nullptr;
  const auto found = layout.parameters->find(entry.name);
  return found == layout.parameters->end() ? nullptr : &found->second;
}

void require_memory_for_one(const WeightFile& file, std::int64_t copies) {
  std::int64_t largest = 0;
  for (const WeightEntry& entry : file.entries()) largest = std::max(largest, entry.size());
  const std::int64_t bytes = largest * static_cast<std::int64_t>(sizeof(float)) * copies;
  if (bytes <= available_host_memory()) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("{}: its largest tensor takes {}, {} are available", file.path(),
                          format_bytes(bytes), format_bytes(available_host_memory())));
}

/// Calls `use` with each tensor and all of its numbers.
void for_each_tensor(WeightFile& file,
                     const std::function<void(const WeightEntry&, const std::vector<float>&)>& use) {
  constexpr std::int64_t piece = std::int64_t{1} << 20;  // elements
  for (const WeightEntry& entry : file.entries()) {
    file.require_readable(entry);
    std::vector<float> values(static_cast<std::size_t>(entry.size()));
    for (std::int64_t first = 0; first < entry.size(); first += piece) {
      const auto count = static_cast<std::size_t>(std::min(piece, entry.size() - first));
      file.read(entry, first, std::span(values).subspan(static_cast<std::size_t>(first), count));
    }
    use(entry, values);
  }
}

/// One of the normalisation's vectors, as a tensor.
struct Statistics {
  safetensors::NamedShape tensor;
  std::vector<double> values;
};

void add_statistics(std::vector<Statistics>& all, const std::string& of, const ColumnScaling& scaling,
                    const ChannelsFirst& sample) {
  for (const auto& [name, values] :
       {std::pair{"shift", &scaling.shift}, std::pair{"scale", &scaling.scale}}) {
    Statistics one{{WeightMetadata::statistics + of + "." + name, {}, DType::fp64}, *values};
    const auto columns = static_cast<std::int64_t>(values->size());
    one.tensor.shape = {columns};
    if (!sample.dims.empty() && sample.row() == columns) {
      one.tensor.shape = sample.dims;
      to_channels_first(sample, std::span<const double>(*values), std::span<double>(one.values));
    }
    all.push_back(std::move(one));
  }
}

std::vector<Statistics> statistics_of(const Normalizer& normalizer, const ExportLayout& layout) {
  std::vector<Statistics> all;
  const bool differs = layout.parameters.has_value();
  if (!normalizer.inputs.identity())
    add_statistics(all, "inputs", normalizer.inputs, differs ? layout.inputs : ChannelsFirst{});
  if (!normalizer.targets.identity())
    add_statistics(all, "targets", normalizer.targets, differs ? layout.targets : ChannelsFirst{});
  return all;
}

std::string describe(const Normalizer& normalizer) {
  std::string text;
  if (!normalizer.inputs.identity())
    text += "inputs: (x - normalization.inputs.shift) * normalization.inputs.scale";
  if (!normalizer.targets.identity()) {
    text += text.empty() ? "" : "; ";
    text += "targets: output / normalization.targets.scale + normalization.targets.shift";
  }
  return text.empty() ? "none" : text;
}

std::map<std::string, std::string> metadata_of(const WeightFile& file, const ExportLayout& layout,
                                               const Normalizer& normalizer) {
  std::map<std::string, std::string> metadata{{WeightMetadata::deck, file.deck()},
                                              {WeightMetadata::normalization, describe(normalizer)},
                                              {WeightMetadata::layout, WeightMetadata::channels_last}};
  if (file.checkpoint() != nullptr)
    metadata[WeightMetadata::step] = fmt::format("{}", file.checkpoint()->header().step);
  if (!layout.parameters) return metadata;
  metadata[WeightMetadata::layout] = WeightMetadata::channels_first;
  metadata["format"] = "pt";  // PyTorch's readers require it
  return metadata;
}

}  // namespace

ConversionSafety weights_safety(WeightFile& file) {
  ConversionSafety sum;
  require_memory_for_one(file, 1);
  for_each_tensor(file, [&](const WeightEntry&, const std::vector<float>& values) {
    sum += conversion_safety(std::span<const float>(values));
  });
  return sum;
}

ExportedWeights write_weights(WeightFile& file, const std::string& path, DType type) {
  const ExportLayout layout = layout_of(file);
  const bool moves = layout.parameters && !layout.parameters->empty();
  require_memory_for_one(file, moves ? 2 : 1);
  const Normalizer normalizer =
      file.checkpoint() != nullptr ? read_stored_data(*file.checkpoint()).normalizer : Normalizer{};
  const std::vector<Statistics> statistics = statistics_of(normalizer, layout);
  std::vector<safetensors::NamedShape> shapes;
  for (const WeightEntry& entry : file.entries()) {
    const ChannelsFirst* there = find(layout, entry);
    shapes.push_back({name_in_tensors(entry.name), there == nullptr ? entry.dims : there->dims});
  }
  for (const Statistics& one : statistics) shapes.push_back(one.tensor);
  safetensors::Writer writer(path, type, std::move(shapes), metadata_of(file, layout, normalizer));
  for_each_tensor(file, [&](const WeightEntry& entry, const std::vector<float>& values) {
    const ChannelsFirst* there = find(layout, entry);
    if (there == nullptr) return writer.write(values);
    std::vector<float> moved(values.size());
    to_channels_first(*there, std::span<const float>(values), std::span<float>(moved));
    writer.write(moved);
  });
  for (const Statistics& one : statistics) writer.write_doubles(one.values);
  writer.close();
  return {layout.parameters.has_value(), static_cast<std::int64_t>(statistics.size())};
}

}  // namespace mylos
