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

}  // namespace

PieceTensors::PieceTensors(const StoredNetwork& network, const KnownInputs& known, bool in_double,
                           std::int64_t samples, void* memory)
    : pieces(memory) {
  const Chain& chain = network.chain;
  if (known.statistics.has_distance()) distances = pieces.take_tensor(DType::fp32, samples, 1);
  flags = memory_is_host ? nullptr : pieces.take<std::uint8_t>(samples);
  if (in_double) return;
  inputs = pieces.take_tensor(chain.input_type(), samples, chain.inputs());
  if (!is_of_numbers(chain.prediction())) outputs = pieces.take_tensor(DType::fp32, samples, chain.outputs());
  if (network.calibration) {
    means = pieces.take_tensor(DType::fp32, samples, chain.outputs());
    bounds = pieces.take_tensor(DType::fp32, samples, chain.outputs());
    if (chain.has_deviations()) deviations = pieces.take_tensor(DType::fp32, samples, chain.outputs());
  }
}

SharedNetwork::SharedNetwork(StoredNetwork stored, KnownInputs known)
    : network(std::move(stored)),
      inputs(std::move(known)),
      scaling(network.training.normalizer),
      input_tables(inputs, network.chain.inputs()),
      bound_tables(network.calibration) {}

Model::Parts::Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines,
                    std::int64_t samples_of_piece)
    : shared(std::move(with)), engines(std::move(its_engines)), samples(samples_of_piece) {
  model.emplace(network().chain, *engines, samples, InferenceModel::Packed::of_small_networks);
}

Model::Parts::Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines,
                    std::unique_ptr<Float64Model> its_double)
    : shared(std::move(with)),
      engines(std::move(its_engines)),
      samples(its_double->samples()),
      in_double(std::move(its_double)) {}

Model::Parts::Parts(const Parts& original, std::unique_ptr<EngineSet> its_engines)
    : shared(original.shared),
      engines(std::move(its_engines)),
      samples(original.samples),
      in_double(original.in_double ? std::make_unique<Float64Model>(*original.in_double) : nullptr) {
  if (original.model) model.emplace(*original.model, *engines);
  if (original.derivatives)
    derivatives =
        std::make_unique<ModelDerivatives>(original.derivatives->network(), shared->scaling, *engines);
}

std::int64_t Model::Parts::staged_values(const Chain& chain, std::int64_t samples) {
  return samples * std::max(chain.inputs(), chain.outputs());
}

InferenceBytes Model::Parts::bytes_of(const StoredNetwork& network, const KnownInputs& known, bool in_double,
                                      std::int64_t samples, int count) {
  InferenceBytes bytes;
  bytes.statistics = ScalingArrays::memory_bytes(network.training.normalizer) +
                     InputTables::memory_bytes(known) + BoundTables::memory_bytes(network.calibration);
  bytes.workspace = PieceTensors(network, known, in_double, samples, nullptr).pieces.bytes() +
                    HostStaging::memory_bytes(staged_values(network.chain, samples));
  bytes.workspace *= static_cast<std::size_t>(count);
  return bytes;
}

OutputDerivatives* Model::Parts::output_derivatives() const {
  if (in_double && in_double->network()->has_derivatives()) return in_double.get();
  return derivatives.get();
}

SampleFormat Model::Parts::inputs() const {
  return {"x", "inputs", network().input_shape, network().samples.input_names, chain().inputs()};
}

SampleFormat Model::Parts::outputs(const char* name) const {
  return {name, "outputs", network().output_shape, network().samples.target_names, chain().outputs()};
}

ConstTensor Model::Parts::read_piece(const Execution& exec, const ArraySamples& x,
                                     const ScalingTable& scaling, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = chain().inputs();
  const Tensor inputs = tensors.inputs.row_range(0, count);
  const bool as_they_are = (memory_is_host || x.on_device) && x.type == ElementType::fp32 &&
                           inputs.type() == DType::fp32 && scaling.shift == nullptr &&
                           x.is_contiguous(columns);
  const auto* const rows =
      static_cast<const std::byte*>(x.data) + first * columns * std::int64_t{sizeof(float)};
  if (as_they_are && reinterpret_cast<std::uintptr_t>(rows) % in_place_alignment == 0)
    return ConstTensor(rows, DType::fp32, count, columns);
  staging.read(exec, x, first, scaling, inputs);
  return inputs;
}

void Model::Parts::write_probabilities(const Execution& exec, const ConstTensor& found, const ArraySamples& y,
                                       std::int64_t first) {
  const Tensor floats = tensors.outputs.row_range(0, found.rows());
  convert(exec, found, floats);
  float* const values = staging.on_host(exec, floats);
  interpret_outputs(chain().prediction(), chain().outputs(), network().training.normalizer,
                    {values, static_cast<std::size_t>(floats.size())});
  if (memory_is_host || !y.on_device) return write_on_host(values, found.rows(), chain().outputs(), y, first);
  staging.put_back(exec, floats);
  write_samples(exec, floats, {}, y, first);
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
    staging.write(exec, bounds, {}, *to, first);
  }
}

void Model::Parts::write_piece(const Execution& exec, const ConstTensor& found, Units units,
                               const ArraySamples& y, const UncertainSamples& more, std::int64_t first) {
  const bool in_data_units = units == Units::data;
  const ScalingTable scaling = in_data_units ? shared->scaling.targets() : ScalingTable{};
  if (in_data_units && !is_of_numbers(chain().prediction()))
    write_probabilities(exec, found, y, first);
  else
    staging.write(exec, found, scaling, y, first);
  const bool has_bounds = more.lower != nullptr || more.upper != nullptr;
  const Tensor means = has_bounds ? tensors.means.row_range(0, found.rows()) : Tensor();
  if (has_bounds) write_samples(exec, found, scaling, array_of_rows(means), 0);
  if (chain().has_deviations() && (has_bounds || more.deviation != nullptr)) {
    const StepContext step{.exec = exec, .engines = *engines, .training = false};
    const ConstTensor deviations = model->passes().head_deviations(step, 0, found.rows());
    const ScalingTable of_deviations = in_data_units ? shared->scaling.deviations() : ScalingTable{};
    if (more.deviation != nullptr) staging.write(exec, deviations, of_deviations, *more.deviation, first);
    if (has_bounds) {
      write_samples(exec, deviations, of_deviations,
                    array_of_rows(tensors.deviations.row_range(0, found.rows())), 0);
    }
  }
  if (has_bounds) write_bounds(exec, means, more, first);
}

void Model::Parts::infer(const Execution& exec, const ArraySamples& x, const ArraySamples& y,
                         const SampleSpan& span, Units units, const UncertainSamples& more) {
  if (in_double) return in_double->infer(exec, x, y, span, units, more);
  const ScalingTable scaling = units == Units::data ? shared->scaling.inputs() : ScalingTable{};
  infer_in_pieces(
      {exec, *engines, model->passes()}, span.count, samples,
      [&](std::int64_t from, std::int64_t count) {
        return read_piece(exec, x, scaling, span.first + from, count);
      },
      [&](std::int64_t from, const ConstTensor& found) {
        write_piece(exec, found, units, y, more, span.to + from);
      });
}

void Model::Parts::check(const Execution& exec, const ArraySamples& x, const ArraySamples& flags,
                         const ArraySamples* distances, const InputCheck& check) {
  InputTable table = shared->input_tables.table();
  if (!check.range) table.minimum = table.maximum = nullptr;
  if (!check.distance) table.mean = nullptr;
  const double limit = check.limit > 0 ? check.limit : shared->inputs.statistics.distances[default_limit];
  for (std::int64_t first = 0; first < x.count; first += samples) {
    const std::int64_t count = std::min(samples, x.count - first);
    const KernelSamples placed = staging.for_kernels(exec, x, first, count, chain().inputs());
    const bool writes_in_place = memory_is_host || flags.on_device;
    FlagTarget target{tensors.flags, 0, {}};
    if (writes_in_place)
      target = {static_cast<std::uint8_t*>(flags.data), first, flags.sample};
    else
      target.sample.append(count, 1);
    const Tensor found = distances == nullptr ? Tensor() : tensors.distances.row_range(0, count);
    flag_samples(exec, placed.array, placed.first, count, table, limit, target,
                 distances == nullptr ? nullptr : found.as<float>());
    if (!writes_in_place) copy_flags(exec, count, flags, first);
    if (distances != nullptr) staging.write(exec, found, {}, *distances, first);
  }
}

/// Copies the flags of a piece to the host's memory.
void Model::Parts::copy_flags(const Execution& exec, std::int64_t count, const ArraySamples& to,
                              std::int64_t first) {
  const std::uint8_t* const host = staging.on_host(exec, tensors.flags, count);
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<std::uint8_t*>(to.data)[to.sample.offset(first + i)] = host[i];
}

Model::Workspaces::Workspaces(std::unique_ptr<Parts> first, int count, const ModelBytes& its_bytes)
    : bytes(its_bytes), calls(count) {
  const KernelOptions kernels = first->network().options.kernels;
  all.push_back(std::move(first));
  while (static_cast<int>(all.size()) < count)
    all.push_back(std::make_unique<Parts>(*all.front(), make_engines(usable_here(kernels))));
}

}  // namespace mylos
