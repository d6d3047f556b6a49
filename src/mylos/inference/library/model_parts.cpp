#include "mylos/inference/library/model_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/device/threads.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/io/system/memory_shares.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

/// The rows of the caller's memory that the network reads in place start here, as in an arena.
constexpr std::uintptr_t in_place_alignment = 64;

/// The host memory through which arrays of the host go to a device and back, in floats.
std::size_t staging_values(const Chain& chain, std::int64_t samples) {
  return memory_is_host ? 0 : static_cast<std::size_t>(samples * std::max(chain.inputs(), chain.outputs()));
}

StagedFloats make_staging(std::size_t values) {  // an empty view would allocate its header
  return values == 0 ? StagedFloats() : StagedFloats("staged samples", values);
}

StagedFloats staged_part(const StagedFloats& staging, const Tensor& floats) {
  return StagedFloats(staging, std::pair<std::size_t, std::size_t>(0, floats.size()));
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

ModelPlan::ModelPlan(const std::string& path, const LoadOptions& options)
    : reader(ranks, path, ReadableKinds::all) {
  network = read_stored_network(reader, NetworkKinds::numbers, options.custom_layers);
  engines = make_engines(usable_here(network.options.kernels));
  move_to_grid(network, options.shape, [&](const Chain& chain, std::size_t scaling_bytes) {
    require_free_memory(path, inference_layout(chain, *engines, 1).bytes + scaling_bytes);
  });
  inputs = read_input_statistics(reader, network.training.normalizer.input_range, network.input_shape);
  if (options.max_samples < 0)
    fail_input(errors::bad_call, "max_samples is {}; it is positive, or 0", options.max_samples);
  limit = options.max_samples > 0 ? options.max_samples : std::numeric_limits<std::int64_t>::max();
  piece = samples_per_piece(network.chain, *engines, limit);
  if (options.threads < 1 || options.threads > max_threads)
    fail_input(errors::bad_call,
               "LoadOptions::threads is {}; it is the number of calls at the same time, 1 to {}",
               options.threads, max_threads);
  bytes = Model::Parts::bytes_of(network, inputs, *engines, piece, options.threads);
  if (options.derivatives) derivatives = DerivativeNetwork::memory(network, *engines, limit);
  add_derivatives(derivatives, options.threads, bytes);
}

std::unique_ptr<Model::Parts> load_parts(ModelPlan& plan, bool average) {
  auto shared = std::make_shared<SharedNetwork>(std::move(plan.network), std::move(plan.inputs));
  auto parts = std::make_unique<Model::Parts>(std::move(shared), std::move(plan.engines), plan.piece);
  parts->model.read(plan.reader, average);
  if (plan.derivatives) {
    const auto network = std::make_shared<DerivativeNetwork>(parts->network(), *parts->engines, plan.limit);
    network->read(plan.reader, average);
    parts->derivatives = std::make_unique<ModelDerivatives>(network, parts->shared->scaling, *parts->engines);
  }
  return parts;
}

void add_derivatives(const std::optional<InferenceBytes>& derivatives, int count, InferenceBytes& bytes) {
  if (!derivatives) return;
  bytes.weights += derivatives->weights;
  bytes.statistics += derivatives->statistics;
  bytes.workspace += static_cast<std::size_t>(count) * derivatives->workspace;
}

InferenceBytes Model::Workspaces::bytes() const {
  const auto count = static_cast<int>(all.size());
  InferenceBytes bytes = Parts::bytes_of(first().network(), first().shared->inputs, *first().engines,
                                         first().model.samples(), count);
  add_derivatives(derivatives, count, bytes);
  return bytes;
}

Model::Workspaces::Workspaces(std::unique_ptr<Parts> first, int count,
                              std::optional<InferenceBytes> its_derivatives)
    : derivatives(its_derivatives), calls(count) {
  const KernelOptions kernels = first->network().options.kernels;
  all.push_back(std::move(first));
  while (static_cast<int>(all.size()) < count)
    all.push_back(std::make_unique<Parts>(*all.front(), make_engines(usable_here(kernels))));
}

PieceTensors::PieceTensors(const StoredNetwork& network, const KnownInputs& known, std::int64_t samples,
                           void* memory)
    : pieces(memory) {
  const Chain& chain = network.chain;
  inputs = pieces.take_tensor(chain.input_type(), samples, chain.inputs());
  if (!is_of_numbers(chain.prediction()) || !memory_is_host)
    outputs = pieces.take_tensor(DType::fp32, samples, chain.outputs());
  if (!memory_is_host) staged_inputs = pieces.take_tensor(DType::fp32, samples, chain.inputs());
  if (known.statistics.has_distance()) distances = pieces.take_tensor(DType::fp32, samples, 1);
  if (network.calibration) {
    means = pieces.take_tensor(DType::fp32, samples, chain.outputs());
    bounds = pieces.take_tensor(DType::fp32, samples, chain.outputs());
    if (chain.has_deviations()) deviations = pieces.take_tensor(DType::fp32, samples, chain.outputs());
  }
  flags = memory_is_host ? nullptr : pieces.take<std::uint8_t>(samples);
}

SharedNetwork::SharedNetwork(StoredNetwork stored, KnownInputs known)
    : network(std::move(stored)),
      inputs(std::move(known)),
      scaling(network.training.normalizer),
      input_tables(inputs, network.chain.inputs()),
      bound_tables(network.calibration) {}

Model::Parts::Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines,
                    std::int64_t samples)
    : shared(std::move(with)),
      engines(std::move(its_engines)),
      model(network().chain, *engines, samples, InferenceModel::Packed::of_small_networks),
      staging(make_staging(staging_values(chain(), samples))) {}

Model::Parts::Parts(const Parts& original, std::unique_ptr<EngineSet> its_engines)
    : shared(original.shared),
      engines(std::move(its_engines)),
      model(original.model, *engines),
      staging(make_staging(staging_values(chain(), model.samples()))) {
  if (original.derivatives)
    derivatives =
        std::make_unique<ModelDerivatives>(original.derivatives->network(), shared->scaling, *engines);
}

InferenceBytes Model::Parts::bytes_of(const StoredNetwork& network, const KnownInputs& known,
                                      const Engines& engines, std::int64_t samples, int count) {
  const Chain& chain = network.chain;
  InferenceBytes bytes =
      InferenceModel::memory(chain, engines, samples, InferenceModel::Packed::of_small_networks);
  bytes.statistics += ScalingArrays::memory_bytes(network.training.normalizer) +
                      InputTables::memory_bytes(known) + BoundTables::memory_bytes(network.calibration);
  bytes.workspace += PieceTensors(network, known, samples, nullptr).pieces.bytes() +
                     staging_values(chain, samples) * sizeof(float);
  bytes.workspace *= static_cast<std::size_t>(count);
  bytes.statistics += static_cast<std::size_t>(count - 1) * InferenceModel::memory_of_copy(chain);
  return bytes;
}

SampleFormat Model::Parts::inputs() const {
  return {"x", "inputs", network().input_shape, network().samples.input_names, chain().inputs()};
}

SampleFormat Model::Parts::outputs(const char* name) const {
  return {name, "outputs", network().output_shape, network().samples.target_names, chain().outputs()};
}

/// Copies samples of the host's memory, from `first` on, to a device.
void Model::Parts::stage_inputs(const Execution& exec, const ArraySamples& x, std::int64_t first,
                                const Tensor& staged) {
  if constexpr (!memory_is_host) {
    exec.fence("staging");  // the last piece has left the host's memory
    read_on_host(x, first, staged.rows(), staged.columns(), staging.data());
    Kokkos::deep_copy(exec, staged.flat<float>(), staged_part(staging, staged));
  }
}

ConstTensor Model::Parts::read_piece(const Execution& exec, const ArraySamples& x,
                                     const ScalingTable& scaling, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = chain().inputs();
  const Tensor inputs = tensors.inputs.row_range(0, count);
  if (!memory_is_host && !x.on_device) {
    const Tensor staged = tensors.staged_inputs.row_range(0, count);
    stage_inputs(exec, x, first, staged);
    read_samples(exec, array_of_rows(staged), 0, scaling, inputs);
    return inputs;
  }
  const bool as_they_are = x.type == ElementType::fp32 && inputs.type() == DType::fp32 &&
                           scaling.shift == nullptr && x.is_contiguous(columns);
  const auto* const rows =
      static_cast<const std::byte*>(x.data) + first * columns * std::int64_t{sizeof(float)};
  if (as_they_are && reinterpret_cast<std::uintptr_t>(rows) % in_place_alignment == 0)
    return ConstTensor(rows, DType::fp32, count, columns);
  read_samples(exec, x, first, scaling, inputs);
  return inputs;
}

/// Waits until `floats` lie in the host's memory: where they are, or in staging.
void Model::Parts::copy_to_host(const Execution& exec, const Tensor& floats) {
  if constexpr (!memory_is_host) {
    Kokkos::deep_copy(exec, staged_part(staging, floats), floats.flat<float>());
    exec.fence("outputs");
  }
}

void Model::Parts::write_floats(const Execution& exec, const Tensor& floats, const ArraySamples& y,
                                std::int64_t first) {
  if (memory_is_host || y.on_device) return write_samples(exec, floats, {}, y, first);
  copy_to_host(exec, floats);
  write_on_host(staging.data(), floats.rows(), floats.columns(), y, first);
}

void Model::Parts::write_probabilities(const Execution& exec, const ConstTensor& found, const ArraySamples& y,
                                       std::int64_t first) {
  const Tensor floats = tensors.outputs.row_range(0, found.rows());
  convert(exec, found, floats);
  copy_to_host(exec, floats);
  float* const values = memory_is_host ? floats.as<float>() : staging.data();
  interpret_outputs(chain().prediction(), chain().outputs(), network().training.normalizer,
                    {values, static_cast<std::size_t>(floats.size())});
  if (memory_is_host || !y.on_device) {
    write_on_host(values, found.rows(), chain().outputs(), y, first);
    return;
  }
  if constexpr (!memory_is_host) {
    Kokkos::deep_copy(exec, floats.flat<float>(), staged_part(staging, floats));
    write_samples(exec, floats, {}, y, first);
  }
}

void Model::Parts::write_values(const Execution& exec, const ConstTensor& found, const ScalingTable& scaling,
                                const ArraySamples& y, std::int64_t first) {
  if (memory_is_host || y.on_device) return write_samples(exec, found, scaling, y, first);
  const Tensor floats = tensors.outputs.row_range(0, found.rows());
  write_samples(exec, found, scaling, array_of_rows(floats), 0);
  write_floats(exec, floats, y, first);
}

/// The bounds of `means`, which are in data units.
void Model::Parts::write_bounds(const Execution& exec, const Tensor& means, const UncertainSamples& more,
                                std::int64_t first) {
  const std::int64_t rows = means.rows();
  const Tensor deviations = chain().has_deviations() ? tensors.deviations.row_range(0, rows) : Tensor();
  const Tensor bounds = tensors.bounds.row_range(0, rows);
  for (const auto& [side, to] :
       {std::pair{BoundTables::Side::lower, more.lower}, std::pair{BoundTables::Side::upper, more.upper}}) {
    if (to == nullptr) continue;
    shared->bound_tables.write(exec, side, means, deviations, bounds);
    write_floats(exec, bounds, *to, first);
  }
}

void Model::Parts::write_piece(const Execution& exec, const ConstTensor& found, Units units,
                               const ArraySamples& y, const UncertainSamples& more, std::int64_t first) {
  const bool in_data_units = units == Units::data;
  const ScalingTable scaling = in_data_units ? shared->scaling.targets() : ScalingTable{};
  if (in_data_units && !is_of_numbers(chain().prediction()))
    write_probabilities(exec, found, y, first);
  else
    write_values(exec, found, scaling, y, first);
  const bool has_bounds = more.lower != nullptr || more.upper != nullptr;
  const Tensor means = has_bounds ? tensors.means.row_range(0, found.rows()) : Tensor();
  if (has_bounds) write_samples(exec, found, scaling, array_of_rows(means), 0);
  if (chain().has_deviations() && (has_bounds || more.deviation != nullptr)) {
    const StepContext step{.exec = exec, .engines = *engines, .training = false};
    const ConstTensor deviations = model.passes().head_deviations(step, 0, found.rows());
    const ScalingTable of_deviations = in_data_units ? shared->scaling.deviations() : ScalingTable{};
    if (more.deviation != nullptr) write_values(exec, deviations, of_deviations, *more.deviation, first);
    if (has_bounds) {
      write_samples(exec, deviations, of_deviations,
                    array_of_rows(tensors.deviations.row_range(0, found.rows())), 0);
    }
  }
  if (has_bounds) write_bounds(exec, means, more, first);
}

void Model::Parts::infer(const Execution& exec, const ArraySamples& x, std::int64_t first, std::int64_t count,
                         const ArraySamples& y, std::int64_t to, Units units, const UncertainSamples& more) {
  const ScalingTable scaling = units == Units::data ? shared->scaling.inputs() : ScalingTable{};
  infer_in_pieces(
      {exec, *engines, model.passes()}, count, model.samples(),
      [&](std::int64_t from, std::int64_t samples) {
        return read_piece(exec, x, scaling, first + from, samples);
      },
      [&](std::int64_t from, const ConstTensor& found) {
        write_piece(exec, found, units, y, more, to + from);
      });
}

void Model::Parts::check(const Execution& exec, const ArraySamples& x, const ArraySamples& flags,
                         const ArraySamples* distances, const InputCheck& check) {
  InputTable table = shared->input_tables.table();
  if (!check.range) table.minimum = table.maximum = nullptr;
  if (!check.distance) table.mean = nullptr;
  const double limit = check.limit > 0 ? check.limit : shared->inputs.statistics.distances[default_limit];
  for (std::int64_t first = 0; first < x.count; first += model.samples()) {
    const std::int64_t count = std::min(model.samples(), x.count - first);
    const bool is_staged = !memory_is_host && !x.on_device;
    const Tensor staged = is_staged ? tensors.staged_inputs.row_range(0, count) : Tensor();
    if (is_staged) stage_inputs(exec, x, first, staged);
    const bool writes_in_place = memory_is_host || flags.on_device;
    FlagTarget target{tensors.flags, 0, {}};
    if (writes_in_place)
      target = {static_cast<std::uint8_t*>(flags.data), first, flags.sample};
    else
      target.sample.append(count, 1);
    const Tensor found = distances == nullptr ? Tensor() : tensors.distances.row_range(0, count);
    flag_samples(exec, is_staged ? array_of_rows(staged) : x, is_staged ? 0 : first, count, table, limit,
                 target, distances == nullptr ? nullptr : found.as<float>());
    if (!writes_in_place) copy_flags(exec, count, flags, first);
    if (distances != nullptr) write_floats(exec, found, *distances, first);
  }
}

/// Copies the flags of a piece from the device to the host's memory.
void Model::Parts::copy_flags(const Execution& exec, std::int64_t count, const ArraySamples& to,
                              std::int64_t first) {
  if constexpr (!memory_is_host) {
    using Bytes = Kokkos::MemoryTraits<Kokkos::Unmanaged>;
    auto* const host = reinterpret_cast<std::uint8_t*>(staging.data());
    const auto size = static_cast<std::size_t>(count);
    Kokkos::deep_copy(exec, Kokkos::View<std::uint8_t*, Kokkos::SharedHostPinnedSpace, Bytes>(host, size),
                      Kokkos::View<const std::uint8_t*, Memory, Bytes>(tensors.flags, size));
    exec.fence("flags");
    for (std::int64_t i = 0; i < count; ++i)
      static_cast<std::uint8_t*>(to.data)[to.sample.offset(first + i)] = host[i];
  }
}

}  // namespace mylos
