#include "mylos/inference/model.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/device/pieces.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/inference/arrays/array_samples.hpp"
#include "mylos/inference/arrays/sample_transfer.hpp"
#include "mylos/inference/arrays/scaling_arrays.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/packed_weights.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/inference/stored_network.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"

namespace mylos {
namespace {

using StagedFloats = Kokkos::View<float*, Kokkos::SharedHostPinnedSpace>;

/// The rows of the caller's memory that the network reads in place start here, as in an arena.
constexpr std::uintptr_t in_place_alignment = 64;

/// A file, opened by this process alone.
struct OpenedFile {
  explicit OpenedFile(const std::string& path) : reader(ranks, path, ReadableKinds::all) {}
  RankGroup ranks;
  CheckpointReader reader;
};

void require_kokkos(const char* call) {
  if (!Kokkos::is_initialized())
    fail_run(ErrorId::bad_call, "{} was called before Kokkos was initialised", call);
  require_outside_parallel_region(call);
}

void require_free_memory(const std::string& path, std::size_t bytes) {
  const auto available = static_cast<std::size_t>(free_device_memory().value_or(available_host_memory()));
  if (bytes <= available) return;
  throw Error(ExitCode::does_not_fit, ErrorId::does_not_fit,
              fmt::format("{}: the model takes {} of memory, but {} are available", path,
                          format_bytes(static_cast<std::int64_t>(bytes)),
                          format_bytes(static_cast<std::int64_t>(available))));
}

std::int64_t piece_of(const Chain& chain, const Engines& engines, const LoadOptions& options) {
  if (options.max_samples < 0)
    fail_input(ErrorId::bad_call, "max_samples is {}; it is positive, or 0", options.max_samples);
  const std::int64_t limit =
      options.max_samples > 0 ? options.max_samples : std::numeric_limits<std::int64_t>::max();
  return samples_per_piece(chain, engines, limit);
}

bool has_probabilities(const Chain& chain) {
  return chain.loss() == LossType::cross_entropy || chain.loss() == LossType::binary_cross_entropy;
}

}  // namespace

/// The inputs and outputs of a piece.
struct PieceTensors {
  PieceTensors(const Chain& chain, std::int64_t samples, void* memory) : pieces(memory) {
    inputs = pieces.take_tensor(chain.input_type(), samples, chain.inputs());
    if (has_probabilities(chain) || !memory_is_host)
      outputs = pieces.take_tensor(DType::fp32, samples, chain.outputs());
    if (!memory_is_host) staged_inputs = pieces.take_tensor(DType::fp32, samples, chain.inputs());
  }

  Pieces pieces;
  Tensor inputs, outputs;  // as the network reads them; as floats
  Tensor staged_inputs;    // of an array in the host's memory
};

/// What clones share. Nothing changes it after the weights have been read.
struct SharedNetwork {
  SharedNetwork(StoredNetwork stored, const Engines& engines, std::int64_t samples)
      : network(std::move(stored)),
        piece(samples),
        weights(network.chain),
        packed(network.chain, engines, weights.of_stages()),
        scaling(network.normalizer) {}

  StoredNetwork network;
  std::int64_t piece;  // in samples
  ComputeWeights weights;
  PackedWeights packed;
  Instructions instructions = instructions_in_use();  // whose order the packed weights have
  ScalingArrays scaling;
};

namespace {

/// The host memory through which arrays of the host go to a device and back, in floats.
std::size_t staging_values(const Chain& chain, std::int64_t samples) {
  return memory_is_host ? 0 : static_cast<std::size_t>(samples * std::max(chain.inputs(), chain.outputs()));
}

StagedFloats make_staging(std::size_t values) {  // an empty view would allocate its header
  return values == 0 ? StagedFloats() : StagedFloats("staged samples", values);
}

InferenceBytes bytes_of(const StoredNetwork& network, const Engines& engines, std::int64_t samples) {
  const Chain& chain = network.chain;
  return {.weights = ComputeWeights::memory_bytes(chain),
          .statistics = BufferStore::memory_bytes(chain) + ScalingArrays::memory_bytes(network.normalizer) +
                        PackedWeights::memory_bytes(chain, engines),
          .workspace = inference_layout(chain, engines, samples).bytes +
                       PieceTensors(chain, samples, nullptr).pieces.bytes() +
                       staging_values(chain, samples) * sizeof(float)};
}

}  // namespace

/// One model: what it shares with its clones, and what it alone uses.
struct Model::Parts {
  Parts(std::shared_ptr<const SharedNetwork> with, std::unique_ptr<EngineSet> its_engines)
      : shared(std::move(with)),
        engines(std::move(its_engines)),
        buffers(chain()),
        layout(inference_layout(chain(), *engines, shared->piece)),
        activations("activations", layout.bytes),
        memory("samples", PieceTensors(chain(), shared->piece, nullptr).pieces.bytes()),
        tensors(chain(), shared->piece, memory.data()),
        staging(make_staging(staging_values(chain(), shared->piece))),
        pass(chain(), shared->packed.of_stages(), buffers, shared->piece, layout, activations) {}

  [[nodiscard]] const Chain& chain() const { return shared->network.chain; }
  [[nodiscard]] SampleFormat inputs() const {
    const StoredNetwork& network = shared->network;
    return {"x", "inputs", network.input_shape, network.input_names, chain().inputs()};
  }
  [[nodiscard]] SampleFormat outputs() const {
    const StoredNetwork& network = shared->network;
    return {"y", "outputs", network.output_shape, network.target_names, chain().outputs()};
  }
  [[nodiscard]] SampleFormat deviations() const {
    SampleFormat format = outputs();
    format.name = "deviations";
    return format;
  }

  /// `deviations`: null: they are not computed.
  void infer(const Execution& exec, const ArraySamples& x, const ArraySamples& y,
             const ArraySamples* deviations, Units units);
  [[nodiscard]] ConstTensor read_piece(const Execution& exec, const ArraySamples& x,
                                       const ScalingTable& scaling, std::int64_t first, std::int64_t count);
  void write_piece(const Execution& exec, const ConstTensor& found, Units units, const ArraySamples& y,
                   std::int64_t first);
  void write_values(const Execution& exec, const ConstTensor& found, const ScalingTable& scaling,
                    const ArraySamples& y, std::int64_t first);
  void write_probabilities(const Execution& exec, const ConstTensor& found, const ArraySamples& y,
                           std::int64_t first);
  void copy_to_host(const Execution& exec, const Tensor& floats);

  std::shared_ptr<const SharedNetwork> shared;
  std::unique_ptr<EngineSet> engines;
  BufferStore buffers;  // kernels write into some of them
  EvaluationLayout layout;
  Arena activations;
  Arena memory;
  PieceTensors tensors;
  StagedFloats staging;
  ForwardPass pass;
  Execution alone = single_thread_instance();
};

ConstTensor Model::Parts::read_piece(const Execution& exec, const ArraySamples& x,
                                     const ScalingTable& scaling, std::int64_t first, std::int64_t count) {
  const std::int64_t columns = chain().inputs();
  const Tensor inputs = tensors.inputs.row_range(0, count);
  if constexpr (!memory_is_host) {
    if (!x.on_device) {
      exec.fence("staging");  // the last piece has left the host's memory
      read_on_host(x, first, count, columns, staging.data());
      const Tensor staged = tensors.staged_inputs.row_range(0, count);
      Kokkos::deep_copy(exec, staged.flat<float>(),
                        StagedFloats(staging, std::pair<std::size_t, std::size_t>(0, staged.size())));
      read_samples(exec, array_of_rows(staged), 0, scaling, inputs);
      return inputs;
    }
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
    Kokkos::deep_copy(exec, StagedFloats(staging, std::pair<std::size_t, std::size_t>(0, floats.size())),
                      floats.flat<float>());
    exec.fence("outputs");
  }
}

void Model::Parts::write_probabilities(const Execution& exec, const ConstTensor& found, const ArraySamples& y,
                                       std::int64_t first) {
  const Tensor floats = tensors.outputs.row_range(0, found.rows());
  convert(exec, found, floats);
  copy_to_host(exec, floats);
  float* const values = memory_is_host ? floats.as<float>() : staging.data();
  interpret_outputs(chain().loss(), chain().outputs(), shared->network.normalizer,
                    {values, static_cast<std::size_t>(floats.size())});
  if (memory_is_host || !y.on_device) {
    write_on_host(values, found.rows(), chain().outputs(), y, first);
    return;
  }
  if constexpr (!memory_is_host) {
    Kokkos::deep_copy(exec, floats.flat<float>(),
                      StagedFloats(staging, std::pair<std::size_t, std::size_t>(0, floats.size())));
    write_samples(exec, floats, {}, y, first);
  }
}

void Model::Parts::write_piece(const Execution& exec, const ConstTensor& found, Units units,
                               const ArraySamples& y, std::int64_t first) {
  if (units == Units::data && has_probabilities(chain())) return write_probabilities(exec, found, y, first);
  write_values(exec, found, units == Units::data ? shared->scaling.targets() : ScalingTable{}, y, first);
}

void Model::Parts::write_values(const Execution& exec, const ConstTensor& found, const ScalingTable& scaling,
                                const ArraySamples& y, std::int64_t first) {
  if (memory_is_host || y.on_device) return write_samples(exec, found, scaling, y, first);
  const Tensor floats = tensors.outputs.row_range(0, found.rows());
  write_samples(exec, found, scaling, array_of_rows(floats), 0);
  copy_to_host(exec, floats);
  write_on_host(staging.data(), found.rows(), chain().outputs(), y, first);
}

void Model::Parts::infer(const Execution& exec, const ArraySamples& x, const ArraySamples& y,
                         const ArraySamples* deviations, Units units) {
  const ScalingTable scaling = units == Units::data ? shared->scaling.inputs() : ScalingTable{};
  infer_in_pieces(
      {exec, *engines, pass}, x.count, shared->piece,
      [&](std::int64_t first, std::int64_t count) { return read_piece(exec, x, scaling, first, count); },
      [&](std::int64_t first, const ConstTensor& found) {
        write_piece(exec, found, units, y, first);
        if (deviations == nullptr) return;
        const StepContext step{.exec = exec, .engines = *engines, .training = false};
        if (!memory_is_host && !deviations->on_device) exec.fence("staging");  // y has left the host's memory
        write_values(exec, pass.head_deviations(step, 0, found.rows()),
                     units == Units::data ? shared->scaling.deviations() : ScalingTable{}, *deviations,
                     first);
      });
}

Model::Model(const std::string& path, const LoadOptions& options) {
  require_kokkos("Model");
  OpenedFile file(path);
  StoredNetwork network = read_stored_network(file.reader);
  move_to_grid(network, options.shape);
  std::unique_ptr<EngineSet> engines = make_engines(usable_here(network.options.kernels));
  const std::int64_t piece = piece_of(network.chain, *engines, options);
  require_free_memory(path, bytes_of(network, *engines, piece).total());
  auto shared = std::make_shared<SharedNetwork>(std::move(network), *engines, piece);
  parts_ = std::make_unique<Parts>(shared, std::move(engines));
  read_network(file.reader, options.average, shared->weights, parts_->buffers);
  const Execution exec;
  shared->packed.pack(exec, parts_->engines->gemm());
  exec.fence("packed");
}

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

InferenceBytes Model::memory_of(const std::string& path, const LoadOptions& options) {
  require_kokkos("Model::memory_of");
  OpenedFile file(path);
  StoredNetwork network = read_stored_network(file.reader);
  move_to_grid(network, options.shape);
  const std::unique_ptr<EngineSet> engines = make_engines(usable_here(network.options.kernels));
  return bytes_of(network, *engines, piece_of(network.chain, *engines, options));
}

Model Model::clone() const {
  require_kokkos("Model::clone");
  const SharedNetwork& shared = *parts_->shared;
  std::unique_ptr<EngineSet> engines = make_engines(usable_here(shared.network.options.kernels));
  if (instructions_in_use() != shared.instructions) {
    fail_run(ErrorId::bad_call,
             "{} was loaded when kernels used {}, and they use {} now; load it again instead of cloning it",
             shared.network.path, name_of(shared.instructions), name_of(instructions_in_use()));
  }
  const InferenceBytes bytes = bytes_of(shared.network, *engines, shared.piece);
  require_free_memory(shared.network.path, bytes.workspace + bytes.statistics);
  auto parts = std::make_unique<Parts>(parts_->shared, std::move(engines));
  const Execution exec;
  const auto& from = parts_->buffers.state();
  const auto& to = parts->buffers.state();
  for (std::size_t i = 0; i < to.size(); ++i) convert(exec, from[i].values, to[i].values);
  exec.fence("clone");
  return Model(std::move(parts));
}

void Model::infer(const Execution& exec, const ConstArray& x, const Array& y, Units units) {
  run(exec, x, y, nullptr, units);
}

void Model::infer_with_deviations(const Execution& exec, const ConstArray& x, const Array& y,
                                  const Array& deviations, Units units) {
  if (!has_deviations()) {
    fail_input(ErrorId::bad_call,
               "{} has no standard deviations: its model.loss is \"{}\"; \"gaussian\" computes them",
               parts_->shared->network.path, name_of(parts_->chain().loss()));
  }
  run(exec, x, y, &deviations, units);
}

void Model::run(const Execution& exec, const ConstArray& x, const Array& y, const Array* deviations,
                Units units) {
  const int level = parallel_level();
  if (level > 1) {
    fail_run(
        ErrorId::bad_call,
        "Model::infer was called inside nested OpenMP parallel regions (level {}); one level is possible",
        level);
  }
  ArraySamples in = samples_of(x, parts_->inputs());
  ArraySamples out = samples_of(y, parts_->outputs());
  match_samples(in, out);
  std::optional<ArraySamples> of_deviations;
  if (deviations != nullptr) {
    of_deviations = samples_of(*deviations, parts_->deviations());
    ArraySamples means = out;
    ArraySamples beside = *of_deviations;
    match_samples(means, beside, "y", "deviations");  // for its checks
    match_samples(in, *of_deviations, "x", "deviations");
  }
  const ArraySamples* const spread = of_deviations ? &*of_deviations : nullptr;
  if (in.count == 0) return;
  if constexpr (!memory_is_host) return parts_->infer(exec, in, out, spread, units);
  const Execution& on = level == 0 ? exec : parts_->alone;
  const int threads = threads_of(on);
  if (threads > max_workers()) {
    fail_input(ErrorId::bad_call, "the execution instance has {} threads, but Kokkos was initialised with {}",
               threads, max_workers());
  }
  const ThreadLimit limit(threads);
  parts_->infer(on, in, out, spread, units);
}

bool Model::has_deviations() const {
  return parts_->chain().has_deviations();
}

std::int64_t Model::inputs() const {
  return parts_->chain().inputs();
}
std::int64_t Model::outputs() const {
  return parts_->chain().outputs();
}
const std::vector<std::int64_t>& Model::input_shape() const {
  return parts_->shared->network.input_shape;
}
const std::vector<std::int64_t>& Model::output_shape() const {
  return parts_->shared->network.output_shape;
}
const std::vector<std::string>& Model::input_names() const {
  return parts_->shared->network.input_names;
}
const std::vector<std::string>& Model::target_names() const {
  return parts_->shared->network.target_names;
}
const std::vector<std::string>& Model::class_names() const {
  return parts_->shared->network.class_names;
}
std::int64_t Model::step() const {
  return parts_->shared->network.step;
}
DType Model::type() const {
  return parts_->chain().signature(0).compute_type;
}
std::int64_t Model::samples_per_piece() const {
  return parts_->shared->piece;
}
InferenceBytes Model::bytes() const {
  return bytes_of(parts_->shared->network, *parts_->engines, parts_->shared->piece);
}

}  // namespace mylos
