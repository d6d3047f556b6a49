#include "commands/trained_model.hpp"

#include <fmt/ranges.h>

#include <memory>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/train/plan/product_choice.hpp"
#include "mylos/train/step/agreed_kernels.hpp"

namespace mylos::app {
namespace {

constexpr const char* checkpoints = "checkpoints";  // in a run's folder

/// Returns the options of the checkpoint's run. Where a rank lacks their instructions, all ranks use the best
/// that they have in common.
KernelOptions usable_on_all(const KernelOptions& options, RankGroup& ranks) {
  KernelOptions usable = usable_here(options);
  const char mine = usable.instructions == options.instructions ? 1 : 0;
  std::vector<char> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&mine, all.data(), sizeof mine);
  if (std::find(all.begin(), all.end(), 0) != all.end()) usable.instructions.reset();
  return usable;
}

/// Prints a line where the run computed by other instructions. The engines of its GEMMs may differ without
/// one: the batches have other sizes here.
void note_other_instructions(const CheckpointReader& reader, const RankGroup& ranks) {
  if (ranks.rank() != 0) return;
  const std::string before = engines_of(reader).instructions;
  if (before.empty() || before == describe_instructions()) return;
  print_error(
      fmt::format("mylos: {}: was trained by {}, and runs by {} here: sums may be rounded differently",
                  reader.path(), printable(before), describe_instructions()));
}

/// All ranks. Returns the options of the checkpoint's run: from here on ranks wait for each other as in it.
Options options_of_run(const CheckpointReader& reader) {
  Options options;
  run_on_all(reader.ranks(),
             [&] { options = read_stored_deck(reader.header().deck, reader.path()).options; });
  keep_deadline(options.communication);
  return options;
}

}  // namespace

std::string best_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure))
    fail_input(errors::not_a_folder, "{}: is a file; --best takes a run's folder", path);
  if (const auto best = best_checkpoint(run_folder(path))) return best->path;
  const std::string name = run_folder(path) + "/" + checkpoints + "/best";
  if (std::filesystem::exists(name, failure))
    fail_input(errors::no_checkpoint,
               "{}: names a checkpoint that does not exist; the next better one replaces it", name);
  fail_input(errors::no_checkpoint,
             "{}: has no best checkpoint, which {}/best would name; a run keeps one if its deck has "
             "checkpoint.keep_best = \"validation.loss\", or another metric",
             path, checkpoints);
}

std::string checkpoint_file(RankGroup& ranks, const NamedCheckpoint& checkpoint) {
  const std::string& path = checkpoint.path;
  std::error_code failure;
  if (!std::filesystem::exists(path, failure))
    fail_input(errors::no_such_file, "{}: there is no such file or folder", path);
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
  fail_input(errors::no_checkpoint, "{}: is a folder with no valid checkpoint in {}/{}{}", path, checkpoints,
             found.messages.empty() ? "" : ": ", fmt::join(found.messages, "; "));
}

void require_average(const CheckpointReader& reader, const NamedCheckpoint& checkpoint) {
  if (!checkpoint.average || has_average(reader)) return;
  if (reader.header().kind == FileKind::model) {
    fail_input(errors::no_average,
               "{}: is a model file, which has one set of weights; leave out --average, which `mylos export` "
               "takes",
               reader.path());
  }
  fail_input(errors::no_average,
             "{}: has no average of its weights, which a run keeps if its deck has optimizer.average = "
             "0.999, or another decay; leave out --average",
             reader.path());
}

std::unique_ptr<StoredModel> open_stored_model(
    const NamedCheckpoint& checkpoint, const std::function<void(const StoredNetwork&)>& check,
    const std::function<std::vector<std::int64_t>(const StoredNetwork&)>& shape_of) {
  auto stored = std::make_unique<StoredModel>();
  RankGroup& ranks = ranks_of_start();
  const CheckpointReader reader(ranks, checkpoint_file(ranks, checkpoint), ReadableKinds::all);
  require_average(reader, checkpoint);
  static_cast<void>(options_of_run(reader));
  stored->network = read_stored_network(reader);
  run_on_all(ranks, [&] { check(stored->network); });
  const Options& options = stored->network.options;
  stored->kokkos = std::make_unique<KokkosRuntime>(options.run.threads);
  stored->execution = std::make_shared<Execution>();
  stored->communicator = make_communicator(MPI_COMM_WORLD, communication_of_start());
  stored->engines = make_agreed_engines(usable_on_all(options.kernels, ranks), ranks);
  note_other_instructions(reader, ranks);
  run_on_all(ranks, [&] { move_to_grid(stored->network, shape_of(stored->network)); });
  const Chain& chain = stored->network.chain;
  const std::int64_t samples =
      samples_per_piece(chain, *stored->engines, std::numeric_limits<std::int64_t>::max());
  run_on_all(ranks, [&] {
    require_memory(stored->network.path, InferenceModel::memory(chain, *stored->engines, samples).total() +
                                             RowInference::memory_bytes(chain, samples));
  });
  stored->model = std::make_unique<InferenceModel>(chain, *stored->engines, samples);
  stored->model->read(reader, checkpoint.average, stored->network.normalizer);
  return stored;
}

std::unique_ptr<TrainedModel> open_trained_model(const NamedCheckpoint& checkpoint, const NetworkData& data,
                                                 const OpenOptions& open) {
  auto trained = std::make_unique<TrainedModel>();
  RankGroup& ranks = ranks_of_start();
  const CheckpointReader reader(ranks, checkpoint_file(ranks, checkpoint), ReadableKinds::all);
  require_average(reader, checkpoint);
  // Before the data are opened: arrays are read into Kokkos' memory.
  trained->kokkos = std::make_unique<KokkosRuntime>(options_of_run(reader).run.threads);
  trained->execution = std::make_shared<Execution>();
  trained->network = open_trained_network(ranks, reader, data);
  if (open.seed) trained->network.deck.options.run.seed = *open.seed;
  const Options& options = trained->network.deck.options;
  trained->communicator = make_communicator(MPI_COMM_WORLD, communication_of_start());
  trained->engines = make_agreed_engines(usable_on_all(options.kernels, ranks), ranks);
  note_other_instructions(reader, ranks);
  if (open.loads_weights)
    trained->model = load_model(ranks, reader, trained->network, *trained->engines, checkpoint.average);
  return trained;
}

}  // namespace mylos::app
