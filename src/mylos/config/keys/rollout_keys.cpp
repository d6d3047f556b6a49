// [rollout].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_steps = 256;

/// Reads the weights, or returns a description of what is none.
Found read_weights(const Value::List& list, std::vector<double>& weights) {
  if (list.empty()) return Mismatch("an empty list");
  if (list.size() > static_cast<std::size_t>(max_steps)) return fmt::format("a list of {}", list.size());
  weights.clear();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::optional<double> weight = number_in(list[i]);
    const bool is_last = i + 1 == list.size();
    if (!weight || !(*weight >= 0) || *weight > 1e6 || (is_last && *weight == 0))
      return fmt::format("{} at place {}", describe(list[i]), i + 1);
    weights.push_back(*weight);
  }
  return std::nullopt;
}

Found read_loss(Options& options, const Value& value) {
  RolloutOptions& rollout = options.rollout;
  if (const auto* list = std::get_if<Value::List>(&value.held)) {
    std::vector<double> weights;
    if (auto found = read_weights(*list, weights)) return found;
    rollout.loss = RolloutLoss::weights;
    rollout.weights = std::move(weights);
    return std::nullopt;
  }
  const auto* word = std::get_if<std::string>(&value.held);
  if (word == nullptr || (*word != "mean" && *word != "last")) return describe(value);
  rollout.loss = *word == "mean" ? RolloutLoss::mean : RolloutLoss::last;
  rollout.weights.clear();
  return std::nullopt;
}

Value loss_of(const RolloutOptions& rollout) {
  if (rollout.loss == RolloutLoss::weights) {
    Value::List list;
    for (const double weight : rollout.weights) list.push_back({weight});
    return {std::move(list)};
  }
  return {std::string(rollout.loss == RolloutLoss::mean ? "mean" : "last")};
}

Condition with_several_steps() {
  return {"rollout.steps above 1", {"rollout.steps"}, [](const Options& options) {
            return options.rollout.steps > 1;
          }};
}

}  // namespace

void add_rollout_keys(Schema& schema) {
  Keys keys(
      schema, "rollout",
      "Training through several applications of the network, each on the output of the one before "
      "(`docs/how-to/rollout-training.md`). For [data.arrays] with targets among the inputs; other targets "
      "are not fed back. Evaluations apply "
      "the "
      "network once.",
      [](auto& options) -> auto& { return options.rollout; });
  keys.integer("steps", &RolloutOptions::steps, {1, max_steps}, "steps",
               "Applications of the network in a training step. The output becomes the newest level of the "
               "next input; the files give its other arrays. Gradients flow through all of them.");
  keys.integer("grow_every", &RolloutOptions::grow_every, {0, max_count}, "training steps",
               "The training step begins with one application and has one more after each interval of this "
               "length, up to `steps`. 0: `steps` from the start.");
  Key& loss = keys.add("loss", "\"mean\", \"last\" or list of `steps` numbers from 0, the last above 0", "",
                       "The loss of a sample: the mean over its steps, the loss of the last one, or a sum "
                       "with these weights. With fewer applications (`grow_every`) those of the last ones "
                       "count, scaled to the sum of all.");
  loss.choices = {"mean", "last"};
  loss.read = read_loss;
  loss.write = [](const Options& options) -> std::optional<Value> { return loss_of(options.rollout); };
  keys.finish(loss);
  keys.boolean("detach", &RolloutOptions::detach,
               "Each step learns to correct the input that it is given: no gradient flows from an input to "
               "the output of which it was made. It takes the memory of one application. With `loss` = "
               "\"last\" this is the pushforward trick.");
  keys.number("noise", &RolloutOptions::noise, {0, true, 100, true}, "",
              "Standard deviation of normal noise that is added to the arrays of the first input that are "
              "targets too, at all levels, in units after `data.normalize`.");
  keys.only_with({"steps", "noise"}, with_given("data.arrays.inputs"));
  keys.only_with({"grow_every", "loss", "detach"}, with_several_steps());
}

}  // namespace mylos
