// [optimizer].
#include "keys.hpp"
#include "sections.hpp"

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
    if (const std::string left = fraction.lost_in_float(*number); !left.empty())
      return fmt::format("{} at place {}, which is {} in float", describe((*list)[i]), i + 1, left);
    (i == 0 ? options.optimizer.beta1 : options.optimizer.beta2) = *number;
  }
  return std::nullopt;
}

std::optional<Value> write_betas(const Options& options) {
  return Value{Value::List{{options.optimizer.beta1}, {options.optimizer.beta2}}};
}

}  // namespace

void add_optimizer_keys(Schema& schema) {
  Keys keys(
      schema, "optimizer", "How the master weights move.",
      [](auto& options) -> auto& { return options.optimizer; });
  keys.choice("type", &OptimizerOptions::type,
              Words<OptimizerType>{{"adamw", OptimizerType::adamw},
                                   {"adam", OptimizerType::adam},
                                   {"lion", OptimizerType::lion},
                                   {"sgd", OptimizerType::sgd}},
              "AdamW (decoupled decay), Adam, Lion (one moment; wants a third to a tenth of AdamW's learning "
              "rate and "
              "as much more decay), or gradient descent with momentum.");
  keys.number("lr", &OptimizerOptions::lr, {0, false, 1000, true}, "", "Learning rate, the schedule's peak.");
  Key& betas = keys.add(
      "betas", "list of 2 numbers " + fraction.text(), "a ",
      "Decay rates of Adam's and AdamW's moments; of Lion's step and moment, for which its authors take "
      "[0.9, 0.99].");
  betas.read = read_betas;
  betas.write = write_betas;
  keys.finish(betas);
  keys.number("epsilon", &OptimizerOptions::epsilon, {1e-30, true, 1, true}, "",
              "Added to the root of the second moment (Adam, AdamW).");
  keys.number("weight_decay", &OptimizerOptions::weight_decay, {0, true, 1000, true}, "",
              "On weight matrices only; biases and norms do not decay.");
  keys.number("momentum", &OptimizerOptions::momentum, fraction, "", "Of sgd.");
  keys.boolean("nesterov", &OptimizerOptions::nesterov,
               "sgd: a weight moves by what the momentum will be if the next gradient is the same.");
  keys.number("clip_norm", &OptimizerOptions::clip_norm, {0, true, 1e30, true}, "",
              "Largest norm of the whole unscaled gradient; a longer one is shortened to it. 0: off.");
  keys.choice(
      "shard", &OptimizerOptions::shard,
      Words<Shard>{{"none", Shard::none}, {"state", Shard::state}, {"gradients", Shard::gradients}},
      "What is cut over ranks, so that each holds and updates a slice: nothing, master weights and moments "
      "(ZeRO-1), or their gradients too (ZeRO-2): a rank then has all gradients of four buckets "
      "(communication.bucket) at a time, and one micro-batch in a step. The same weights bit for bit, in "
      "less memory. One rank holds all.");
}

}  // namespace mylos
