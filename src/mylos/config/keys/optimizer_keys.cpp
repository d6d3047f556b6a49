// [optimizer].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/type_words.hpp"

namespace mylos {
namespace {

constexpr NumberRange fraction{0, true, 1, false};

/// Two numbers in two fields.
void add_betas(Key& key, const ValueType<std::vector<double>>& type) {
  key.read = [read = type.read](Options& options, const Value& value) -> Found {
    std::vector<double> betas;
    if (Found found = read(betas, value)) return found;
    options.optimizer.beta1 = betas[0];
    options.optimizer.beta2 = betas[1];
    return std::nullopt;
  };
  key.write = [write = type.write](const Options& options) {
    return write({options.optimizer.beta1, options.optimizer.beta2});
  };
}

void add_groups(Key& groups) {
  auto keys = tables_of(groups, [](auto& options) -> auto& { return options.optimizer.groups; },
                        {.mistake = [](const Options& options) -> Found {
                          const ParameterGroup& group = options.optimizer.groups.back();
                          const bool has_setting = group.lr_factor || group.weight_decay || group.frozen;
                          return has_setting ? std::nullopt : Found("a table that says nothing but 'match'");
                        }});
  keys.add("match", &ParameterGroup::match, patterns_type("name or list of names, '*' for any characters"),
           "The parameters, by name. Required.")
      .require();
  keys.number("lr_factor", &ParameterGroup::lr_factor, {0, false, 1000, true}, "",
              "Multiplies the learning rate.");
  keys.number("weight_decay", &ParameterGroup::weight_decay, {0, true, 1000, true}, "",
              "Replaces the optimizer's weight decay, also for vectors.");
  keys.boolean("frozen", &ParameterGroup::frozen,
               "The parameters are not updated, and their gradients are ignored.");
}

}  // namespace

void add_optimizer_keys(Schema& schema) {
  Keys keys(
      schema, "optimizer", "The optimizer that updates the master weights.",
      [](auto& options) -> auto& { return options.optimizer; });
  keys.choice(
      "type", &OptimizerOptions::type, words_of<OptimizerType>(optimizer_traits),
      "AdamW (decoupled decay), Adam, Lion (one moment; needs a third to a tenth of AdamW's learning rate "
      "and three to ten times its decay), Lamb (AdamW with each parameter's update scaled to lr times its "
      "norm, for large batches; its authors use epsilon = 1e-6), or gradient descent with momentum.");
  keys.number("lr", &OptimizerOptions::lr, {0, false, 1000, true}, "",
              "Learning rate, the peak of the learning-rate schedule.");
  const auto two =
      list_type(number_type(fraction), {.text = "list of 2 numbers " + fraction.text(), .min = 2, .max = 2});
  Key& betas = keys.add("betas", two.text, two.article,
                        "Decay rates of Adam's, AdamW's and Lamb's moments; of Lion's step and moment, for "
                        "which its authors use [0.9, 0.99].");
  add_betas(betas, two);
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
  add_groups(keys.add(
      "groups", "", "",
      "Settings for parameters by name, as printed by `mylos info`: `[[optimizer.groups]]`, `match "
      "= [\"embedding/*\", \"*/bias\"]`, as below. For each setting the last matching group that has "
      "it applies."));
  keys.only_with({"betas"}, with("optimizer.type", {"adamw", "adam", "lion", "lamb"}));
  keys.only_with({"epsilon"}, with("optimizer.type", {"adamw", "adam", "lamb"}));
  keys.only_with({"momentum", "nesterov"}, with("optimizer.type", {"sgd"}));
  keys.only_with({"nesterov"}, with_more_than_0("optimizer.momentum"));
}

}  // namespace mylos
