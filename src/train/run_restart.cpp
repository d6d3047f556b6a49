// From which checkpoint a run goes on, whether it may, and how.
#include <fmt/format.h>

#include <filesystem>

#include "mylos/checkpoint/folder.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/config/difference.hpp"
#include "mylos/model/make_chain.hpp"
#include "mylos/model/parameter_layout.hpp"
#include "mylos/train/run.hpp"
#include "mylos/train/run_check.hpp"

namespace mylos {
namespace {

/// Keys that define the run's mathematics: a checkpoint of other values is another run.
bool fixes_the_run(const std::string& key) {
  for (const char* fixed : {"run.seed", "data.batch", "data.validation", "data.normalize", "data.shuffle",
                            "data.last_batch", "data.window"}) {
    if (key == fixed) return true;
  }
  return key.rfind("model.", 0) == 0;
}

/// Keys that may change at any restart without a word.
bool is_free(const std::string& key) {
  for (const char* section :
       {"run.", "memory.", "checkpoint.", "communication.", "kernels.", "data.train", "data.test"}) {
    if (key.rfind(section, 0) == 0 && key != "run.seed") return true;
  }
  return false;
}

/// The moments in a checkpoint are those of its optimizer.
void require_same_moments(const std::string& path, const Options& written, const Options& options,
                          const KeyDifference& type) {
  if (Optimizer::moment_names_of(written.optimizer.type) ==
      Optimizer::moment_names_of(options.optimizer.type))
    return;
  fail_input(
      "{}: optimizer.type was {} when this run began, the deck says {}, which needs other moments than the "
      "checkpoint has; go on with {}, or begin another run in another run.folder",
      path, type.before, type.after, type.before);
}

/// A schedule that ends with the run is stretched or shortened with it: "" where that does not happen.
std::string describe_schedule_change(const LearningRate& before, const LearningRate& now,
                                     std::int64_t updates, bool is_implicit) {
  const bool has_end = now.type == ScheduleType::linear || now.type == ScheduleType::cosine;
  if (!has_end || before.steps == now.steps) return "";
  return fmt::format(
      "changed at the restart: the schedule takes {} updates (was {}): the next learning rate is {:.3g} (was "
      "to be {:.3g}){}",
      now.steps, before.steps, now.at(updates), before.at(updates),
      is_implicit ? fmt::format("; schedule.steps = {} keeps it as it was", before.steps) : "");
}

}  // namespace

void Run::open_checkpoint(std::optional<CheckpointReader>& saved) {
  RankGroup& ranks = communicator_->ranks();
  if (request_.restart.empty()) return require_unused_folder(ranks, options_.run.folder);
  const bool is_named = request_.restart != "auto" && request_.restart != "latest";
  if (is_named) require_no_other_run();
  const Chain chain = make_chain(options_.model, options_.precision, options_.run.seed, false);
  const CheckpointState shapes =
      parameter_shapes(make_parameter_layout(chain, options_.communication.bucket_bytes, ranks.size()));
  std::optional<Error> refused;  // of the newest file that has the right digest, but cannot be gone on from
  auto below = std::numeric_limits<std::int64_t>::max();
  while (!saved) {
    const RestartChoice choice = [&] {
      try {
        return find_checkpoint(ranks, options_.run.folder, request_.restart, below);
      } catch (const Error&) {
        if (refused) throw *refused;
        throw;
      }
    }();
    if (!choice.path && refused) throw *refused;  // "auto" starts afresh where there is nothing, not here
    for (const std::string& message : choice.messages) request_.output.line(message);
    if (!choice.path) return;
    try {
      saved.emplace(ranks, *choice.path);
      saved->require_match(shapes);
    } catch (const Error& error) {
      if (is_named || error.code() != ExitCode::bad_input) throw;
      if (!refused) refused = error;
      request_.output.line(fmt::format("skipped {}", error.what()));
      below = choice.step;
      saved.reset();
    }
  }
  run_on_all(ranks, [&] { require_same_run(*saved); });
}

/// A file from elsewhere would mix two runs in a folder that has checkpoints of its own.
void Run::require_no_other_run() const {
  namespace fs = std::filesystem;
  run_on_first(communicator_->ranks(), [this] {
    const std::vector<CheckpointFile> own = list_checkpoints(options_.run.folder);
    if (own.empty()) return;
    const fs::path file = fs::weakly_canonical(request_.restart);
    const fs::path folder = fs::weakly_canonical(options_.run.folder);
    const fs::path inside = file.lexically_relative(folder);
    if (!inside.empty() && *inside.begin() != "..") return;
    fail_input(
        "--restart {}: is another run's, and {} has checkpoints of its own (the newest: {}); give another "
        "run.folder",
        request_.restart, options_.run.folder, fs::path(own.back().path).filename().string());
  });
}

void Run::require_same_run(const CheckpointReader& reader) const {
  const std::string& path = reader.path();
  if (!reader.exists("/schedule")) {
    fail_input("{}: holds weights alone (converted); it is for eval, sample and convert, not for --restart",
               path);
  }
  const Deck written = read_stored_deck(reader.header().deck, path);
  for (const KeyDifference& difference : differing_keys(written.options, request_.deck.options)) {
    if (fixes_the_run(difference.key)) {
      fail_input("{}: {} was {} when this run began, the deck says {}; a restart cannot change it", path,
                 difference.key, difference.before, difference.after);
    }
    if (difference.key == "optimizer.type") require_same_moments(path, written.options, options_, difference);
  }
  if (const std::string identity = reader.text("/data/identity"); identity != state_.data_identity) {
    fail_input("{} was trained on other data than {} holds; a restart needs the same contents", path,
               options_.data.train);
  }
  if (const std::int64_t step = reader.header().step; step > position_.total) {
    fail_input("{} is at step {}, past the end of this run at step {}; raise run.steps or run.epochs", path,
               step, position_.total);
  }
}

void Run::restore(const CheckpointReader& reader) {
  CheckpointState state = full_state(*trainer_, state_);
  run_on_all(communicator_->ranks(), [&] { log_->make_room(reader, state); });
  reader.read(state);
  const auto step = static_cast<std::int64_t>(state_.step.step);
  if (step != reader.header().step)
    fail_input("{}: /schedule/step is {}, but / says {}", reader.path(), step, reader.header().step);
  trainer_->write_state(state_.step);
  trainer_->model().parameters().refresh_compute_weights(trainer_->execution());
  position_.step = position_.first = step;
  checkpoints_->restarted_from(step);
  std::string gap;
  run_on_all(communicator_->ranks(), [&] { gap = log_->restore(step, clock_); });
  request_.output.line(
      fmt::format("restarted from {} at step {} of {}", reader.path(), step, position_.total));
  if (!gap.empty()) request_.output.line(gap);
  const Options written = read_stored_deck(reader.header().deck, reader.path()).options;
  for (const KeyDifference& difference : differing_keys(written, request_.deck.options)) {
    if (is_free(difference.key)) continue;
    request_.output.line(fmt::format("changed at the restart: {} = {} (was {})", difference.key,
                                     difference.after, difference.before));
  }
  const std::string change = describe_schedule_change(
      learning_rate(written.optimizer, written.schedule, run_length(written, data_->epochs())),
      learning_rate(options_.optimizer, options_.schedule, position_.total),
      static_cast<std::int64_t>(state_.step.updates), options_.schedule.steps == 0);
  if (!change.empty()) request_.output.line(change);
}

}  // namespace mylos
