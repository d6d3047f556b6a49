// How a run is put together once its start is found out, and what it writes first.
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "mylos/base/errors/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/keys/sizes.hpp"
#include "mylos/model/memory/chain_flops.hpp"
#include "mylos/train/adapt/scaler_restart.hpp"
#include "mylos/train/plan/plan_document.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

constexpr const char* written_by_us = "# Every key with its value. Each start of the run writes this file.";

/// False where a file of this name is somebody else's: that stays as it is.
bool write_resolved(const std::string& path, const std::string& deck) {
  std::string first_line;
  if (std::ifstream before(path); std::getline(before, first_line) && first_line != written_by_us)
    return false;
  std::ofstream file(path, std::ios::trunc);
  file << written_by_us << '\n' << deck << std::flush;
  if (!file) fail_run("{}: cannot be written: {}", path, std::strerror(errno));
  return true;
}

/// A run that goes back by the checkpoints of checkpoint.every keeps as many of these as a run that was never
/// stopped in between.
CheckpointOptions kept_checkpoints(const Options& options) {
  CheckpointOptions checkpoint = options.checkpoint;
  checkpoint.keep_last_regular = options.health.on_divergence == OnDivergence::rewind;
  return checkpoint;
}

/// Of a run whose trainer is made.
RunWork work_of(const Assembly& parts, double peak_flops) {
  const Chain& chain = parts.trainer->model().chain();
  const bool has_tokens = parts.options.model.type == ModelType::gpt;
  return {.tokens_of_sample = has_tokens ? chain.rows_per_sample : 0,
          .sample = flops_of_sample(chain, *parts.gemm, parts.memory.plan.schedule),
          .peak_flops = peak_flops,
          .peak_is_measured = parts.options.run.peak_flops == 0};
}

}  // namespace

Run::Run(RunStart&& start)
    : amendments_(start.amendments),
      lock_(std::move(start.lock)),
      data_(std::move(start.data)),
      parts_(std::move(start.parts)),
      position_{.epochs = data_->epochs(), .total = start.steps, .max_of_start = start.request.stop_after},
      debug_tensors_(start.request.debug_tensors),
      log_(start.request.output, ranks().rank() == 0 ? file("history.csv") : "",
           ranks().rank() == 0 ? file("events.jsonl") : "", position_.total),
      evaluation_log_(ranks().rank() == 0 ? file("evaluations.csv") : "",
                      BestEvaluation(watched_metric(options(), *data_), options().run.patience)),
      checkpoints_(kept_checkpoints(options()), options().run.folder, *parts_.communicator,
                   {.note = [this](const std::string& line) { log_.progress().note(line); },
                    .trouble = [this](const Error& error) { on_io_error(error); },
                    .free_ranks = [this] { finish_update(); }}) {
  const MemoryPlan& memory = parts_.memory;  // planned for the network, and not taken yet
  const double peak_flops = peak_flops_of(options().run, options().precision.compute, *parts_.gemm, ranks(),
                                          memory.statement.network_bytes() + memory.arena_bytes());
  run_on_all(ranks(), [&] { assemble(parts_, position_.total); });
  log_.set_work(work_of(parts_, peak_flops));
  health_ =
      std::make_unique<RunHealth>(options(), *parts_.trainer, ranks().rank() == 0 ? file("health.csv") : "");
  state_.data_identity = std::move(start.identity);
  state_.vocabulary = data_->vocabulary();
  state_.normalizer = std::move(start.normalizer);
  header_.code_version = code_version();
  header_.deck = start.deck;
  header_.world_size = ranks().size();
  if (start.saved) restore(start);
  if (start.initial) begin_with(*start.initial, start);
  note_assembly(parts_, state_);
  const EvaluationOptions evaluating{parts_.trainer->model().chain().input_type(), parts_.step.micro_batch,
                                     ranks().rank(), ranks().size(), parts_.step.reproducible};
  run_on_all(ranks(), [&] {
    evaluations_ = std::make_unique<RunEvaluations>(*data_, state_.normalizer, evaluating, options().run);
  });
  open_folder(start);
  if (!start.saved) record_first_choice();
  prepare_checkpoints(start.request.output);
  open_batches();
  StopSources stop = start.request.stop;
  if (ranks().rank() == 0) {  // one look for all
    stop.file = file("stop");
    stop.walltime_s = static_cast<double>(options().run.walltime_s);
  }
  stop_ = StopRequests(std::move(stop));
  clock_.start();
  if (start.request.earlier) go_on_from(*start.request.earlier);
  request_ = std::move(start.request);
}

/// Of a run that starts afresh, by the clock of this start: another one is to go on with it.
void Run::record_first_choice() {
  for (const Amendment& amendment : amendments_) {
    log_.record(amendment.decision);
    checkpoints_.demand();
  }
}

/// What the segment before this one hands on. After a return the first checkpoint says so before anything
/// else happens: the one that was gone back to knows nothing of it. A run that is killed before comes here
/// again, by the same steps.
void Run::go_on_from(EarlierSegment& earlier) {
  log_.go_on_from(earlier);
  clock_ = earlier.clock;
  clock_.change_trainer();
  position_.continue_start(earlier.first, earlier.steps);
  if (is_rewind(amendments_.back())) checkpoints_.demand();
}

/// After a restart has read how far they were consumed, and their normalisation.
void Run::open_batches() {
  const Chain& chain = parts_.trainer->model().chain();
  const TrainingReader reading{.type = chain.input_type(),
                               .micro_batch = options().data.micro_batch,
                               .rank = ranks().rank(),
                               .ranks = ranks().size(),
                               .ranks_on_node = ranks().ranks_on_node(),
                               .first_position = position_.samples()};
  run_on_all(ranks(), [&] {
    batches_ = std::make_unique<StagedBatches>(data_->training_batches(state_.normalizer, reading), chain,
                                               parts_.step.micro_batch);
  });
}

void Run::restore(const RunStart& start) {
  const CheckpointReader& reader = *start.saved;
  Trainer& trainer = *parts_.trainer;
  CheckpointState state = full_state(trainer, state_);
  run_on_all(ranks(), [&] {
    log_.make_room(reader, state);
    health_->make_room(reader, state);
    evaluation_log_.make_room(reader, state);
    make_room_for_amendments(reader, state);
  });
  reader.read(state);
  const auto step = static_cast<std::int64_t>(state_.step.step);
  if (step != reader.header().step)
    fail_input("{}: /schedule/step is {}, but / says {}", reader.path(), step, reader.header().step);
  std::string settled;
  std::string rounding;
  run_on_all(ranks(), [&] {
    require_possible_scaler(state_.step.scaler, reader.path());
    if (!start.request.earlier)
      settled = settle_scaler(reader, options(), trainer.initial_scaler(), state_.step);
    rounding = describe_rounding(reader, options());
  });
  if (start.request.earlier)
    state_.step.scaler = scaler_after_return(state_.step.scaler, options(), amendments_.back());
  trainer.write_state(state_.step);
  trainer.refresh_weights();
  const bool begins_average = trainer.optimizer().averages() && !has_average(reader);
  if (begins_average) trainer.begin_average();
  parts_.communicator->synchronize(trainer.execution());  // MPI and NCCL traffic are not in flight together
  position_.step = position_.first = step;
  checkpoints_.restarted_from(step);
  std::vector<std::string> gaps;
  run_on_all(ranks(), [&] {
    health_->require_valid(reader.path());
    evaluation_log_.require_valid(reader.path(), step);
    gaps.push_back(log_.restore(state, reader.path(), step, clock_));
    gaps.push_back(evaluation_log_.restore(step));
    gaps.push_back(health_->restore(step));
  });
  start.line(fmt::format("restarted from {} at step {} of {}", reader.path(), step, position_.total));
  gaps.push_back(settled);
  gaps.push_back(rounding);
  if (begins_average)
    gaps.push_back("optimizer.average: begins with the weights of this checkpoint, which has none");
  for (const std::string& gap : gaps) {
    if (!gap.empty()) start.line(gap);
  }
  start.note_changes(options(), position_, static_cast<std::int64_t>(state_.step.updates));
}

void Run::begin_with(InitialWeights& weights, const RunStart& start) {
  weights.load(*parts_.trainer);
  for (const std::string& text : weights.lines()) start.line(text);
}

/// A file of another name, or from elsewhere, may be of another branch of the run than the folder's own are:
/// none of these is to be gone on from by the next start or return.
bool Run::goes_on_from_own(const CheckpointReader& saved) {
  bool is_own = false;
  run_on_first(ranks(), [&] {
    std::error_code failure;
    const std::string own = checkpoint_path(options().run.folder, position_.step);
    is_own = std::filesystem::equivalent(saved.path(), own, failure);
  });
  ranks().broadcast(&is_own, sizeof is_own, 0);
  return is_own;
}

void Run::open_folder(const RunStart& start) {
  const std::string& folder = options().run.folder;
  const bool afresh = !start.saved;
  const bool is_own = !afresh && goes_on_from_own(*start.saved);
  const std::vector<std::string> aside = set_aside_newer(ranks(), folder, is_own ? position_.step : -1);
  if (!afresh && !is_own) checkpoints_.demand();
  const std::string resolved = file("resolved.toml");  // deck.toml is the user's
  std::vector<std::string> notes;
  run_on_all(ranks(), [&] {
    if (ranks().rank() != 0) return;
    std::error_code failure;
    std::filesystem::create_directories(file("checkpoints"), failure);
    if (failure) fail_run("{}: cannot be made: {}", file("checkpoints"), failure.message());
    if (afresh) {
      for (const std::string& before :
           {log_.begin_anew(), evaluation_log_.begin_anew(), health_->begin_anew()}) {
        if (before.empty()) continue;
        notes.push_back(
            fmt::format("the history of an earlier start, which has no checkpoint, is now {}", before));
      }
    }
    if (const std::string lost = name_best_again(); !lost.empty()) notes.push_back(lost);
    if (!write_resolved(resolved, with_sizes(start.request.deck.resolved, options().model)))
      notes.push_back(resolved + " was not written by a run: left as it is");
    for (std::string& note : write_amended_deck()) notes.push_back(std::move(note));
    std::ofstream plan(file("plan.json"), std::ios::trunc);
    plan << plan_document(options().run.name, parts_.memory) << std::flush;
    if (!plan) fail_run("{}: the run's folder cannot be made or written: {}", folder, std::strerror(errno));
    std::filesystem::remove(file("requeue"), failure);
    std::filesystem::remove(file("summary.json"), failure);  // of an earlier start
    if (start.request.earlier) return;                       // a stop is meant for this start
    if (std::filesystem::remove(file("stop"), failure))      // meant for an earlier start
      notes.push_back(fmt::format("removed {}, which was there before this start", file("stop")));
  });
  if (afresh && start.request.restart == "auto")
    start.line(fmt::format("no valid checkpoint in {}/checkpoints: the run starts afresh", folder));
  if (!aside.empty())
    start.line(fmt::format("moved to {}/checkpoints/superseded: {}", folder, fmt::join(aside, ", ")));
  for (const std::string& note : notes) start.line(note);
  start.line(fmt::format("{}: {} parameters, {} rank{}, batch {}, {} steps; products by {}, {}",
                         options().run.name, parts_.trainer->model().chain().parameter_count(),
                         ranks().size(), ranks().size() == 1 ? "" : "s", options().data.batch,
                         position_.total, parts_.gemm->name(), describe_instructions()));
  if (const std::string note = note_on_shards(options(), ranks().size()); !note.empty()) start.line(note);
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const MemoryPlan& memory = parts_.memory;
  start.line(fmt::format("memory: {} of {} per rank, {} of them activations; {}", bytes(memory.rank_bytes()),
                         bytes(memory.budget), bytes(memory.arena_bytes()), describe(memory)));
}

std::vector<std::string> Run::write_amended_deck() const {
  const std::string path = file("amended.toml");
  std::error_code failure;
  if (amendments_.empty()) {
    std::filesystem::remove(path, failure);
  } else if (!write_resolved(path, with_sizes(header_.deck, options().model))) {
    return {path + " was not written by a run: left as it is"};
  }
  return {};
}

/// On rank 0, after checkpoints were set aside. What is to be said; "": nothing.
std::string Run::name_best_again() const {
  const BestEvaluation& best = evaluation_log_.best();
  const std::string& folder = options().run.folder;
  if (!keeps_best() || name_best(folder, best.step())) return "";
  forget_best(folder);
  if (best.step() < 0) return "";
  return fmt::format(
      "{}/checkpoints no longer has the best checkpoint so far ({}); the next better one is kept", folder,
      best.text());
}

void Run::prepare_checkpoints(const Output& output) {
  const bool fits = parts_.memory.checkpoint_copy > 0;
  const std::string obstacle = checkpoints_.write_beside_steps(full_state(*parts_.trainer, state_), fits);
  if (!obstacle.empty()) output.line("checkpoints are written between steps: " + obstacle);
}

}  // namespace mylos
