#include "commands/open_model.hpp"

#include <fmt/ranges.h>

#include <memory>

#include <algorithm>
#include <filesystem>

#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/train/plan/engine_choice.hpp"
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
  run_on_all(reader.ranks(), [&] { options = stored_options(reader); });
  keep_deadline(options.communication);
  return options;
}

/// All ranks. Lets the ranks that share samples exchange what the network reads of other boxes.
void connect_boxes(OpenModel& model) {
  const Mesh& mesh = model.opened.divided->mesh;
  const SampleExchangeSizes sizes = sample_exchanges(model.opened.divided->chain, model.model->samples());
  const SlotBytes slot = SampleExchange::slot_bytes(mesh.boxes(), sizes);
  run_on_all(model.communicator->ranks(), [&] {
    std::size_t bytes = staging_bytes(communication_of_start(), model.communicator->size(), {&slot, 1});
    for (const MemoryEntry& entry : SampleExchange::memory(mesh.boxes(), sizes)) bytes += entry.bytes;
    require_memory(model.network().path, bytes);
  });
  model.normalizer = std::make_unique<const Normalizer>(normalizer_of(model.network(), mesh.part()));
  model.communicator->reserve({&slot, 1});
  model.exchange = std::make_unique<SampleExchange>(*model.communicator, mesh, 0, sizes, model.exchange_s);
}

}  // namespace

void require_single(const MeshOptions& mesh, const MemberArguments& members) {
  if (!divides(mesh) || !members.any()) return;
  fail_input(errors::bad_argument, "{}: samples are divided for one network without dropout; leave {} out",
             text_of_space(mesh), members.ensemble ? "--ensemble" : "--mc-dropout");
}

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

std::unique_ptr<OpenModel> open_model(const NamedCheckpoint& checkpoint, const OpenNetwork& open,
                                      bool loads_weights) {
  auto model = std::make_unique<OpenModel>();
  RankGroup& ranks = ranks_of_start();
  const CheckpointReader reader(ranks, checkpoint_file(ranks, checkpoint), ReadableKinds::all);
  require_average(reader, checkpoint);
  // Before the data are opened: arrays are read into Kokkos' memory.
  model->kokkos = std::make_unique<KokkosRuntime>(options_of_run(reader).run.threads);
  model->execution = std::make_shared<Execution>();
  model->opened = open(reader);
  model->communicator = make_communicator(MPI_COMM_WORLD, communication_of_start());
  model->engines = make_agreed_engines(usable_on_all(model->network().options.kernels, ranks), ranks);
  note_other_instructions(reader, ranks);
  if (loads_weights) model->model = load_model(reader, model->opened, *model->engines, checkpoint.average);
  if (loads_weights && model->opened.divided) connect_boxes(*model);
  return model;
}

std::unique_ptr<OpenModel> open_model(const NamedCheckpoint& checkpoint, const NetworkData& data,
                                      bool loads_weights) {
  const auto open = [&](const CheckpointReader& reader) { return open_network(reader, data); };
  return open_model(checkpoint, open, loads_weights);
}

}  // namespace mylos::app
