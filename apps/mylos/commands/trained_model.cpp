#include "commands/trained_model.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "mylos/inference/trained_samples.hpp"
#include "launch/standard_output.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/model/chain/key_value_cache.hpp"
#include "mylos/model/memory/placement.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/train/plan/product_choice.hpp"
#include "mylos/train/start/run_state.hpp"
#include "mylos/train/step/agreed_kernels.hpp"

namespace mylos::app {
namespace {

constexpr const char* checkpoints = "checkpoints";  // in a run's folder

/// Of a batch: enough for the products to be efficient.
constexpr std::int64_t max_inference_rows = 1024;
/// Of a batch's activations, where a sample does not take more.
constexpr std::size_t max_activation_bytes = std::size_t{1} << 30;

std::size_t activation_bytes(const Chain& chain, const GemmEngine& gemm, std::int64_t samples) {
  return make_evaluation_layout(chain_cost(chain, gemm, samples * chain.rows_per_sample), 0).bytes;
}

/// Samples of a batch: the same on ranks that compute with the same threads and instructions.
std::int64_t samples_of_batch(const Chain& chain, const GemmEngine& gemm, const RunData* data) {
  if (data == nullptr) return 1;
  std::int64_t samples = std::max<std::int64_t>(1, max_inference_rows / chain.rows_per_sample);
  samples = std::min(samples, data->samples(DataPart::train));
  while (samples > 1 && activation_bytes(chain, gemm, samples) > max_activation_bytes)
    samples = (samples + 1) / 2;
  return samples;
}

/// A network of numbered tokens (a converted one, too) does not know what they stand for; numbers are counted
/// up to the largest, of which a part of the same text may have fewer.
bool may_judge(const Vocabulary& known, const Vocabulary& given) {
  return given == known || (known.kind() == TokenKind::tokens && given.size() <= known.size());
}

/// What the checkpoint says of its tokens must be true of its network and of the data.
void check_vocabulary(const TrainedModel& trained) {
  if (!trained.vocabulary) return;
  const Vocabulary& known = *trained.vocabulary;
  const std::int64_t classes = trained.deck.options.model.vocabulary;
  if (known.size() > classes) {
    fail_input("{}: its vocabulary has {} tokens, its network {}", trained.path, known.size(), classes);
  }
  const std::optional<Vocabulary> given = trained.data ? trained.data->vocabulary() : std::nullopt;
  if (given && !may_judge(known, *given)) {
    fail_input("{}: has {} {}, but {} was trained on {} {}{}", trained.data->path(), given->size(),
               name_of(given->kind()), trained.path, known.size(), name_of(known.kind()),
               given->size() == known.size() ? " that are others" : "");
  }
}

/// What a layer's weights, [outputs, inputs], say of one of the two.
std::int64_t width_of(const CheckpointReader& reader, const std::string& layer, std::size_t dimension) {
  const std::string path = "/model/" + layer + "/weight";
  const std::vector<std::int64_t> dims = reader.dims(path);
  if (dims.size() != 2 || dims[0] == 0 || dims[1] == 0)  // an empty one may claim any height
    fail_input("{}: {} is no matrix [outputs, inputs]", reader.path(), path);
  return dims[dimension];
}

void require_range(const std::string& path, const InputRange& range, std::int64_t inputs) {
  const auto columns = static_cast<std::int64_t>(range.minimum.size());
  if (columns == 0 || inputs % columns == 0) return;
  fail_input("{}: /input_range has {} columns, its network {}", path, columns, inputs);
}

void require_columns(const std::string& path, const std::string& of, const ColumnScaling& scaling,
                     std::int64_t columns) {
  if (scaling.identity() || static_cast<std::int64_t>(scaling.shift.size()) == columns) return;
  fail_input("{}: /data/normalization/{} has {} columns, its network {}", path, of, scaling.shift.size(),
             columns);
}

/// The deck may leave inputs and outputs to the data, and data without answers know no outputs: the weights
/// know both. The data must be of these widths.
void complete_widths(const CheckpointReader& reader, TrainedModel& trained) {
  ModelOptions& model = trained.deck.options.model;
  const std::int64_t inputs = width_of(reader, model.hidden.empty() ? "head" : "hidden1", 1);
  const std::int64_t outputs = width_of(reader, "head", 0);
  model.inputs = model.outputs = 0;
  trained.data->complete(model);
  if (model.inputs != inputs) {
    fail_input("{}: has {} inputs per sample, but {} was trained on {}{}", trained.data->path(), model.inputs,
               trained.path, inputs, names_of_inputs(reader, trained));
  }
  if (model.outputs != 0 && model.outputs != outputs) {
    fail_input("{}: has {} {}, but {} was trained on {}", trained.data->path(), model.outputs,
               model.loss == LossType::cross_entropy ? "classes" : "targets per sample", trained.path,
               outputs);
  }
  model.outputs = outputs;
  require_columns(trained.path, "inputs", trained.normalizer.inputs, inputs);
  require_range(trained.path, trained.normalizer.input_range, inputs);
  require_columns(trained.path, "targets", trained.normalizer.targets, outputs);
}

/// The same of layers that the deck lists: most say their outputs themselves.
void complete_chain(const CheckpointReader& reader, TrainedModel& trained) {
  ModelOptions& model = trained.deck.options.model;
  const std::int64_t given = model.outputs;
  model.inputs = model.outputs = 0;
  trained.data->complete(model);
  const std::size_t last = model.chain.size() - 1;
  std::int64_t trained_on = given;
  if (takes_outputs_of_data(model.chain, last)) {
    const std::int64_t copies = model.chain[last].repeat;
    const std::string name = layer_name(model.chain, last);
    trained_on = width_of(reader, copies == 1 ? name : fmt::format("{}.{}", name, copies), 0);
  }
  if (model.outputs != 0 && trained_on != 0 && model.outputs != trained_on) {
    fail_input("{}: has {} {}, but {} was trained on {}", trained.data->path(), model.outputs,
               model.loss == LossType::cross_entropy ? "classes" : "targets per sample", trained.path,
               trained_on);
  }
  if (trained_on != 0)
    model.outputs = trained_on;  // else make_chain() compares the data's with the last layer's
  require_columns(trained.path, "inputs", trained.normalizer.inputs, model.inputs);
  require_range(trained.path, trained.normalizer.input_range, model.inputs);
}

/// Returns the options of the checkpoint's run. If some rank lacks its instructions, all ranks use the best
/// that they have in common.
KernelOptions usable_on_all(const KernelOptions& options, RankGroup& ranks) {
  KernelOptions usable = usable_here(options);
  const char mine = usable.instructions == options.instructions ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, all.data(), sizeof mine);
  if (std::find(all.begin(), all.end(), 0) != all.end()) usable.instructions.reset();
  return usable;
}

/// `cache`: what keys and values take beside the network.
void require_memory(const std::string& path, std::size_t network, std::size_t cache) {
  const auto available = static_cast<std::size_t>(free_device_memory().value_or(available_host_memory()));
  if (network + cache <= available) return;
  const auto text = [](std::size_t bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); };
  throw Error(
      ExitCode::does_not_fit,
      fmt::format("{}: its network takes {} of memory{}, {} are available", path, text(network),
                  cache == 0 ? "" : fmt::format(", its keys and values {}", text(cache)), text(available)));
}

/// Its batches are other ones than the run's, and so may be the engines of their products; but the same
/// network by other instructions is worth a word.
void note_other_instructions(const CheckpointReader& reader, const RankGroup& ranks) {
  if (ranks.rank() != 0) return;
  const std::string before = engines_of(reader).instructions;
  if (before.empty() || before == describe_instructions()) return;
  print_error(
      fmt::format("mylos: {}: was trained by {}, and runs by {} here: sums may be rounded differently",
                  reader.path(), printable(before), describe_instructions()));
}

}  // namespace

std::string best_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure))
    fail_input("{}: is a file; --best takes a run's folder", path);
  if (const auto best = best_checkpoint(run_folder(path))) return best->path;
  const std::string name = run_folder(path) + "/" + checkpoints + "/best";
  if (std::filesystem::exists(name, failure))
    fail_input("{}: names a checkpoint that is not there; the next one that is better gets its place", name);
  fail_input(
      "{}: has no best checkpoint, which {}/best would name; a run keeps one where its deck says "
      "checkpoint.keep_best = \"validation.loss\", or another metric",
      path, checkpoints);
}

std::string checkpoint_file(RankGroup& ranks, const NamedCheckpoint& checkpoint) {
  const std::string& path = checkpoint.path;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) fail_input("{}: there is no such file or folder", path);
  if (checkpoint.best) {
    std::string best;
    run_on_first(ranks, [&] { best = best_file(path); });
    return broadcast_text(ranks, best);
  }
  if (!std::filesystem::is_directory(path, failure)) return path;
  const RestartChoice found = find_checkpoint(ranks, run_folder(path), "auto");
  if (found.path) {
    if (ranks.rank() == 0) {
      for (const std::string& skipped : found.messages) print_error(fmt::format("mylos: {}", skipped));
    }
    return *found.path;
  }
  fail_input("{}: is a folder with no valid checkpoint in {}/{}{}", path, checkpoints,
             found.messages.empty() ? "" : ": ", fmt::join(found.messages, "; "));
}

std::unique_ptr<EvaluationPass> TrainedModel::pass_over(DataPart part) const {
  return data->pass_over(part, normalizer,
                         EvaluationOptions{.type = model->chain().input_type(),
                                           .max_samples = model->samples(),
                                           .rank = communicator->rank(),
                                           .ranks = communicator->size(),
                                           .counts_outside = true});
}

void choose_whole_file(DataOptions& data, const std::string& file) {
  data.train = file;
  data.test.clear();
  data.validation = 0;
  data.batch = 1;
  data.micro_batch = 0;
}

std::unique_ptr<TrainedModel> open_trained_model(const NamedCheckpoint& checkpoint,
                                                 const std::function<void(DataOptions&)>& choose_data,
                                                 const std::function<void(const TrainedModel&)>& check,
                                                 Answers answers) {
  auto trained = std::make_unique<TrainedModel>();
  const CommunicationOptions communication;
  RankGroup ranks(MPI_COMM_WORLD, communication.timeout_s);
  trained->path = checkpoint_file(ranks, checkpoint);
  const CheckpointReader reader(ranks, trained->path);
  if (checkpoint.average && !has_average(reader)) {
    fail_input(
        "{}: has no average of its weights, which a run keeps where its deck says optimizer.average = "
        "0.999, or another decay; leave out --average",
        trained->path);
  }
  trained->step = reader.header().step;
  trained->deck = read_stored_deck(reader.header().deck, trained->path);
  trained->normalizer = read_normalizer(reader);
  trained->vocabulary = read_vocabulary(reader);
  Options& options = trained->deck.options;
  if (options.model.vocabulary == 0 && trained->vocabulary) {
    options.model.vocabulary = trained->vocabulary->size();
  }
  const DataOptions written = options.data;
  choose_data(options.data);
  if (options.data.train.empty() && !trained->vocabulary) {
    fail_input("{} is no network of tokens; `mylos predict` computes its outputs", trained->path);
  }
  options.data.normalize = Normalize::none;  // the checkpoint's is used
  options.data.augment = {};                 // of training alone
  options.checkpoint.keep_best.clear();      // likewise
  run_on_all(ranks, [&] {
    if (!options.data.train.empty()) {
      trained->data = open_run_data(options, answers);
      if (options.model.vocabulary > 0) check_vocabulary(*trained);  // says more than complete() can
      if (options.model.type == ModelType::gpt) trained->data->complete(options.model);
      if (options.model.type == ModelType::mlp) complete_widths(reader, *trained);
      if (options.model.type == ModelType::chain) complete_chain(reader, *trained);
      if (options.model.type != ModelType::gpt) match_samples(reader, written, *trained);
    }
    check_vocabulary(*trained);
    check(*trained);
  });

  trained->kokkos = std::make_unique<KokkosRuntime>(options.run.threads);
  trained->execution.emplace();
  trained->communicator = make_communicator(MPI_COMM_WORLD, communication);
  trained->gemm = make_agreed_engine(usable_on_all(options.kernels, ranks), ranks);
  note_other_instructions(reader, ranks);
  Chain chain = make_chain(options.model, options.precision, options.run.seed, false);
  if (options.model.type == ModelType::chain)
    require_columns(trained->path, "targets", trained->normalizer.targets, chain.outputs());
  const std::int64_t samples = samples_of_batch(chain, *trained->gemm, trained->data.get());
  run_on_all(ranks, [&] {
    const bool writes = trained->data == nullptr;  // a text, token by token
    require_memory(trained->path,
                   make_parameter_layout(chain, options.communication.bucket_bytes, 1).bytes() +
                       activation_bytes(chain, *trained->gemm, samples),
                   writes ? KeyValueCache::memory_bytes(options.model, chain) : 0);
  });
  trained->model = std::make_unique<Model>(std::move(chain), *trained->gemm, samples,
                                           options.communication.bucket_bytes, 1, Schedule{});
  CheckpointState parameters = parameter_state(trained->model->parameters(), checkpoint.average);
  add_buffers(parameters, trained->model->buffers());
  reader.read(parameters);
  trained->model->parameters().refresh_compute_weights(*trained->execution);
  return trained;
}

}  // namespace mylos::app
