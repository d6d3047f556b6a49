#include "mylos/sweep/run/sweep_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "mylos/train/start/shared_folder.hpp"

namespace mylos {
namespace {

namespace fs = std::filesystem;

constexpr double patience_s = 5;  // for a sweep that was killed and may not have ended yet
constexpr auto between_decisions = std::chrono::milliseconds(200);

void take_lock(FolderLock& lock, const std::string& folder) {
  const auto start = std::chrono::steady_clock::now();
  while (lock.try_to_take(true) == FolderLock::Attempt::held) {
    if (seconds_since(start) > patience_s)
      fail_input(errors::folder_in_use,
                 "{}: {} works on the sweep in this folder; wait for its end, or give another --out", folder,
                 lock.holder().name);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  lock.name_holder(false);
}

constexpr std::int64_t max_description_bytes = std::int64_t{64} << 20;

void describe(const Sweep& sweep) {
  const std::string path = sweep.folder() + "/sweep.json";
  std::error_code failure;
  if (const auto text = text_of_file(path, max_description_bytes)) {
    require_same_sweep(*text, path, sweep.description());
  } else {
    publish_text(path, document_of(sweep.description()));
  }
  fs::remove(sweep.folder() + "/stop", failure);  // meant for an earlier start
  fs::remove(sweep.folder() + "/requeue", failure);
}

/// What the first rank of a group decides for all of them.
struct Decision {
  NextJob job;
  double earlier_s = 0;
};

class Decisions {
 public:
  explicit Decisions(const Sweep& sweep)
      : sweep_(sweep), journal_(sweep.folder(), sweep.members(), sweep.description().rungs.size()) {}

  [[nodiscard]] Decision next(SweepStop& stop) {
    for (;;) {
      journal_.refresh();
      if (!stop.asked().empty())
        return {{journal_.has_claims() ? NextJob::Kind::wait : NextJob::Kind::none, 0, 0}};
      const NextJob job = next_job(journal_.progress(), sweep_.rules());
      if (job.kind != NextJob::Kind::train) return {job};
      if (!journal_.claim(job.member, job.rung)) continue;  // another group was first
      Decision decision{job};
      for (const MemberResult& part : journal_.results(job.member)) decision.earlier_s += part.seconds;
      return decision;
    }
  }

  void record(const NextJob& job, const std::optional<MemberResult>& result, SweepStop& stop) {
    if (result) return journal_.finish(job.member, job.rung, *result);
    if (stop.asked().empty())
      stop.ask("member " + member_name(job.member) + ", which stopped before its end");
    journal_.interrupt(job.member, job.rung);
  }

 private:
  const Sweep& sweep_;
  Journal journal_;
};

}  // namespace

std::unique_ptr<FolderLock> take_sweep_folder(const Sweep& sweep, RankGroup& all) {
  std::unique_ptr<FolderLock> lock;
  run_on_first(all, [&] {
    lock = std::make_unique<FolderLock>(sweep.folder());
    take_lock(*lock, sweep.folder());
    describe(sweep);
    Journal(sweep.folder(), sweep.members(), sweep.description().rungs.size()).begin();
  });
  require_shared_folder(all, sweep.folder());
  return lock;
}

void train_members(const Sweep& sweep, SweepGroup& group) {
  Decisions decisions(sweep);
  for (;;) {
    Decision decision;
    run_on_first(group.ranks, [&] {
      decision = decisions.next(group.asked);
      if (decision.job.kind == NextJob::Kind::wait) group.all.require_all();
    });
    group.ranks.broadcast(&decision, sizeof decision, 0);
    if (decision.job.kind == NextJob::Kind::none) return;
    if (decision.job.kind == NextJob::Kind::wait) {
      std::this_thread::sleep_for(between_decisions);
      continue;
    }
    const std::optional<MemberResult> result =
        train_member(sweep, {decision.job.member, decision.job.rung, decision.earlier_s}, group);
    run_on_first(group.ranks, [&] { decisions.record(decision.job, result, group.asked); });
  }
}

ExitCode leave_sweep_folder(const Sweep& sweep) {
  Journal journal(sweep.folder(), sweep.members(), sweep.description().rungs.size());
  journal.refresh();
  const std::vector<MemberRow> rows = journal.rows();
  const bool is_done = next_job(journal.progress(), sweep.rules()).kind == NextJob::Kind::none;
  std::error_code failure;
  fs::remove(sweep.folder() + "/stop", failure);
  if (!is_done) {
    publish_text(sweep.folder() + "/requeue", "not at its end: give the same command again\n");
    return ExitCode::requeue;
  }
  fs::remove(sweep.folder() + "/requeue", failure);
  const bool has_value =
      std::any_of(rows.begin(), rows.end(), [](const MemberRow& row) { return row.value.has_value(); });
  if (has_value || rows.empty()) return ExitCode::done;
  const auto failed =
      std::find_if(rows.begin(), rows.end(), [](const MemberRow& row) { return !row.cause.empty(); });
  const std::string cause = failed == rows.end() ? "" : failed->cause.substr(0, failed->cause.rfind(" ["));
  fail_run(errors::not_measured, "{}: none of the {} members has a value of {}{}", sweep.folder(),
           rows.size(), sweep.description().metric, cause.empty() ? "" : "; the first cause: " + cause);
}

}  // namespace mylos
