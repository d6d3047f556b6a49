// [data.weights].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

Condition with_losses_of_numbers() {
  std::vector<std::string> losses = losses_of(Prediction::numbers);
  for (const Prediction prediction : {Prediction::distributions, Prediction::quantiles})
    for (std::string& loss : losses_of(prediction)) losses.push_back(std::move(loss));
  return {"losses of targets (model.loss = " + alternatives(losses) + ")",
          {"model.loss"},
          [](const Options& options) {
            return options.model.type != ModelType::gpt && is_of_numbers(options.model.prediction());
          }};
}

/// Weights by array: { "/sst" = 2 }.
void fill_variables(Key& key) {
  constexpr NumberRange range{0, false, 1e6, true};
  key.has_entries = true;
  key.default_text = "none";
  key.read = [read = number_type(range).read](Options& options, const Value& value) -> Found {
    const auto* table = std::get_if<Value::Table>(&value.held);
    if (table == nullptr) return describe(value);
    std::vector<VariableWeight>& variables = options.data.weights.variables;
    for (const NamedValue& entry : *table) {
      VariableWeight weight{entry.name};
      if (read(weight.weight, entry.value) || !is_path(entry.name))
        return fmt::format("{} for '{}'", describe(entry.value), printable(entry.name));
      std::erase_if(variables, [&](const VariableWeight& other) { return other.array == entry.name; });
      variables.push_back(std::move(weight));
    }
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    Value::Table table;
    for (const VariableWeight& each : options.data.weights.variables)
      table.push_back({each.array, {each.weight}});
    if (table.empty()) return std::nullopt;
    return Value{std::move(table)};
  };
  key.clear = [](Options& options) { options.data.weights.variables.clear(); };
}

}  // namespace

void add_weight_keys(Schema& schema) {
  Keys keys(
      schema, "data.weights",
      "Weights of the grid's points in the loss, in the metrics relative_l2, relative_h1, crps and rolloutN, "
      "and in the errors of rollouts: cell areas, weights by latitude, or a mask of 1 and 0, whose points of "
      "weight 0 do not count, in calibrations neither. The array has one number for each point of the grid "
      "of the network's outputs, at least 0, in the grid's order of axes or in the one that "
      "data.arrays.axes gives for it. The numbers are divided by their mean. Checkpoints hold them, and a "
      "restart with others is refused.",
      [](auto& options) -> auto& { return options.data.weights; });
  keys.text("file", &WeightOptions::file, is_path, "path (1 to 4096 bytes, no control characters)",
            "HDF5 or NetCDF-4 file; it may be one of data.train. The path is relative to the working "
            "directory.");
  keys.text("array", &WeightOptions::array, is_path, "path of an array", "The array, as a path in the file.");
  keys.boolean(
      "latitude", &WeightOptions::latitude,
      "Weighs the points by the cosine of their latitude: the coordinates, in degrees_north, of an axis "
      "of the grid in the files of data.train. Not with data.weights.file.");
  fill_variables(keys.add("variables", "table from path of an array to number above 0 and at most 1e6", "",
                          "Weights of targets of data.arrays: { \"/sst\" = 2 }; the others have the weight "
                          "1. They act with those "
                          "of points, after data.normalize."));
  keys.only_with(with_losses_of_numbers());
  keys.only_with({"latitude", "variables"}, with_given("data.arrays.inputs"));
  keys.only_with({"array"}, with_given("data.weights.file"));
}

}  // namespace mylos
