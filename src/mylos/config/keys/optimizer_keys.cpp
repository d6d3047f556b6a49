// [optimizer].
#include "mylos/base/numbers/nearest.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

constexpr NumberRange fraction{0, true, 1, false};

std::optional<std::string> read_betas(Options& options, const Value& value) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  if (list->size() != 2) return fmt::format("a list of {}", list->size());
  for (std::size_t i = 0; i < 2; ++i) {
    const auto number = number_in((*list)[i]);
    if (!number || !fraction.holds(*number))
      return fmt::format("{} at place {}", describe((*list)[i]), i + 1);
    if (const std::string left = fraction.out_of_range_in_float(*number); !left.empty())
      return fmt::format("{} at place {}, which is {} in float", describe((*list)[i]), i + 1, left);
    (i == 0 ? options.optimizer.beta1 : options.optimizer.beta2) = *number;
  }
  return std::nullopt;
}

std::optional<Value> write_betas(const Options& options) {
  return Value{Value::List{{options.optimizer.beta1}, {options.optimizer.beta2}}};
}

constexpr NumberRange factors{0, false, 1000, true};
constexpr NumberRange decays{0, true, 1000, true};

/// Reads a key of a group, or returns the error.
std::optional<std::string> read_group_key(ParameterGroup& group, const NamedValue& entry) {
  const std::string where = fmt::format(" for '{}'", printable(entry.name));
  if (entry.name == "match") {
    const auto found = read_patterns(group.match, entry.value);
    return found ? std::optional(*found + where) : std::nullopt;
  }
  if (entry.name == "frozen") {
    const auto* frozen = std::get_if<bool>(&entry.value.held);
    if (frozen == nullptr) return describe(entry.value) + where;
    group.frozen = *frozen;
    return std::nullopt;
  }
  const bool is_lr = entry.name == "lr_factor";
  if (!is_lr && entry.name != "weight_decay") {
    const auto near = nearest(entry.name, {"match", "lr_factor", "weight_decay", "frozen"}, 3);
    return fmt::format("a table with the unknown key '{}'{}", printable(entry.name),
                       near ? fmt::format(" (did you mean '{}'?)", *near) : "");
  }
  const NumberRange range = is_lr ? factors : decays;
  const auto number = number_in(entry.value);
  if (!number || !range.holds(*number))
    return fmt::format("{}{}, a number {}", describe(entry.value), where, range.text());
  if (const std::string left = range.out_of_range_in_float(*number); !left.empty())
    return fmt::format("{}{}, which is {} in float", describe(entry.value), where, left);
  (is_lr ? group.lr_factor : group.weight_decay) = *number;
  return std::nullopt;
}

std::optional<std::string> read_parameter_groups(Options& options, const Value& value) {
  const auto* list = std::get_if<Value::List>(&value.held);
  if (list == nullptr) return describe(value);
  for (const Value& element : *list) {
    const auto* table = std::get_if<Value::Table>(&element.held);
    if (table == nullptr) return describe(element) + " in the list";
    ParameterGroup group;
    for (const NamedValue& entry : *table) {
      if (auto found = read_group_key(group, entry)) return found;
    }
    if (group.match.empty()) return "a table without 'match'";
    if (!group.lr_factor && !group.weight_decay && !group.frozen)
      return "a table that says nothing but 'match'";
    options.optimizer.groups.push_back(std::move(group));
  }
  return std::nullopt;
}

std::optional<Value> write_parameter_groups(const Options& options) {
  if (options.optimizer.groups.empty()) return std::nullopt;
  Value::List list;
  for (const ParameterGroup& group : options.optimizer.groups) {
    Value::Table table{{"match", patterns_value(group.match)}};
    if (group.lr_factor) table.push_back({"lr_factor", {*group.lr_factor}});
    if (group.weight_decay) table.push_back({"weight_decay", {*group.weight_decay}});
    if (group.frozen) table.push_back({"frozen", {*group.frozen}});
    list.push_back({std::move(table)});
  }
  return Value{std::move(list)};
}

template <class OptimizerKeys>
void add_parameter_groups(OptimizerKeys& keys) {
  Key& key =
      keys.add("groups",
               "list of tables with `match` (a name or a list of names, '*' for any characters) and any of "
               "`lr_factor` "
               "(above 0 and at most 1000), `weight_decay` (from 0 to 1000) and `frozen` (true or false)",
               "a ",
               "Settings for parameters by name, as printed by `mylos info`: `[[optimizer.groups]]`, `match "
               "= [\"embedding/*\", \"*/bias\"]`. `lr_factor` multiplies the learning rate; `weight_decay` "
               "replaces the optimizer's, also for vectors; `frozen` parameters are not updated, and their "
               "gradients are ignored. For each setting the last matching group that has it applies.");
  key.is_table_list = true;
  key.read = read_parameter_groups;
  key.write = write_parameter_groups;
  key.clear = [](Options& options) { options.optimizer.groups.clear(); };
  key.default_text = "none";
}

}  // namespace

void add_optimizer_keys(Schema& schema) {
  Keys keys(
      schema, "optimizer", "The optimizer that updates the master weights.",
      [](auto& options) -> auto& { return options.optimizer; });
  keys.choice(
      "type", &OptimizerOptions::type,
      Words<OptimizerType>{{"adamw", OptimizerType::adamw},
                           {"adam", OptimizerType::adam},
                           {"lion", OptimizerType::lion},
                           {"lamb", OptimizerType::lamb},
                           {"sgd", OptimizerType::sgd}},
      "AdamW (decoupled decay), Adam, Lion (one moment; needs a third to a tenth of AdamW's learning rate "
      "and three to ten times its decay), Lamb (AdamW with each parameter's update scaled to lr times its "
      "norm, for large batches; its authors use epsilon = 1e-6), or gradient descent with momentum.");
  keys.number("lr", &OptimizerOptions::lr, {0, false, 1000, true}, "",
              "Learning rate, the peak of the learning-rate schedule.");
  Key& betas = keys.add("betas", "list of 2 numbers " + fraction.text(), "a ",
                        "Decay rates of Adam's, AdamW's and Lamb's moments; of Lion's step and moment, for "
                        "which its authors use [0.9, 0.99].");
  betas.read = read_betas;
  betas.write = write_betas;
  keys.finish(betas);
  keys.number("epsilon", &OptimizerOptions::epsilon, {1e-30, true, 1, true}, "",
              "Added to the root of the second moment (Adam, AdamW, Lamb).");
  keys.number("weight_decay", &OptimizerOptions::weight_decay, {0, true, 1000, true}, "",
              "Decay of weight matrices; biases and norms do not decay.");
  keys.number("momentum", &OptimizerOptions::momentum, fraction, "", "Of sgd.");
  keys.boolean(
      "nesterov", &OptimizerOptions::nesterov,
      "sgd: Nesterov momentum: updates use the momentum that follows if the next gradient is the same.");
  keys.number(
      "clip_norm", &OptimizerOptions::clip_norm, {0, true, 1e30, true}, "",
      "Maximum norm of the complete unscaled gradient; a larger gradient is scaled down to it. 0: off.");
  keys.choice("shard", &OptimizerOptions::shard,
              Words<Shard>{{"none", Shard::none}, {"state", Shard::state}, {"gradients", Shard::gradients}},
              "Sharding over ranks: each rank stores and updates a slice. state: of master weights and "
              "moments (ZeRO-1). gradients: also of their gradients (ZeRO-2); a rank then has the complete "
              "gradients of four buckets (communication.bucket) at a time and one micro-batch per step. The "
              "weights are bitwise the same, in less memory. A single rank stores everything.");
  keys.number("average", &OptimizerOptions::average, fraction, "",
              "Decay of an exponential moving average of the master weights, such as 0.999. A checkpoint "
              "stores the average with the weights; `mylos eval CKPT --average`, predict and sample use it "
              "instead of them. It takes the memory of one moment. 0: none.");
  add_parameter_groups(keys);
  keys.only_with({"betas"}, with("optimizer.type", {"adamw", "adam", "lion", "lamb"}));
  keys.only_with({"epsilon"}, with("optimizer.type", {"adamw", "adam", "lamb"}));
  keys.only_with({"momentum", "nesterov"}, with("optimizer.type", {"sgd"}));
  keys.only_with({"nesterov"}, with_more_than_0("optimizer.momentum"));
}

}  // namespace mylos
