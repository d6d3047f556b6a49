#include "mylos/train/plan/division/step_exchanges.hpp"

#include <algorithm>

#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/memory/pass_calls.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"

namespace mylos {
namespace {

void add_calls(const std::vector<SampleCall>& calls, const Mesh& mesh, SentInCalls& faces,
               SentInCalls& sums) {
  for (const SampleCall& call : calls) {
    SentInCalls& of_kind = call.is_sum ? sums : faces;
    of_kind.calls += 1;
    of_kind.sent += SampleExchange::traffic(mesh, call);
  }
}

/// Returns the weights of the losses of the passes of a micro-batch: a rollout's copies may run one by one.
std::vector<float> passes_of(const NetworkPlan& network) {
  if (!network.rollout || !network.rollout->runs_alone()) return {1};
  return loss_weights(network.rollout->options, network.rollout->options.steps);
}

std::int64_t halo_points(const Chain& chain) {
  std::int64_t points = 0;
  for (const auto& block : chain.blocks) {
    const Convolution* const convolution = block->convolution();
    if (convolution == nullptr) continue;
    const GridShape& extended = convolution->shape().input;
    points = std::max(points, extended.points() - block->signature().inputs / extended.channels);
  }
  return points;
}

void add_gradients(const NetworkPlan& network, StepExchanges& exchanges) {
  const ParameterLayout& layout = network.layout;
  const std::vector<DType> types =
      reduction_memory(layout, network.options.communication.reduce_type, network.ranks).wire_types;
  exchanges.gradient_buckets = layout.buckets.size();
  for (std::size_t bucket = 0; bucket < types.size(); ++bucket)
    exchanges.gradient_bytes +=
        static_cast<std::size_t>(layout.buckets[bucket].count) * size_of(types[bucket]);
}

}  // namespace

SampleTraffic StepExchanges::sent() const {
  SampleTraffic all = forward_faces.sent;
  all += backward_faces.sent;
  all += sums.sent;
  return all;
}

StepExchanges step_exchanges(const NetworkPlan& network, const Schedule& schedule, int rank) {
  const Chain chain = network.training_chain();
  const Mesh mesh = network.mesh_of(rank);
  const StepPlan step = make_step_plan(network.options, rank, network.ranks);
  StepExchanges exchanges;
  exchanges.space = network.options.mesh.space;
  const GridShape grid = grid_of(network.options.model.shape);
  exchanges.box_points = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    exchanges.box_points *= mesh.part().own_extent(axis, grid.extent[axis]);
  exchanges.halo_points = halo_points(chain);
  PassCalls calls;
  std::int64_t samples_of_calls = 0;
  for (std::int64_t i = 1; i <= step.micro_batches; ++i) {
    const std::int64_t samples = step.samples_of(i);
    if (samples != samples_of_calls) calls = calls_of_pass(chain, schedule, samples * chain.rows_per_sample);
    samples_of_calls = samples;
    for (const float weight : passes_of(network)) {
      add_calls(calls.forward, mesh, exchanges.forward_faces, exchanges.sums);
      if (weight != 0) add_calls(calls.backward, mesh, exchanges.backward_faces, exchanges.sums);
    }
  }
  add_gradients(network, exchanges);
  return exchanges;
}

std::optional<StepExchanges> largest_exchanges(const NetworkPlan& network, const Schedule& schedule) {
  const GridPart part = network.mesh().part();
  if (!part.is_split()) return std::nullopt;
  const Extents& boxes = part.boxes;
  const auto rank_of = [&](const Extents& at) {
    return static_cast<int>((at[0] * boxes[1] + at[1]) * boxes[2] + at[2]);
  };
  if (!part.is_uneven())
    return step_exchanges(network, schedule, rank_of({boxes[0] / 2, boxes[1] / 2, boxes[2] / 2}));
  // The first boxes are the largest, and those that have two neighbours along an axis send to both.
  std::optional<StepExchanges> largest;
  for (std::int64_t box = 0; box < 8; ++box) {
    Extents at = {box / 4, box / 2 % 2, box % 2};
    for (std::size_t axis = 0; axis < 3; ++axis) at[axis] = std::min(at[axis], boxes[axis] - 1);
    const int rank = rank_of(at);
    const StepExchanges exchanges = step_exchanges(network.of_rank(rank), schedule, rank);
    if (!largest || exchanges.sent().bytes > largest->sent().bytes) largest = exchanges;
  }
  return largest;
}

}  // namespace mylos
