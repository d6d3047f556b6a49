#include "mylos/inference/opened_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/stored/other_grid.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/model/chain/key_value_cache.hpp"

namespace mylos {
namespace {

/// Returns whether data with the vocabulary `given` are of the network's tokens. A network of numbered tokens
/// does not know what they stand for: a part of the same text may have fewer.
bool matches_vocabulary(const Vocabulary& known, const Vocabulary& given) {
  return given == known || (known.kind() == TokenKind::tokens && given.size() <= known.size());
}

/// Throws unless the tokens of the data are the network's.
void require_known_tokens(const OpenedNetwork& opened) {
  const StoredNetwork& network = opened.network;
  const std::optional<Vocabulary>& known = network.training.vocabulary;
  const std::optional<Vocabulary> given = opened.data->vocabulary();
  if (!known || !given || matches_vocabulary(*known, *given)) return;
  fail_input(errors::data_mismatch, "{}: has {} {}, but {} was trained on {} {}{}", opened.data->path(),
             given->size(), name_of(given->kind()), network.path, known->size(), name_of(known->kind()),
             given->size() == known->size() ? " that are others" : "");
}

/// Returns the shape of the data's samples where they state a grid other than that of the training samples.
/// `trained`: the shape of those, and as the training file had it where the deck has another view of it. A
/// shape of the same number of values and other axes may be a view of the same samples, which
/// match_samples() checks.
std::vector<std::int64_t> other_grid_of(const std::vector<std::int64_t>& given,
                                        const std::vector<std::int64_t>& trained,
                                        const std::vector<std::int64_t>& of_file) {
  if (given.empty() || trained.size() < 2 || given == trained || given == of_file) return {};
  const bool has_same_axes = given.size() == trained.size() && given.back() == trained.back();
  constexpr const char* what = "the shape of a sample";
  if (!has_same_axes && size_of_shape(given, what) == size_of_shape(trained, what)) return {};
  return given;
}

/// Makes a network on a grid read samples of the data's grid, and returns that where it is another one than
/// in training; else nothing.
std::vector<std::int64_t> follow_grid(const CheckpointReader& reader, OpenedNetwork& opened) {
  StoredNetwork& network = opened.network;
  const ModelOptions& model = network.options.model;
  if (model.type != ModelType::chain) return {};
  const std::vector<std::int64_t>& of_file = network.samples.grid;
  std::vector<std::int64_t> other =
      other_grid_of(opened.data->meaning().grid, model.shape.empty() ? of_file : model.shape, of_file);
  if (other.empty()) return other;
  complete_by_file(reader, network);
  try {
    move_to_grid(network, other);
  } catch (const Error& error) {
    throw error.with(fmt::format("{}: {}", opened.data->path(), error.message()));
  }
  return other;
}

/// Sets the sizes of the network by its weights and its data: the deck may leave them to the data, and data
/// without ground truth have no outputs. Throws where the data have other widths.
void complete_by_data(const CheckpointReader& reader, OpenedNetwork& opened) {
  StoredNetwork& network = opened.network;
  ModelOptions& model = network.options.model;
  const RunData& data = *opened.data;
  if (model.type == ModelType::gpt) return data.complete(model);
  const std::int64_t inputs = model.type == ModelType::mlp ? stored_inputs(reader, network) : 0;
  const std::int64_t of_weights = stored_outputs(reader, model);
  const std::int64_t outputs = of_weights != 0 ? of_weights : model.outputs;
  model.inputs = model.outputs = 0;
  data.complete(model);
  if (inputs != 0 && model.inputs != inputs) {
    fail_input(errors::data_mismatch, "{}: has {} inputs per sample, but {} was trained on {}{}", data.path(),
               model.inputs, network.path, inputs, names_of_inputs(opened));
  }
  if (model.outputs != 0 && outputs != 0 && model.outputs != outputs) {
    fail_input(errors::data_mismatch, "{}: has {} {}, but {} was trained on {}", data.path(), model.outputs,
               model.prediction() == Prediction::classes ? "classes" : "targets per sample", network.path,
               outputs);
  }
  if (outputs != 0) model.outputs = outputs;  // else make_chain() compares the data's with the last layer's
}

EvaluationOptions options_of(const OpenedNetwork& opened, const InferenceModel& model,
                             const RankGroup& ranks) {
  EvaluationOptions options{.type = model.chain().input_type(),
                            .max_samples = model.samples(),
                            .rank = ranks.rank(),
                            .ranks = ranks.size(),
                            .counts_outside = true};
  if (!opened.divided) return options;
  const Mesh& mesh = opened.divided->mesh;
  options.rank = mesh.batch_rank();
  options.ranks = mesh.batch_ranks();
  options.part = mesh.part();
  return options;
}

/// Returns the least number of all ranks.
std::int64_t agreed_samples(RankGroup& ranks, std::int64_t samples) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&samples, all.data(), sizeof samples);
  return *std::ranges::min_element(all);
}

}  // namespace

void require_memory(const std::string& path, std::size_t network, std::size_t cache) {
  const auto available = static_cast<std::size_t>(free_device_memory().value_or(available_host_memory()));
  if (network + cache <= available) return;
  const auto text = [](std::size_t bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); };
  throw Error(
      ExitCode::does_not_fit, errors::does_not_fit,
      fmt::format("{}: the network takes {} of memory{}, but {} are available", path, text(network),
                  cache == 0 ? "" : fmt::format(", the keys and values {}", text(cache)), text(available)));
}

void require_host_memory(const std::string& what, std::size_t bytes) {
  const std::int64_t available = available_host_memory();
  if (static_cast<std::int64_t>(bytes) <= available) return;
  throw Error(ExitCode::does_not_fit, errors::does_not_fit,
              fmt::format("{} take {} of memory, but {} are available", what,
                          format_bytes(static_cast<std::int64_t>(bytes)), format_bytes(available)));
}

std::unique_ptr<EvaluationPass> OpenedNetwork::pass_over(DataPart part, const InferenceModel& model,
                                                         const RankGroup& ranks) const {
  return data->pass_over(part, network.training.normalizer, options_of(*this, model, ranks));
}

std::unique_ptr<EvaluationPass> OpenedNetwork::pass_over(DataPart part, const Share& only,
                                                         const InferenceModel& model,
                                                         const RankGroup& ranks) const {
  EvaluationOptions options = options_of(*this, model, ranks);
  options.whole_batches = true;
  options.only = only;
  return data->pass_over(part, network.training.normalizer, options);
}

void choose_whole_file(DataOptions& data, const DataFiles& files) {
  data.train = files;
  data.test.clear();
  data.validation = 0;
  data.batch = 1;
  data.micro_batch = 0;
}

OpenedNetwork open_network(const CheckpointReader& reader, const NetworkData& data) {
  OpenedNetwork opened{read_unsized_network(reader)};
  const std::shared_ptr<const PointWeights> weights = stored_point_weights(reader);
  StoredNetwork& network = opened.network;
  Options& options = network.options;
  const DataOptions written = options.data;
  data.choose(options.data);
  options.data.normalize = Normalize::none;                     // the file's is used
  if (options.data.arrays.given()) options.data.shape.clear();  // arrays have their own, maybe another
  options.data.arrays.compare_times_if(network.samples.level_step.is_stated());
  options.data.augment = {};             // of training alone
  options.rollout = {};                  // likewise
  options.checkpoint.keep_best.clear();  // likewise
  run_on_all(reader.ranks(), [&] {
    complete_vocabulary(network);
    opened.data = open_run_data(options, data.truth);
    require_known_tokens(opened);
    const std::vector<std::int64_t> other_grid = follow_grid(reader, opened);
    complete_by_data(reader, opened);
    // The loss is computed of samples with ground truth alone; without them the grid may be another one.
    if (data.truth == GroundTruth::required) options.model.point_weights = weights;
    if (data.seed) options.run.seed = *data.seed;
    set_chain(network);
    if (options.model.type != ModelType::gpt) match_samples(written, other_grid, opened);
    data.check(opened);
    if (divides(data.mesh)) {
      opened.divided =
          divide_network(network, data.mesh, reader.ranks(), data.truth == GroundTruth::required);
    }
  });
  return opened;
}

std::unique_ptr<InferenceModel> load_model(const CheckpointReader& reader, const OpenedNetwork& opened,
                                           const Engines& engines, bool average, std::int64_t piece) {
  const StoredNetwork& network = opened.network;
  const Chain& chain = opened.chain();
  const bool has_data = opened.data != nullptr;
  const bool continues_text = !has_data && network.options.model.type == ModelType::gpt;  // token by token
  const std::int64_t max_samples = has_data         ? opened.data->samples(DataPart::train)
                                   : continues_text ? 1
                                                    : std::numeric_limits<std::int64_t>::max();
  std::int64_t samples = piece > 0 ? piece : samples_per_piece(chain, engines, max_samples);
  if (opened.divided) samples = agreed_samples(reader.ranks(), samples);
  run_on_all(reader.ranks(), [&] {
    const std::size_t bytes = InferenceModel::memory(chain, engines, samples).total();
    const std::size_t of_rows = has_data || continues_text ? 0 : RowInference::memory_bytes(chain, samples);
    require_memory(network.path, bytes + of_rows,
                   continues_text ? KeyValueCache::memory_bytes(network.options.model, network.chain) : 0);
  });
  auto model = std::make_unique<InferenceModel>(chain, engines, samples);
  model->read(reader, average);
  return model;
}

}  // namespace mylos
