// What an OnlineTrainer writes to and reads from a checkpoint.
#include <algorithm>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/write/replicas.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/deck/difference.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/train/adapt/scaler_restart.hpp"
#include "mylos/train/history/run_events.hpp"
#include "mylos/train/online/online_parts.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/start/run_state.hpp"

namespace mylos {
namespace {

/// Sizes may be left to the data in the deck of `mylos train`; the weights' shapes determine them.
void require_same_run(const CheckpointReader& reader, const Options& options) {
  const Options written = stored_options(reader);
  const bool has_moments = Optimizer::share_moments(written.optimizer.type, options.optimizer.type);
  for (const KeyDifference& difference : differing_keys(written, options)) {
    if (difference.key == "optimizer.type" && !has_moments) {
      fail_input(errors::restart_mismatch,
                 "{}: optimizer.type was {}, the options say {}, which needs other moments", reader.path(),
                 difference.before, difference.after);
    }
    const bool is_size = difference.key == "model.inputs" || difference.key == "model.outputs";
    if (is_size || difference.key.rfind("model.", 0) != 0) continue;
    fail_input(errors::model_mismatch, "{}: {} was {}, the options say {}", reader.path(), difference.key,
               difference.before, difference.after);
  }
}

}  // namespace

void OnlineParts::record_steps(std::uint64_t last) {
  const auto kept = static_cast<std::uint64_t>(Trainer::record_capacity);
  const std::uint64_t from = std::max(recorded, last > kept ? last - kept : 0);
  std::vector<HistoryRow> rows;
  for (const StepRecord& record : assembly.trainer->read_records(from, last))
    rows.push_back({.record = record});
  history.append(rows);
  recorded = last;
}

void OnlineParts::continue_with_engines(const PlannedEngines& before, const std::string& path) {
  if (before.instructions == assembly.memory.engines.instructions) {
    for (PlannedEngine& gemm : assembly.memory.engines.gemms) {
      if (const PlannedEngine* stored = find_engine(before, gemm.problem))
        assembly.engines->gemm().choose(gemm.problem, stored->engine);  // where it can
      gemm.engine = assembly.engines->gemm().engine_of(gemm.problem);
    }
    assembly.trainer->forget_recordings();
  }
  if (const std::string note = rounding_note(before, assembly.memory.engines); !note.empty())
    line(path + ": " + note);
}

void OnlineTrainer::save(const std::string& path) {
  const BusyCall call = parts_->begin("OnlineTrainer::save");
  OnlineParts& parts = *parts_;
  Trainer& trainer = *parts.assembly.trainer;
  RankGroup& ranks = parts.assembly.communicator->ranks();
  parts.assembly.communicator->synchronize(trainer.execution());
  const Quiesced quiet = trainer.quiesce();
  RunState run;
  note_assembly(parts.assembly, run);
  run.step = trainer.read_state();
  run.data.position = parts.consumed;
  CheckpointHeader header;
  header.step = static_cast<std::int64_t>(run.step.step);
  header.code_version = code_version();
  header.deck = parts.deck;
  CheckpointState state = full_state(quiet, trainer, run);
  parts.record_steps(run.step.step);
  parts.history.save(state);
  require_equal_replicas(ranks, trainer.execution(), state);
  write_checkpoint_file(ranks, path, header, state);
}

void OnlineTrainer::load(const std::string& path) {
  const BusyCall call = parts_->begin("OnlineTrainer::load");
  OnlineParts& parts = *parts_;
  Trainer& trainer = *parts.assembly.trainer;
  RankGroup& ranks = parts.assembly.communicator->ranks();
  const CheckpointReader reader(ranks, path);
  trainer.discard_passes();
  const std::shared_ptr<const PointWeights> weights = stored_point_weights(reader);
  run_on_all(ranks, [&] {
    if (!reader.exists("/schedule"))
      fail_input(errors::weights_only, "{}: holds only weights (`mylos convert` or `mylos init` made it)",
                 path);
    if (reader.exists("/data/normalization") || reader.exists("/vocabulary")) {
      fail_input(errors::restart_mismatch,
                 "{}: was trained on normalised data or tokens, which views do not hold", path);
    }
    require_same_run(reader, parts.assembly.network.options);
    require_same_weights(path, weights, parts.assembly.network.options.model.point_weights);
  });
  RunState run;
  CheckpointState state = full_state(trainer.quiesce(), trainer, run);
  run_on_all(ranks, [&] {
    parts.history.make_room(reader, state);
    RunEvents::make_room(reader, state);  // of a run; a library's trainer does not continue them
  });
  reader.read(state);
  if (static_cast<std::int64_t>(run.step.step) != reader.header().step)
    fail_input(errors::damaged, "{}: /schedule/step is {}, but / says {}", path, run.step.step,
               reader.header().step);
  std::string settled;
  std::string rounding;
  run_on_all(ranks, [&] {
    parts.continue_with_engines(engines_of(reader), path);
    require_possible_scaler(run.step.scaler, path);
    settled = settle_scaler(reader, parts.assembly.network.options, trainer.initial_scaler(), run.step);
    rounding = describe_rounding(reader, parts.assembly.network);
  });
  for (const std::string& text : {settled, rounding}) {
    if (!text.empty()) parts.line(text);
  }
  trainer.write_state(run.step);
  trainer.refresh_weights();
  if (!has_average(reader)) trainer.begin_average();
  parts.assembly.communicator->synchronize(trainer.execution());  // the program may use MPI now
  parts.consumed = run.data.position;
  static_cast<void>(
      parts.history.restore(run.step.step, run.step.step));  // there is no file of which to say something
  parts.recorded = run.step.step;
  parts.diverged.reset();
}

}  // namespace mylos
