#include "mylos/train/step/network_plan.hpp"

#include <fmt/ranges.h>

#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/network/grid_units.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/make_rollout_chain.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "mylos/optim/gradients/sample_exchange.hpp"

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

/// The grid may be that of the data, of which the deck says nothing.
void require_axes(const char* key, const std::vector<std::int64_t>& boxes,
                  const std::vector<std::int64_t>& shape) {
  if (boxes.empty() || shape.size() < 2 || shape.size() == boxes.size() + 1) return;
  fail_input(errors::keys_conflict,
             "{} = [{}] has {} numbers, and the grid of a sample has {} axes, [{}] with its channels; "
             "give one number for each axis, 1 for those that are not to be divided",
             key, fmt::join(boxes, ", "), boxes.size(), shape.size() - 1, fmt::join(shape, ", "));
}

/// Returns the rollout of the model's part of each sample. `chain`: of that.
RolloutOptions part_of(RolloutOptions rollout, const ModelOptions& model, const Chain& chain) {
  if (!model.part.is_split()) return rollout;
  if (rollout.steps > 1 && chain.outputs() == model.outputs) {
    fail_input(
        errors::keys_conflict,
        "rollout.steps = {} reads outputs as inputs, of which mesh.space gives each rank a box, and the "
        "network's outputs are a vector; use a last layer on the grid, or leave one of them out",
        rollout.steps);
  }
  FeedbackMap& feedback = rollout.feedback;
  const std::vector<std::int64_t> extents(model.shape.begin(), model.shape.end() - 1);
  const GridBox box = box_of(model.part, extents, "rollout");
  if (!feedback.counts.empty()) feedback.counts = cut(feedback.counts, box);
  feedback.points = feedback.points * box.points() / box.grid_points();
  return rollout;
}

/// Returns the units of the network's grids (grid_units()), which do not depend on the ranks. `before`: a
/// plan that may have them, or null.
std::vector<std::int64_t> units_of(const NetworkPlan* before, const Options& options) {
  ModelOptions model = options.model;
  if (before != nullptr) {
    model.part = before->options.model.part;
    if (before->options.mesh.space == options.mesh.space && before->options.model == model)
      return before->options.mesh.units;
  }
  return grid_units(model, options.precision, options.mesh.space);
}

/// Sums are taken by equal boxes.
void require_even_sums(const Options& options) {
  if (options.mesh.units.empty() || options.mesh.sums.empty()) return;
  fail_input(
      errors::not_reproducible,
      "mesh.sums takes sums over points by equal boxes, and mesh.space = [{}] divides the grids of the "
      "network, [{}] with channels, into boxes that differ; give numbers of boxes that divide the "
      "grids on all levels",
      fmt::join(options.mesh.space, ", "), fmt::join(options.model.shape, ", "));
}

/// `before`: a plan to share with, or null.
NetworkPlan plan_like(const NetworkPlan* before, Options options, int rank, int ranks, bool input_gradients) {
  NetworkPlan plan;
  require_axes("mesh.space", options.mesh.space, options.model.shape);
  require_axes("mesh.sums", options.mesh.sums, options.model.shape);
  options.mesh.units = units_of(before, options);
  require_even_sums(options);
  options.model.part = Mesh(options.mesh, rank, ranks).part();
  plan.step = make_step_plan(options, rank, ranks);
  const bool same_chain = before != nullptr && make_the_same_chain(*before, options, plan.step);
  const ModelOptions& model = options.model;
  plan.chain = same_chain ? before->chain
                          : make_chain(model, options.precision, options.run.seed, plan.step.accumulates,
                                       input_gradients);
  if (options.rollout.any()) {
    plan.rollout =
        same_chain ? before->rollout
                   : std::optional(make_rollout_chain(plan.chain, model, options.precision, options.run.seed,
                                                      part_of(options.rollout, model, plan.chain)));
    const FeedbackMap& feedback = plan.rollout->options.feedback;
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

Mesh NetworkPlan::mesh() const {
  return mesh_of(rank);
}

Mesh NetworkPlan::mesh_of(int other) const {
  return {options.mesh, other, ranks};
}

SampleExchangeSizes NetworkPlan::exchanges() const {
  return sample_exchanges(training_chain(), step.micro_batch);
}

SlotBytes NetworkPlan::sample_slot() const {
  return SampleExchange::slot_bytes(mesh().boxes(), exchanges());
}

NetworkPlan NetworkPlan::with(Options changed) const {
  return plan_like(this, std::move(changed), rank, ranks, input_gradients);
}

NetworkPlan NetworkPlan::with(Options changed, int others) const {
  return plan_like(this, std::move(changed), 0, others, input_gradients);
}

NetworkPlan NetworkPlan::of_rank(int other) const {
  return other == rank ? *this : plan_like(this, options, other, ranks, input_gradients);
}

NetworkPlan NetworkPlan::of_largest_box() const {
  return options.model.part.is_uneven() ? of_rank(rank - rank % mesh().boxes()) : *this;
}

NetworkPlan NetworkPlan::with_micro_batch(std::int64_t samples) const {
  Options changed = options;
  changed.data.micro_batch = samples;
  return with(std::move(changed));
}

NetworkPlan plan_network(Options options, int rank, int ranks, bool input_gradients) {
  return plan_like(nullptr, std::move(options), rank, ranks, input_gradients);
}

std::string describe_mesh(const NetworkPlan& network) {
  const Mesh mesh = network.mesh();
  const GridPart& part = mesh.part();
  std::vector<std::int64_t> extents = network.options.model.shape;
  if (!extents.empty()) extents.pop_back();
  const auto divide = [&](const std::array<std::int64_t, 3>& boxes) {
    const std::vector<std::int64_t> counts(boxes.end() - static_cast<std::ptrdiff_t>(extents.size()),
                                           boxes.end());
    const bool is_uneven = boxes == part.boxes && part.is_uneven();
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      extents[axis] = is_uneven ? part.largest().own_extent(3 - extents.size() + axis, extents[axis])
                                : extents[axis] / counts[axis];
    }
    return fmt::format("{} boxes of {}{} points", fmt::join(counts, " x "), is_uneven ? "up to " : "",
                       fmt::join(extents, " x "));
  };
  std::string text;
  if (network.options.mesh.automatic)
    text = fmt::format("\"auto\" chose [{}]; {}", fmt::join(network.options.mesh.space, ", "),
                       part.is_split() ? "" : "samples are whole");
  if (part.is_split()) {
    text += fmt::format("each sample is divided into {}", divide(part.boxes));
    if (const int groups = mesh.batch_ranks(); groups > 1)
      text += fmt::format("; {} groups of {} ranks share the batch", groups, mesh.boxes());
  }
  if (part.sum_boxes() > 1)
    text += fmt::format("{}each rank takes sums by {}", text.empty() ? "" : "; ", divide(part.sums));
  return text;
}

ParameterLayout network_layout(const Options& options, const Chain& chain, int ranks,
                               std::int64_t bucket_bytes) {
  return make_parameter_layout(chain, bucket_bytes, ranks, options.optimizer.shard_owners(ranks),
                               gradient_window(options.optimizer, ranks));
}

}  // namespace mylos
