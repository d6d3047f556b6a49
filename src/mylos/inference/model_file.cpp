#include "mylos/inference/model_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/file/laid_out_file.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/checkpoint/write/completion.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/config/keys/sizes.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/inference/uncertainty/stored_inputs.hpp"
#include "mylos/io/files/digest.hpp"
#include "mylos/io/files/raw_file.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// An array of floats in the checkpoint, and the same in the model file.
struct CopiedArray {
  std::string source;
  StateArray target;  // without pieces
};

/// Returns the options by which the model file's deck makes the network.
Options exported_options(const StoredNetwork& network, const std::optional<DType>& type) {
  Options options = network.options;
  ModelOptions sizes = options.model;
  if (sizes.type != ModelType::gpt) sizes.outputs = network.chain.outputs();  // 0: of the last layer
  take_sizes(options, sizes);
  if (!type) return options;
  options.precision.compute = *type;
  options.precision.masters = MasterWeights::fp32;  // "none" is refused without weights in 16 bits
  options.precision.adapt = false;                  // it would choose the type
  return options;
}

/// Notes that a layer reads the weight in `type`. Layers that read it in different types round it from float.
void note_type(std::map<std::string, DType>& types, const std::string& weight, DType type) {
  const auto [known, is_new] = types.emplace(weight, type);
  if (!is_new && known->second != type) known->second = DType::fp32;
}

/// Returns the type in the file of each weight, "hidden1/weight".
std::map<std::string, DType> stored_types(const Chain& chain) {
  std::map<std::string, DType> types;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage))
      note_type(types, chain.stage_name(stage) + "/" + spec.name, spec.type);
  }
  if (const auto borrowed = chain.head->borrows()) {
    note_type(types, chain.stage_name(borrowed->block) + "/" + borrowed->name,
              chain.head->signature().compute_type);
  }
  return types;
}

/// Returns the weights and statistics of the chain, in its order.
std::vector<CopiedArray> copied_arrays(const Chain& chain, bool average) {
  const std::map<std::string, DType> types = stored_types(chain);
  std::vector<CopiedArray> arrays;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) {
      const std::string name = chain.stage_name(stage) + "/" + spec.name;
      arrays.push_back(
          {parameter_path(name, average), {parameter_path(name), types.at(name), stored_dims(spec), {}}});
    }
  }
  for (const auto& block : chain.blocks) {
    for (const BufferSpec& spec : block->buffers()) {
      if (spec.role != BufferRole::state) continue;
      const std::string path = "/buffers/" + block->signature().name + "/" + spec.name;
      arrays.push_back({path, {path, DType::fp32, {spec.size}, {}}});
    }
  }
  return arrays;
}

/// Throws Error unless the checkpoint has these arrays, of these shapes, in float, and no others.
void require_arrays(const CheckpointReader& checkpoint, const std::vector<CopiedArray>& arrays) {
  CheckpointState expected;
  for (const CopiedArray& array : arrays)
    expected.arrays.push_back({array.source, DType::fp32, array.target.dims, {}});
  checkpoint.require_match(expected);
}

void add_provenance(CheckpointState& state, const CheckpointReader& checkpoint, const StoredNetwork& network,
                    bool average) {
  const auto add = [&state](const char* name, std::string text) {
    state.add_text(std::string("/provenance/") + name, std::move(text));
  };
  add("run", network.options.run.name);
  add("checkpoint", std::filesystem::path(checkpoint.path()).filename().string());
  add("weights", average ? "average" : "current");
  add("compute", std::string(name_of(network.options.precision.compute)));
  add("code_version", checkpoint.header().code_version);
  add("created", checkpoint.header().created);
}

/// Rounds floats to T, to nearest. Throws Error if a finite one becomes infinite.
template <class T>
void round_all(const std::vector<float>& floats, std::vector<std::byte>& bytes, const std::string& where) {
  auto* const values = reinterpret_cast<T*>(bytes.data());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    values[i] = from_float<T>(floats[i]);
    if (!std::isfinite(floats[i]) || std::isfinite(to_float(values[i]))) continue;
    fail_input(errors::not_finite, "{} has {}, which {} cannot hold; export the network as bf16 or fp32",
               where, floats[i], name_of(dtype_of<T>));
  }
}

/// Copies arrays into the model file, piece by piece.
class Copier {
 public:
  Copier(const CheckpointReader& checkpoint, LaidOutFile& file, const CheckpointState& state)
      : checkpoint_(checkpoint),
        offsets_(file.array_offsets()),
        state_(state),
        file_(file.temporary(), RawFile::Access::write, RawFile::Cache::bypass) {}

  /// Copies array `index` of the state from floats of the checkpoint, and verifies their CRC-32.
  void copy(std::size_t index, const std::string& source) {
    const StateArray& array = state_.arrays[index];
    const hdf5::Dataset dataset = checkpoint_.file().dataset(source);
    const std::string where = fmt::format("{}: {}", checkpoint_.path(), source);
    constexpr std::int64_t max_count = piece_bytes / static_cast<std::int64_t>(sizeof(float));
    std::uint32_t crc = 0;
    for (std::int64_t first = 0; first < array.size(); first += max_count) {
      const std::int64_t count = std::min(max_count, array.size() - first);
      floats_.resize(static_cast<std::size_t>(count));
      dataset.read(first, count, floats_.data());
      crc = crc32_of(floats_.data(), floats_.size() * sizeof(float), crc);
      bytes_.resize(static_cast<std::size_t>(array.bytes_of(count)));
      dispatch(array.type, [&]<class T>(TypeTag<T>) { round_all<T>(floats_, bytes_, where); });
      write(index, {first, count, bytes_.data()});
    }
    require_crc(checkpoint_.file(), source, crc);
  }

  /// Writes the pieces of array `index` from memory.
  void write(std::size_t index) {
    for (const StatePiece& piece : state_.arrays[index].pieces) write(index, piece);
  }

  /// Ends the writes, and returns the CRC-32s of all pieces.
  [[nodiscard]] std::vector<PieceCrc> finish() {
    file_.finish();
    return std::move(crcs_);
  }

 private:
  void write(std::size_t index, const StatePiece& piece) {
    const std::uint32_t crc = write_bytes(file_, offsets_[index], state_.arrays[index], piece);
    crcs_.push_back({static_cast<std::uint32_t>(index), crc, piece.first, piece.count});
  }

  const CheckpointReader& checkpoint_;
  const std::vector<std::int64_t>& offsets_;
  const CheckpointState& state_;
  RawFile file_;
  std::vector<float> floats_;
  std::vector<std::byte> bytes_;
  std::vector<PieceCrc> crcs_;
};

}  // namespace

WrittenModel write_model_file(const CheckpointReader& checkpoint, const std::string& path,
                              const ModelFileOptions& options) {
  const bool average = options.weights == StoredWeights::average;
  if (average && !has_average(checkpoint)) {
    fail_input(errors::no_average, "{}: has no /average, the moving average of the weights",
               checkpoint.path());
  }
  StoredNetwork network = read_stored_network(checkpoint, NetworkKinds::numbers_and_tokens);
  const Options exported = exported_options(network, options.type);
  const Chain chain = make_chain(exported.model, exported.precision, exported.run.seed, false);
  const std::vector<CopiedArray> arrays = copied_arrays(chain, average);
  require_arrays(checkpoint, arrays);

  PointWeights weights;
  if (const auto stored = stored_point_weights(checkpoint)) weights = *stored;
  CheckpointHeader header = checkpoint.header();
  header.kind = FileKind::model;
  header.code_version = code_version();
  header.deck = resolve(exported);
  CheckpointState state;
  for (const CopiedArray& array : arrays) state.arrays.push_back(array.target);
  add_stored_data(state, network.training);
  add_point_weights(state, weights);
  InputStatistics inputs = options.inputs.value_or(InputStatistics{});
  add_input_statistics(state, inputs);
  add_samples(state, network.samples.grid, network.samples);
  add_provenance(state, checkpoint, network, average);
  std::vector<ConformalCalibration> calibrations = options.calibrations;
  for (ConformalCalibration& calibration : calibrations) add_calibration(state, calibration);
  complete(header, state, WritingGroup(nullptr));

  LaidOutFile file(path, header, state);
  Copier copier(checkpoint, file, state);
  for (std::size_t i = 0; i < arrays.size(); ++i) copier.copy(i, arrays[i].source);
  for (std::size_t i = arrays.size(); i < state.arrays.size(); ++i) copier.write(i);
  file.finish(state, copier.finish());

  WrittenModel written{.type = exported.precision.compute};
  for (const CopiedArray& array : arrays) {
    if (!array.target.path.starts_with("/model/")) continue;
    written.weights += array.target.size();
    written.weight_bytes += array.target.bytes();
  }
  return written;
}

}  // namespace mylos
