#include "mylos/train/step/network_plan.hpp"

#include <utility>

#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/make_rollout_chain.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"

namespace mylos {
namespace {

bool make_the_same_chain(const NetworkPlan& plan, const Options& options, const StepPlan& step) {
  const Options& own = plan.options;
  return own.model == options.model && own.precision == options.precision && own.rollout == options.rollout &&
         own.run.seed == options.run.seed && plan.step.accumulates == step.accumulates;
}

bool make_the_same_layout(const NetworkPlan& plan, const Options& options, int ranks) {
  return plan.options.optimizer == options.optimizer && plan.options.communication == options.communication &&
         plan.ranks == ranks;
}

/// `before`: a plan to share with, or null.
NetworkPlan plan_like(const NetworkPlan* before, Options options, int rank, int ranks, bool input_gradients) {
  NetworkPlan plan;
  plan.step = make_step_plan(options, rank, ranks);
  const bool same_chain = before != nullptr && make_the_same_chain(*before, options, plan.step);
  plan.chain = same_chain ? before->chain
                          : make_chain(options.model, options.precision, options.run.seed,
                                       plan.step.accumulates, input_gradients);
  if (options.rollout.any()) {
    const FeedbackMap& feedback = options.rollout.feedback;
    plan.rollout = same_chain ? before->rollout
                              : std::optional(make_rollout_chain(plan.chain, options.model, options.precision,
                                                                 options.run.seed, options.rollout));
    plan.chain.training_inputs = feedback.points * feedback.row_channels;
    plan.chain.training_targets = feedback.points * feedback.steps * feedback.output_channels;
  }
  const bool same_layout = same_chain && make_the_same_layout(*before, options, ranks);
  plan.layout = same_layout ? before->layout : network_layout(options, plan.chain, ranks);
  plan.options = std::move(options);
  plan.rank = rank;
  plan.ranks = ranks;
  plan.input_gradients = input_gradients;
  return plan;
}

}  // namespace

NetworkPlan NetworkPlan::with(Options changed) const {
  return plan_like(this, std::move(changed), rank, ranks, input_gradients);
}

NetworkPlan NetworkPlan::with(Options changed, int others) const {
  return plan_like(this, std::move(changed), 0, others, input_gradients);
}

NetworkPlan NetworkPlan::with_micro_batch(std::int64_t samples) const {
  Options changed = options;
  changed.data.micro_batch = samples;
  return with(std::move(changed));
}

NetworkPlan plan_network(Options options, int rank, int ranks, bool input_gradients) {
  return plan_like(nullptr, std::move(options), rank, ranks, input_gradients);
}

ParameterLayout network_layout(const Options& options, const Chain& chain, int ranks,
                               std::int64_t bucket_bytes) {
  return make_parameter_layout(chain, bucket_bytes, ranks, options.optimizer.shard_owners(ranks),
                               gradient_window(options.optimizer, ranks));
}

}  // namespace mylos
