// The checkpoint from which a run resumes, whether it may, and what changes.
#include <fmt/format.h>

#include <filesystem>

#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/config/deck/difference.hpp"
#include "mylos/config/keys/sizes.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "mylos/optim/update/schedule.hpp"
#include "mylos/train/run/run_check.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {
namespace {

/// Keys that say what is compared, not what is computed.
bool compares_alone(const KeyDifference& difference) {
  const bool breaks = difference.before == "\"break\"" || difference.after == "\"break\"";
  return difference.key == "data.arrays.coordinates" || (difference.key == "data.arrays.gaps" && !breaks);
}

/// Keys that define the run's mathematics: with other values it is another run.
bool fixes_the_run(const KeyDifference& difference) {
  if (compares_alone(difference)) return false;
  const std::string& key = difference.key;
  for (const char* fixed : {"run.seed", "data.batch", "data.validation", "data.normalize", "data.shuffle",
                            "data.last_batch", "data.window"}) {
    if (key == fixed) return true;
  }
  for (const char* fixed : {"model.", "data.arrays.", "data.fill"}) {
    if (key.rfind(fixed, 0) == 0) return true;
  }
  return false;
}

/// Keys that may change at a restart without a message.
bool is_free(const std::string& key) {
  if (key == "run.reproducible") return false;
  for (const char* section :
       {"run.", "initial.", "memory.", "checkpoint.", "communication.", "mesh.", "kernels.", "health.",
        "data.train", "data.test", "data.statistics", "data.weights"}) {
    if (key.rfind(section, 0) == 0 && key != "run.seed") return true;
  }
  return false;
}

/// Refuses an optimizer whose moments the checkpoint does not have.
void require_same_moments(const std::string& path, const Options& written, const Options& options,
                          const KeyDifference& type) {
  if (Optimizer::share_moments(written.optimizer.type, options.optimizer.type)) return;
  fail_input(
      errors::restart_mismatch,
      "{}: optimizer.type was {} when this run began, the deck says {}, which needs other moments than the "
      "checkpoint has; continue with {}, or begin another run in another run.folder",
      path, type.before, type.after, type.before);
}

/// Compares the decks; `known` has the sizes that a deck leaves to the data.
std::vector<KeyDifference> changes_since(Options written, const std::string& deck,
                                         const ModelOptions& known) {
  Options now = read_stored_deck(deck, "the deck").options;
  take_sizes(written, known);
  take_sizes(now, known);
  return differing_keys(written, now);
}

/// A learning-rate schedule that ends with the run is stretched or shortened with it. Returns "" if it is
/// not.
std::string describe_schedule_change(const LearningRate& before, const LearningRate& now,
                                     std::int64_t updates, bool is_implicit) {
  if (!has_end(now.type) || before.steps == now.steps) return "";
  return fmt::format(
      "changed at the restart: the schedule takes {} updates (was {}): the next learning rate is {:.3g} (was "
      "to be {:.3g}){}",
      now.steps, before.steps, now.at(updates), before.at(updates),
      is_implicit ? fmt::format("; schedule.steps = {} keeps it as it was", before.steps) : "");
}

}  // namespace

void RunStart::open_checkpoint() {
  saved.reset();
  if (request.restart.empty()) return require_unused_folder(ranks(), options().run.folder);
  const bool is_named = request.restart != "auto" && request.restart != "latest";
  if (is_named) require_no_other_run();
  const CheckpointState shapes = parameter_shapes(
      make_parameter_layout(parts.network.chain, options().communication.bucket_bytes, ranks().size()));
  std::optional<Error> refused;  // of the newest file with a valid digest that cannot be resumed
  auto below = std::numeric_limits<std::int64_t>::max();
  while (!saved) {
    const RestartChoice choice = [&] {
      try {
        return find_checkpoint(ranks(), options().run.folder, request.restart, below);
      } catch (const Error&) {
        if (refused) throw *refused;
        throw;
      }
    }();
    if (!choice.path && refused) throw *refused;  // "auto" starts afresh only if there is no checkpoint
    for (const std::string& message : choice.messages) line(message);
    if (!choice.path) return;
    try {
      saved.emplace(ranks(), *choice.path);
      saved->require_match(shapes);
    } catch (const Error& error) {
      if (is_named) throw;
      require_damage(error, options().run.folder);
      if (!refused) refused = error;
      line(fmt::format("skipped {}", error.message()));
      below = choice.step;
      saved.reset();
    }
  }
  const std::shared_ptr<const PointWeights> before = stored_point_weights(*saved);
  run_on_all(ranks(), [&] {
    amend();
    require_same_run();
    require_same_weights(saved->path(), before, given_.model.point_weights);
  });
}

/// A file of another folder would mix two runs in a folder that has checkpoints.
void RunStart::require_no_other_run() const {
  namespace fs = std::filesystem;
  run_on_first(ranks(), [this] {
    const std::vector<CheckpointFile> own = list_checkpoints(options().run.folder);
    if (own.empty()) return;
    if (std::error_code failure; fs::status(request.restart, failure).type() == fs::file_type::not_found)
      fail_input(errors::no_such_file,
                 "--restart {}: there is no such file; \"latest\" is the newest checkpoint in {}",
                 request.restart, options().run.folder);
    const fs::path file = fs::weakly_canonical(request.restart);
    const fs::path folder = fs::weakly_canonical(options().run.folder);
    const fs::path inside = file.lexically_relative(folder);
    if (!inside.empty() && *inside.begin() != "..") return;
    fail_input(
        errors::folder_has_checkpoints,
        "--restart {}: is a checkpoint of another run, and {} has its own (the newest: {}); give another "
        "run.folder",
        request.restart, options().run.folder, fs::path(own.back().path).filename().string());
  });
}

void RunStart::require_same_run() const {
  const CheckpointReader& reader = *saved;
  const std::string& path = reader.path();
  if (!reader.exists("/schedule")) {
    fail_input(
        errors::weights_only,
        "{}: holds only weights (`mylos convert` or `mylos init` made it); it is for run.initial, eval, "
        "predict, sample and convert, not for --restart",
        path);
  }
  const Options written = stored_options(reader);
  for (const KeyDifference& difference : changes_since(written, deck, given_.model)) {
    if (fixes_the_run(difference)) {
      fail_input(errors::restart_mismatch,
                 "{}: {} was {} when this run began, the deck says {}; a restart cannot change it", path,
                 difference.key, difference.before, difference.after);
    }
    if (difference.key == "optimizer.type") require_same_moments(path, written, options(), difference);
  }
  if (reader.text("/data/identity") != identity) {
    fail_input(errors::restart_mismatch,
               "{} was trained on other data than {} holds; a restart needs the same contents", path,
               options().data.train.text());
  }
  require_same_calendar(stored_samples(reader).level_step, path, data->meaning().level_step,
                        options().data.train.text());
  if (const std::int64_t step = reader.header().step; step > steps) {
    fail_input(errors::restart_mismatch,
               "{} is at step {}, past the end of this run at step {}; raise run.steps or run.epochs", path,
               step, steps);
  }
}

void RunStart::note_changes(const Options& options, const RunPosition& now, std::int64_t updates) const {
  if (request.earlier) return;  // the run has reported its changes
  const Options written = stored_options(*saved);
  for (const KeyDifference& difference : changes_since(written, deck, given_.model)) {
    if (is_free(difference.key) || compares_alone(difference)) continue;
    line(fmt::format("changed at the restart: {} = {} (was {})", difference.key, difference.after,
                     difference.before));
  }
  if (given_.precision.compute != options.precision.compute) {
    line(fmt::format("precision.compute = \"{}\" of the deck has no effect: the run has chosen \"{}\"",
                     name_of(given_.precision.compute), name_of(options.precision.compute)));
  }
  const std::string change = describe_schedule_change(
      learning_rate(written.optimizer, written.schedule, run_length(written, now.epochs)),
      learning_rate(options.optimizer, options.schedule, now.total), updates, options.schedule.steps == 0);
  if (!change.empty()) line(change);
}

}  // namespace mylos
