// How a run is put together from what its start has found, and the files that it writes first.
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/rollout_feedback.hpp"
#include "mylos/model/memory/chain_flops.hpp"
#include "mylos/train/adapt/scaler_restart.hpp"
#include "mylos/train/history/run_starts.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/plan/recompute_settings.hpp"
#include "mylos/train/run/components/run_decks.hpp"
#include "mylos/train/run/run.hpp"
#include "mylos/train/run/run_start.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {
namespace {

/// With health.on_divergence = "rewind", a run keeps as many checkpoints of checkpoint.every as a run that
/// was never stopped in between.
CheckpointOptions kept_checkpoints(const Options& options) {
  CheckpointOptions checkpoint = options.checkpoint;
  checkpoint.keep_last_regular = options.health.on_divergence == OnDivergence::rewind;
  return checkpoint;
}

/// Rank 0 watches file and walltime for all ranks.
StopSources stop_sources(const RunRequest& request, const RunContext& run) {
  StopSources stop = request.stop;
  if (run.is_first_rank()) {
    stop.file = run.file("stop");
    stop.walltime_s = static_cast<double>(run.options().run.walltime_s);
  }
  return stop;
}

/// The work of a sample, once the trainer is made.
RunWork work_of(const Assembly& parts, double peak_flops) {
  const Chain& chain = parts.trainer->model().chain();
  const auto& rollout = parts.network.rollout;
  ChainFlops of_sample =
      flops_of_sample(parts.network.training_chain(), *parts.engines, parts.memory.plan.schedule);
  if (rollout && rollout->runs_alone()) {  // in as many passes
    of_sample.model *= static_cast<double>(rollout->options.steps);
    of_sample.recomputed *= static_cast<double>(rollout->options.steps);
  }
  // The chain is that of a box.
  const double boxes =
      static_cast<double>(parts.network.step.boxes) / parts.network.options.model.part.weight();
  of_sample.model *= boxes;
  of_sample.recomputed *= boxes;
  const bool has_tokens = parts.network.options.model.type == ModelType::gpt;
  return {.tokens_of_sample = has_tokens ? chain.rows_per_sample : 0,
          .sample = of_sample,
          .peak_flops = peak_flops,
          .peak_is_measured = parts.network.options.run.peak_flops == 0};
}

void initialize_from(InitialWeights& weights, Trainer& trainer, const RunStart& start) {
  weights.load(trainer);
  for (const std::string& text : weights.lines()) start.line(text);
}

/// Whether the run resumes from a checkpoint of its own folder, under its own name. Another file may belong
/// to another branch of the run than the folder's checkpoints: the next start or return must not resume from
/// these.
bool resumes_from_own(RankGroup& ranks, const CheckpointReader& saved, const std::string& own) {
  bool is_own = false;
  run_on_first(ranks, [&] {
    std::error_code failure;
    is_own = std::filesystem::equivalent(saved.path(), own, failure);
  });
  ranks.broadcast(&is_own, sizeof is_own, 0);
  return is_own;
}

/// On rank 0. Adds a restart to starts.jsonl, unless this is a later segment of a start or nothing is left to
/// do.
void note_restart(const RunContext& run, const RunStart& start) {
  const std::string path = run.file("starts.jsonl");
  if (!start.saved) return forget_starts(path);
  if (start.request.earlier || run.position.at_end()) return;
  const int ranks = run.assembly.communicator->size();
  add_start(path, {.step = static_cast<std::uint64_t>(run.position.step),
                   .kind = "restart",
                   .cause = std::filesystem::path(start.saved->path()).filename().string(),
                   .subject = "",
                   .text = fmt::format("resumed on {} rank{}", ranks, ranks == 1 ? "" : "s")});
}

/// On rank 0, after checkpoints were set aside. Names the best checkpoint again. Returns a message; "": none.
std::string name_best_again(const Options& options, const BestEvaluation& best) {
  const std::string& folder = options.run.folder;
  if (options.checkpoint.keep_best.empty() || name_best(folder, best.step())) return "";
  forget_best(folder);
  if (best.step() < 0) return "";
  return fmt::format(
      "{}/checkpoints no longer has the best checkpoint so far ({}); the next better one is kept", folder,
      best.text());
}

/// On rank 0. Writes the files of the folder that describe this start. Returns messages.
std::vector<std::string> describe_start(const RunContext& run, const RunStart& start) {
  std::vector<std::string> notes = write_resolved_deck(run, start.request.deck.resolved);
  for (std::string& note : write_amended_deck(run)) notes.push_back(std::move(note));
  publish_text(run.file("plan.json"),
               plan_document(run.options().run.name, run.assembly.memory, {},
                             largest_exchanges(run.assembly.network, run.assembly.memory.plan.schedule)));
  std::error_code failure;
  std::filesystem::remove(run.file("requeue"), failure);
  std::filesystem::remove(run.file("summary.json"), failure);  // of an earlier start
  if (start.request.earlier) return notes;                     // a stop is meant for this start
  if (std::filesystem::remove(run.file("stop"), failure))      // meant for an earlier start
    notes.push_back(fmt::format("removed {}, which was there before this start", run.file("stop")));
  return notes;
}

/// "rollout: 4 applications of the network in a step, from 1 on one more every 2000 steps; noise 0.01"
std::string describe_rollout(const RolloutOptions& rollout) {
  std::string text = fmt::format("rollout: {} application{} of the network in a step", rollout.steps,
                                 rollout.steps == 1 ? "" : "s");
  if (rollout.grow_every > 0 && rollout.steps > 1)
    text += fmt::format(", from 1 on one more every {} steps", rollout.grow_every);
  if (rollout.detach && rollout.steps > 1) text += "; each is a separate pass";
  if (rollout.noise > 0) text += fmt::format("; noise {:g}", rollout.noise);
  return text;
}

/// Prints the network, the ranks, the engine and the memory.
void print_assembly(const RunContext& run, const RunStart& start) {
  const Options& options = run.options();
  const int ranks = run.assembly.communicator->size();
  start.line(fmt::format("{}: {} parameters, {} rank{}, batch {}, {} steps; GEMMs by {}, {}",
                         options.run.name, run.trainer().model().chain().parameter_count(), ranks,
                         ranks == 1 ? "" : "s", options.data.batch, run.position.total,
                         run.assembly.engines->gemm().name(), describe_instructions()));
  if (run.assembly.network.rollout) start.line(describe_rollout(options.rollout));
  if (const std::string mesh = describe_mesh(run.assembly.network); !mesh.empty())
    start.line("mesh.space: " + mesh);
  if (const std::string note = note_on_shards(run.assembly.network); !note.empty()) start.line(note);
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const MemoryPlan& memory = run.assembly.memory;
  start.line(fmt::format("memory: {} of {} per rank, {} of them activations; {}", bytes(memory.rank_bytes()),
                         bytes(memory.budget), bytes(memory.arena_bytes()), describe(memory)));
  if (const std::string note = note_on_recompute(memory, options.memory); !note.empty()) start.line(note);
  if (!memory_is_host) start.line(describe_device_libraries(run.assembly.communicator->connection_bytes()));
}

/// Opens the training batches, after a restart has read the position and the normalisation.
void open_batches(RunContext& run, const Normalizer& normalizer) {
  RankGroup& ranks = run.assembly.communicator->ranks();
  const NetworkPlan& network = run.assembly.network;
  TrainingReader reading = training_reader(network, ranks.rank(), run.assembly.memory.statement.token_bytes);
  reading.first_position = run.position.samples();
  run_on_all(ranks, [&] {
    if (network.rollout)
      run.trainer().set_feedback(feedback_scalings(normalizer, run.options().rollout.feedback));
    run.batches = std::make_unique<StagedBatches>(run.data->training_batches(normalizer, reading),
                                                  run.trainer().model().chain(), network.step.micro_batch);
  });
}

/// Continues the start of an earlier segment.
void continue_from(EarlierSegment& earlier, RunContext& run) {
  run.log.continue_from(earlier);
  run.clock = earlier.clock;
  run.clock.change_trainer();
  run.position.continue_start(earlier.first, earlier.steps);
}

}  // namespace

Run::Run(RunStart&& start)
    : context_(start),
      evaluations_(context_.file_of_first_rank("evaluations.csv"),
                   BestEvaluation(watched_metric(context_.options(), *context_.data),
                                  context_.options().run.patience)),
      records_(evaluations_.log()),
      checkpoints_(kept_checkpoints(context_.options()), context_.options().run.folder,
                   *context_.assembly.communicator),
      changes_(records_, checkpoints_),
      faults_(changes_),
      stop_(stop_sources(start.request, context_)) {
  const Options& options = context_.options();
  RankGroup& ranks = context_.assembly.communicator->ranks();
  const MemoryPlan& memory = context_.assembly.memory;  // planned for the network, and not allocated yet
  const double peak_flops =
      peak_flops_of(options.run, options.precision.compute, context_.assembly.engines->gemm(), ranks,
                    memory.statement.network_bytes() + memory.arena_bytes());
  run_on_all(ranks, [&] { evaluations_.open_rollouts(options); });
  run_on_all(ranks, [&] { assemble(context_.assembly, context_.position.total); });
  context_.log.set_work(work_of(context_.assembly, peak_flops));
  records_.open(context_);
  state_.data.identity = std::move(start.identity);
  state_.data.vocabulary = context_.data->vocabulary();
  state_.data.normalizer = std::move(start.normalizer);
  if (start.saved) restore(start);
  if (start.initial) initialize_from(*start.initial, context_.trainer(), start);
  note_assembly(context_.assembly, state_);
  const EvaluationOptions evaluating = evaluation_options(context_.assembly.network, ranks.rank());
  const std::int64_t classes = state_.data.vocabulary ? state_.data.vocabulary->size() : 0;
  run_on_all(ranks, [&] {
    evaluations_.open(*context_.data, state_.data.normalizer, evaluating, options,
                      context_.trainer().model().chain(), classes);
  });
  open_folder(start);
  if (!start.saved) {  // the types of a new run were chosen by time: a restart must resume with them
    for (const Amendment& amendment : context_.amendments) {
      context_.log.record(amendment.decision);
      checkpoints_.demand();
    }
  }
  const std::string obstacle = checkpoints_.write_asynchronously(
      full_state(context_.trainer().quiesce(), context_.trainer(), state_), memory.checkpoint_copy > 0);
  if (!obstacle.empty()) start.line("checkpoints are written between steps: " + obstacle);
  open_batches(context_, state_.data.normalizer);
  context_.clock.start();
  if (start.request.earlier) {
    continue_from(*start.request.earlier, context_);
    // After a return the first checkpoint records it before anything else happens: the checkpoint to which
    // the run returned does not know of it. A run that is killed before returns again, by the same steps.
    if (is_rewind(context_.amendments.back())) checkpoints_.demand();
  }
  context_.request = std::move(start.request);
}

void Run::restore(const RunStart& start) {
  const CheckpointReader& reader = *start.saved;
  const Options& options = context_.options();
  Trainer& trainer = context_.trainer();
  RankGroup& ranks = trainer.communicator().ranks();
  CheckpointState state = full_state(trainer.quiesce(), trainer, state_);
  run_on_all(ranks, [&] {
    for (RunComponent* component : components()) component->make_room(context_, reader, state);
  });
  reader.read(state);
  const auto step = static_cast<std::int64_t>(state_.step.step);
  if (step != reader.header().step)
    fail_input(errors::damaged, "{}: /schedule/step is {}, but / says {}", reader.path(), step,
               reader.header().step);
  std::string settled;
  std::string rounding;
  run_on_all(ranks, [&] {
    require_possible_scaler(state_.step.scaler, reader.path());
    if (!start.request.earlier)
      settled = settle_scaler(reader, options, trainer.initial_scaler(), state_.step);
    rounding = describe_rounding(reader, context_.assembly.network);
  });
  if (start.request.earlier)
    state_.step.scaler = scaler_after_return(state_.step.scaler, options, context_.amendments.back());
  trainer.write_state(state_.step);
  trainer.refresh_weights();
  const bool begins_average = trainer.optimizer().averages() && !has_average(reader);
  if (begins_average) trainer.begin_average();
  const Quiesced quiet = trainer.quiesce();
  context_.position.step = context_.position.first = step;
  std::vector<std::string> notes;
  run_on_all(context_.ranks(quiet), [&] {
    for (RunComponent* component : components()) {
      for (std::string& note : component->restore(context_, state, reader.path()))
        notes.push_back(std::move(note));
    }
  });
  start.line(fmt::format("restarted from {} at step {} of {}", reader.path(), step, context_.position.total));
  notes.push_back(settled);
  notes.push_back(rounding);
  if (begins_average)
    notes.push_back("optimizer.average: begins with the weights of this checkpoint, which has none");
  for (const std::string& note : notes) {
    if (!note.empty()) start.line(note);
  }
  start.note_changes(options, context_.position, static_cast<std::int64_t>(state_.step.updates));
}

void Run::open_folder(const RunStart& start) {
  const std::string& folder = context_.options().run.folder;
  RankGroup& ranks = context_.assembly.communicator->ranks();
  const std::int64_t step = context_.position.step;
  const bool afresh = !start.saved;
  const bool is_own = !afresh && resumes_from_own(ranks, *start.saved, checkpoint_path(folder, step));
  const std::vector<std::string> aside = set_aside_newer(ranks, folder, is_own ? step : -1);
  if (!afresh && !is_own) checkpoints_.demand();
  std::vector<std::string> notes;
  run_on_all(ranks, [&] {
    if (!context_.is_first_rank()) return;
    const std::string checkpoints = context_.file("checkpoints");
    std::error_code failure;
    std::filesystem::create_directories(checkpoints, failure);
    if (failure) fail_run(errors::cannot_write, "{}: cannot be made: {}", checkpoints, failure.message());
    if (afresh) {
      for (const std::string& before : records_.begin_anew(context_)) {
        if (before.empty()) continue;
        notes.push_back(
            fmt::format("the history of an earlier start, which has no checkpoint, is now {}", before));
      }
    }
    if (const std::string lost = name_best_again(context_.options(), evaluations_.best()); !lost.empty())
      notes.push_back(lost);
    for (std::string& note : describe_start(context_, start)) notes.push_back(std::move(note));
    note_restart(context_, start);
  });
  if (afresh && start.request.restart == "auto")
    start.line(fmt::format("no valid checkpoint in {}/checkpoints: the run starts afresh", folder));
  if (!aside.empty())
    start.line(fmt::format("moved to {}/checkpoints/superseded: {}", folder, fmt::join(aside, ", ")));
  for (const std::string& note : notes) start.line(note);
  print_assembly(context_, start);
}

}  // namespace mylos
