#include "mylos/inference/library/model_plan.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/device/threads.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/inference/stored/float_weights.hpp"
#include "mylos/inference/stored/other_grid.hpp"
#include "mylos/io/system/memory_shares.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"

namespace mylos {
namespace {

/// Calls of a model of several threads compute on their calling threads alone.
int lanes_of_call(const LoadOptions& options) {
  return options.threads > 1 || !memory_is_host ? 1 : static_cast<int>(max_workers());
}

void add(const InferenceBytes& more, InferenceBytes& bytes) {
  bytes.weights += more.weights;
  bytes.statistics += more.statistics;
  bytes.workspace += more.workspace;
}

std::unique_ptr<Model::Parts> load_own_types(ModelPlan& plan, std::shared_ptr<const SharedNetwork> shared) {
  auto parts = std::make_unique<Model::Parts>(std::move(shared), std::move(plan.engines), plan.piece);
  parts->model->read(plan.reader, plan.options.average);
  if (plan.options.derivatives) {
    const auto network = std::make_shared<DerivativeNetwork>(parts->network(), *parts->engines, plan.limit);
    network->read(plan.reader, plan.options.average);
    parts->derivatives = std::make_unique<ModelDerivatives>(network, parts->shared->scaling, *parts->engines);
  }
  return parts;
}

std::unique_ptr<Model::Parts> load_double(ModelPlan& plan, std::shared_ptr<const SharedNetwork> shared) {
  const FloatWeights weights(plan.reader, shared->network.chain, plan.options.average);
  auto network = std::make_shared<const Float64Network>(
      shared->network, [&](const std::string& path) { return weights.read(path); }, plan.options.derivatives);
  return std::make_unique<Model::Parts>(
      std::move(shared), std::move(plan.engines),
      std::make_unique<Float64Model>(std::move(network), lanes_of_call(plan.options), plan.limit));
}

}  // namespace

void require_kokkos(const char* call) {
  if (!Kokkos::is_initialized())
    fail_run(errors::bad_call, "{} was called before Kokkos was initialised", call);
  require_outside_parallel_region(call);
}

void require_free_memory(const std::string& path, std::size_t bytes) {
  const auto available = static_cast<std::size_t>(free_memory_of_rank());
  if (bytes <= available) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("{}: the model takes {} of memory, but {} are available", path,
                          format_bytes(static_cast<std::int64_t>(bytes)),
                          format_bytes(static_cast<std::int64_t>(available))));
}

ModelPlan::ModelPlan(const std::string& path, const LoadOptions& its_options)
    : options(its_options), reader(ranks, path, ReadableKinds::all) {
  network = read_stored_network(reader, NetworkKinds::numbers, options.custom_layers);
  engines = make_engines(usable_here(network.options.kernels));
  move_to_grid(network, options.shape, [&](const Chain& chain, std::size_t scaling_bytes) {
    require_free_memory(path, inference_layout(chain, *engines, 1).bytes + scaling_bytes);
  });
  inputs = read_input_statistics(reader, network.training.normalizer.input_range, network.input_shape);
  if (options.max_samples < 0)
    fail_input(errors::bad_call, "max_samples is {}; it is positive, or 0", options.max_samples);
  limit = options.max_samples > 0 ? options.max_samples : std::numeric_limits<std::int64_t>::max();
  if (options.threads < 1 || options.threads > max_threads)
    fail_input(errors::bad_call,
               "LoadOptions::threads is {}; it is the number of calls at the same time, 1 to {}",
               options.threads, max_threads);
  options.in_double ? plan_double() : plan_own_types();
}

void ModelPlan::plan_own_types() {
  piece = samples_per_piece(network.chain, *engines, limit);
  const auto count = static_cast<std::size_t>(options.threads);
  InferenceBytes own =
      InferenceModel::memory(network.chain, *engines, piece, InferenceModel::Packed::of_small_networks);
  own.workspace *= count;
  own.statistics += (count - 1) * InferenceModel::memory_of_copy(network.chain);
  bytes.all = Model::Parts::bytes_of(network, inputs, false, piece, options.threads);
  add(own, bytes.all);
  if (options.derivatives) {
    InferenceBytes more = DerivativeNetwork::memory(network, *engines, limit);
    more.workspace *= count;
    add(more, bytes.all);
  }
  bytes.of_clone = bytes.all.workspace + count * InferenceModel::memory_of_copy(network.chain);
}

void ModelPlan::plan_double() {
  require_free_memory(network.path, Float64Network::bytes_of_loading(network.chain, options.derivatives));
  const Float64Network sized(network, Float64Network::zeros(network.chain), options.derivatives);
  const int lanes = lanes_of_call(options);
  piece = Float64Model::samples_of(lanes, limit);
  bytes.all = Model::Parts::bytes_of(network, inputs, true, piece, options.threads);
  add({.weights = sized.weight_bytes(),
       .statistics = sized.scaling_bytes(),
       .workspace =
           static_cast<std::size_t>(options.threads) * Float64Model::memory_bytes(sized, lanes, limit)},
      bytes.all);
  bytes.of_clone = bytes.all.workspace;
}

std::unique_ptr<Model::Workspaces> load_workspaces(ModelPlan& plan) {
  auto shared = std::make_shared<SharedNetwork>(std::move(plan.network), std::move(plan.inputs));
  return std::make_unique<Model::Workspaces>(
      plan.options.in_double ? load_double(plan, std::move(shared)) : load_own_types(plan, std::move(shared)),
      plan.options.threads, plan.bytes);
}

}  // namespace mylos
