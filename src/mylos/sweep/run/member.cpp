#include "mylos/sweep/run/member.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/output_file.hpp"
#include "mylos/sweep/run/evaluation_values.hpp"
#include "mylos/train/run/run.hpp"

namespace mylos {
namespace {

using Clock = std::chrono::steady_clock;

/// The file `log` of a member's folder, which gets what `mylos train` prints, as far as the disk takes it: no
/// number is read from it.
Output log_of(const std::string& folder, bool writes) {
  Output output;
  if (!writes) return output;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::string path = folder + "/log";
  const auto file = std::make_shared<OutputFile>(path, O_WRONLY | O_CREAT, path);
  output.line = [file](const std::string& text) {
    try {
      file->append(text + '\n');
    } catch (const Error&) {
    }
  };
  return output;
}

/// How far a start of a run has come.
struct Outcome {
  ExitCode code = ExitCode::done;
  std::int64_t step = 0;
  bool is_at_stop = false;
  std::optional<Error> error = {};
};

bool is_last_rung(const Sweep& sweep, const MemberJob& job) {
  return job.rung + 1 == sweep.description().rungs.size();
}

RunRequest request_of(const Sweep& sweep, const MemberJob& job, SweepGroup& group) {
  const bool is_first = group.ranks.rank() == 0;
  const std::int64_t rung = sweep.description().rungs[job.rung];
  RunRequest request;
  request.deck = sweep.deck_of(job.member);
  request.restart = "auto";
  request.output = log_of(sweep.folder_of(job.member), is_first);
  request.stop = group.stop;
  request.node_share = group.share;
  const bool by_time = sweep.description().by_time;
  if (!by_time && !is_last_rung(sweep, job)) request.stop_at = rung;
  request.evaluates_at_stop = by_time;
  if (!is_first) return request;
  request.stop.signal = [&group, by_time, rung, earlier_s = job.earlier_s,
                         started = Clock::now()]() -> std::string {
    if (by_time && earlier_s + seconds_since(started) >= static_cast<double>(rung))
      return "the budget of its rung";
    return group.asked.asked();
  };
  return request;
}

Outcome train_alone(const Sweep& sweep, const MemberJob& job, SweepGroup& group) {
  Outcome outcome;
  Output output;
  std::unique_ptr<Run> run;  // a checkpoint that is being written when the run fails is completed
  try {
    RunRequest request;
    run_on_all(group.ranks, [&] { request = request_of(sweep, job, group); });
    output = request.output;
    outcome.code = train(std::move(request), group.ranks.mpi(), run);
  } catch (const Error& error) {
    outcome.error = error;
  } catch (const std::exception& error) {
    outcome.error = Error::of(error);
  }
  if (run) {
    outcome.step = run->position().step;
    outcome.is_at_stop = run->position().is_at_stop();
  }
  if (outcome.error) {
    output.line(outcome.error->what());
    outcome.code = outcome.error->code();
  }
  return outcome;
}

/// Adds the evaluations of the run so far.
void add_values(MemberResult& result, const Sweep& sweep, std::size_t member) {
  const auto values = evaluated_values(sweep.folder_of(member) + "/evaluations.csv", sweep.metric());
  if (values.empty()) return;
  result.value = values.back().value;
  const auto best = best_of(values, sweep.metric());
  result.best = best->value;
  result.best_step = best->step;
}

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

}  // namespace

std::optional<MemberResult> train_member(const Sweep& sweep, const MemberJob& job, SweepGroup& group) {
  const auto started = Clock::now();
  Outcome outcome = train_alone(sweep, job, group);
  if (outcome.error && outcome.error->id() == errors::communication_failed) throw *outcome.error;
  // Whatever a single rank met, all ranks go on together.
  struct Met {
    ExitCode code;
    char is_over_time;
  };
  const bool by_time =
      sweep.description().by_time && group.ranks.rank() == 0 &&
      job.earlier_s + seconds_since(started) >= static_cast<double>(sweep.description().rungs[job.rung]);
  const Met own{outcome.code, by_time};
  std::vector<Met> all(static_cast<std::size_t>(group.ranks.size()), own);
  group.ranks.all_gather(&own, all.data(), sizeof own);
  const bool differ =
      std::any_of(all.begin(), all.end(), [&](const Met& met) { return met.code != own.code; });
  if (differ) {
    if (outcome.error) throw *outcome.error;
    fail_run(errors::internal, "member {}: the ranks ended its training in different ways", job.member);
  }
  const bool reached = outcome.is_at_stop || (all.front().is_over_time != 0 && group.asked.asked().empty());
  if (outcome.code == ExitCode::requeue && !reached) return std::nullopt;

  MemberResult result{.steps = outcome.step, .seconds = seconds_since(started), .ranks = group.ranks.size()};
  if (outcome.error) {
    result.state = state_after(*outcome.error);
    result.cause = one_line(outcome.error->what());
  } else {
    const bool is_done = outcome.code == ExitCode::done || is_last_rung(sweep, job);
    result.state = is_done ? MemberState::done : MemberState::stopped;
    if (group.ranks.rank() == 0) add_values(result, sweep, job.member);
  }
  return result;
}

}  // namespace mylos
