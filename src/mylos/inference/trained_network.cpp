#include "mylos/inference/trained_network.hpp"

#include <fmt/format.h>

#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/grids/other_grid.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/inference/stored_network.hpp"
#include "mylos/inference/trained_samples.hpp"
#include "mylos/inference/uncertainty/judged_rows.hpp"
#include "mylos/io/system/memory_shares.hpp"
#include "mylos/model/chain/key_value_cache.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

/// Returns whether data with the vocabulary `given` are of the network's tokens. A network of numbered tokens
/// does not know what they stand for: a part of the same text may have fewer.
bool may_judge(const Vocabulary& known, const Vocabulary& given) {
  return given == known || (known.kind() == TokenKind::tokens && given.size() <= known.size());
}

/// Throws unless the vocabulary of the checkpoint fits its network and the data.
void check_vocabulary(const TrainedNetwork& trained) {
  if (!trained.vocabulary) return;
  const Vocabulary& known = *trained.vocabulary;
  const std::int64_t classes = trained.deck.options.model.vocabulary;
  if (known.size() > classes) {
    fail_input(errors::damaged, "{}: the vocabulary has {} tokens, the network {}", trained.path,
               known.size(), classes);
  }
  const std::optional<Vocabulary> given = trained.data ? trained.data->vocabulary() : std::nullopt;
  if (given && !may_judge(known, *given)) {
    fail_input(errors::data_mismatch, "{}: has {} {}, but {} was trained on {} {}{}", trained.data->path(),
               given->size(), name_of(given->kind()), trained.path, known.size(), name_of(known.kind()),
               given->size() == known.size() ? " that are others" : "");
  }
}

void require_range(const std::string& path, const InputRange& range, std::int64_t inputs) {
  const auto columns = static_cast<std::int64_t>(range.minimum.size());
  if (columns == 0 || inputs % columns == 0) return;
  fail_input(errors::damaged, "{}: /input_range has {} columns, the network {}", path, columns, inputs);
}

void require_columns(const std::string& path, const std::string& of, const ColumnScaling& scaling,
                     std::int64_t columns) {
  if (scaling.identity() || static_cast<std::int64_t>(scaling.shift.size()) == columns) return;
  fail_input(errors::damaged, "{}: /data/normalization/{} has {} columns, the network {}", path, of,
             scaling.shift.size(), columns);
}

/// Sets inputs and outputs by the weights: the deck may leave them to the data, and data without answers have
/// no outputs. Throws where the data have other widths.
void complete_widths(const CheckpointReader& reader, TrainedNetwork& trained) {
  ModelOptions& model = trained.deck.options.model;
  const std::int64_t inputs = layer_width(reader, model.hidden.empty() ? "head" : "hidden1", 1);
  const std::int64_t outputs = stored_targets(reader, model, "head");
  model.inputs = model.outputs = 0;
  trained.data->complete(model);
  if (model.inputs != inputs) {
    fail_input(errors::data_mismatch, "{}: has {} inputs per sample, but {} was trained on {}{}",
               trained.data->path(), model.inputs, trained.path, inputs, names_of_inputs(reader, trained));
  }
  if (model.outputs != 0 && model.outputs != outputs) {
    fail_input(errors::data_mismatch, "{}: has {} {}, but {} was trained on {}", trained.data->path(),
               model.outputs, model.prediction() == Prediction::classes ? "classes" : "targets per sample",
               trained.path, outputs);
  }
  model.outputs = outputs;
  require_columns(trained.path, "inputs", trained.normalizer.inputs, inputs);
  require_range(trained.path, trained.normalizer.input_range, inputs);
  require_columns(trained.path, "targets", trained.normalizer.targets, outputs);
}

/// Returns the shape of the data's samples where they state a grid other than that of the training samples.
/// `trained`: the shape of those, and as the training file had it where the deck has another view of it. A
/// shape of the same number of values and other axes may be a view of the same samples, which
/// match_samples() judges.
std::vector<std::int64_t> other_grid_of(const std::vector<std::int64_t>& given,
                                        const std::vector<std::int64_t>& trained,
                                        const std::vector<std::int64_t>& of_file) {
  if (given.empty() || trained.size() < 2 || given == trained || given == of_file) return {};
  const bool has_same_axes = given.size() == trained.size() && given.back() == trained.back();
  constexpr const char* what = "the shape of a sample";
  if (!has_same_axes && size_of_shape(given, what) == size_of_shape(trained, what)) return {};
  return given;
}

/// Makes the network read samples of the data's grid where that is another one than in training.
void follow_grid(const CheckpointReader& reader, TrainedNetwork& trained) {
  ModelOptions& model = trained.deck.options.model;
  const std::vector<std::int64_t> of_file = stored_grid(reader);
  const std::vector<std::int64_t> shape = model.shape.empty() ? of_file : model.shape;
  trained.other_grid = other_grid_of(trained.data->meaning().grid, shape, of_file);
  if (trained.other_grid.empty()) return;
  StoredNetwork stored;
  stored.path = trained.path;
  stored.options = trained.deck.options;
  stored.normalizer = trained.normalizer;
  make_stored_chain(reader, stored);
  try {
    move_to_grid(stored, trained.other_grid);
  } catch (const Error& error) {
    throw error.with(fmt::format("{}: {}", trained.data->path(), error.message()));
  }
  model = stored.options.model;
  trained.normalizer = stored.normalizer;
}

/// Does the same for layers that the deck lists, most of which give their outputs themselves.
void complete_chain(const CheckpointReader& reader, TrainedNetwork& trained) {
  ModelOptions& model = trained.deck.options.model;
  const std::int64_t given = model.outputs;
  model.inputs = model.outputs = 0;
  trained.data->complete(model);
  const std::size_t last = model.chain.size() - 1;
  std::int64_t trained_on = given;
  if (takes_outputs_of_data(model.chain, last)) {
    const std::int64_t copies = model.chain[last].repeat;
    const std::string name = layer_name(model.chain, last);
    trained_on = stored_targets(reader, model, copies == 1 ? name : fmt::format("{}.{}", name, copies));
  }
  if (model.outputs != 0 && trained_on != 0 && model.outputs != trained_on) {
    fail_input(errors::data_mismatch, "{}: has {} {}, but {} was trained on {}", trained.data->path(),
               model.outputs, model.prediction() == Prediction::classes ? "classes" : "targets per sample",
               trained.path, trained_on);
  }
  if (trained_on != 0)
    model.outputs = trained_on;  // else make_chain() compares the data's with the last layer's
  require_columns(trained.path, "inputs", trained.normalizer.inputs, model.inputs);
  require_range(trained.path, trained.normalizer.input_range, model.inputs);
}

}  // namespace

void require_memory(const std::string& path, std::size_t network, std::size_t cache) {
  const auto available = static_cast<std::size_t>(free_memory_of_rank());
  if (network + cache <= available) return;
  const auto text = [](std::size_t bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); };
  throw Error(
      ExitCode::does_not_fit, errors::does_not_fit,
      fmt::format("{}: the network takes {} of memory{}, but {} are available", path, text(network),
                  cache == 0 ? "" : fmt::format(", the keys and values {}", text(cache)), text(available)));
}

std::unique_ptr<EvaluationPass> TrainedNetwork::pass_over(DataPart part, const InferenceModel& model,
                                                          const RankGroup& ranks) const {
  return data->pass_over(part, normalizer,
                         EvaluationOptions{.type = model.chain().input_type(),
                                           .max_samples = model.samples(),
                                           .rank = ranks.rank(),
                                           .ranks = ranks.size(),
                                           .counts_outside = true});
}

std::unique_ptr<EvaluationPass> TrainedNetwork::pass_over(DataPart part, const Share& only,
                                                          const InferenceModel& model,
                                                          const RankGroup& ranks) const {
  return data->pass_over(part, normalizer,
                         EvaluationOptions{.type = model.chain().input_type(),
                                           .max_samples = model.samples(),
                                           .rank = ranks.rank(),
                                           .ranks = ranks.size(),
                                           .whole_batches = true,
                                           .counts_outside = true,
                                           .only = only});
}

void choose_whole_file(DataOptions& data, const DataFiles& files) {
  data.train = files;
  data.test.clear();
  data.validation = 0;
  data.batch = 1;
  data.micro_batch = 0;
}

TrainedNetwork open_trained_network(RankGroup& ranks, const CheckpointReader& reader,
                                    const NetworkData& data) {
  TrainedNetwork network;
  network.path = reader.path();
  network.step = reader.header().step;
  network.deck = read_stored_deck(reader.header().deck, network.path);
  StoredData stored = read_stored_data(reader);
  network.trained_on = std::move(stored.identity);
  network.normalizer = std::move(stored.normalizer);
  network.vocabulary = std::move(stored.vocabulary);
  network.calibration = read_calibration(reader);
  const std::shared_ptr<const PointWeights> weights = stored_point_weights(reader);
  Options& options = network.deck.options;
  if (options.model.vocabulary == 0 && network.vocabulary)
    options.model.vocabulary = network.vocabulary->size();
  const DataOptions written = options.data;
  data.choose(options.data);
  if (options.data.train.empty() && !network.vocabulary) {
    fail_input(errors::wrong_format, "{} is not a network of tokens; `mylos predict` computes its outputs",
               network.path);
  }
  options.data.normalize = Normalize::none;                     // the checkpoint's is used
  if (options.data.arrays.given()) options.data.shape.clear();  // arrays have their own, maybe another
  options.data.augment = {};                                    // of training alone
  options.rollout = {};                                         // likewise
  options.checkpoint.keep_best.clear();                         // likewise
  run_on_all(ranks, [&] {
    if (!options.data.train.empty()) {
      network.data = open_run_data(options, data.answers);
      if (options.model.vocabulary > 0) check_vocabulary(network);  // its message says more than complete()'s
      if (options.model.type == ModelType::gpt) network.data->complete(options.model);
      if (options.model.type == ModelType::mlp) complete_widths(reader, network);
      if (options.model.type == ModelType::chain) {
        follow_grid(reader, network);
        complete_chain(reader, network);
      }
      if (options.model.type != ModelType::gpt) match_samples(reader, written, network);
    }
    // The loss is computed of samples with answers alone; without them the grid may be another one.
    if (data.answers == Answers::needed) options.model.point_weights = weights;
    check_vocabulary(network);
    data.check(network);
  });
  return network;
}

std::unique_ptr<InferenceModel> load_model(RankGroup& ranks, const CheckpointReader& reader,
                                           const TrainedNetwork& network, const Engines& engines,
                                           bool average, std::int64_t piece) {
  const Options& options = network.deck.options;
  Chain chain = make_chain(options.model, options.precision, options.run.seed, false);
  if (options.model.type == ModelType::chain)
    require_columns(network.path, "targets", network.normalizer.targets, chain.outputs());
  if (network.calibration) require_calibration_fits(*network.calibration, target_shape(chain), network.path);
  const bool has_data = network.data != nullptr;  // else it continues a text, token by token
  const std::int64_t samples =
      piece > 0 ? piece
                : samples_per_piece(chain, engines, has_data ? network.data->samples(DataPart::train) : 1);
  run_on_all(ranks, [&] {
    require_memory(network.path, InferenceModel::memory(chain, engines, samples).total(),
                   has_data ? 0 : KeyValueCache::memory_bytes(options.model, chain));
  });
  auto model = std::make_unique<InferenceModel>(std::move(chain), engines, samples);
  model->read(reader, average, network.normalizer);
  return model;
}

}  // namespace mylos
