#include "mylos/sweep/run/sweep_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

constexpr auto between_reads = std::chrono::milliseconds(500);

bool is_over(const MemberRow& row) {
  return row.state != MemberState::waiting && row.state != MemberState::running &&
         row.state != MemberState::stopped;
}

}  // namespace

std::vector<std::size_t> best_members(const std::vector<MemberRow>& rows, bool higher_is_better) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].value) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return higher_is_better ? *rows[one].value > *rows[other].value : *rows[one].value < *rows[other].value;
  });
  return order;
}

SweepMonitor::SweepMonitor(const Sweep& sweep, std::function<void(const std::string&)> line)
    : sweep_(sweep),
      line_(std::move(line)),
      journal_(sweep.folder(), sweep.members(), sweep.description().rungs.size()),
      printed_(sweep.members()) {
  journal_.refresh();
  for (std::size_t i = 0; i < sweep_.members(); ++i) printed_[i] = journal_.results(i).size();
  first_work_ = work();
  update();
  thread_ = std::thread([this] { watch(); });
}

SweepMonitor::~SweepMonitor() {
  end_thread();
}

void SweepMonitor::end_thread() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SweepMonitor::watch() {
  std::unique_lock lock(mutex_);
  std::string problem;
  while (!ended_.wait_for(lock, between_reads, [this] { return ends_; })) {
    try {
      if (journal_.refresh()) update();
    } catch (const std::exception& error) {  // finish() tries again
      if (error.what() != problem) line_(fmt::format("warning: {}", error.what()));
      problem = error.what();
    }
  }
}

void SweepMonitor::update() {
  print_results();
  publish_text(sweep_.folder() + "/sweep.csv", sweep_csv(journal_.rows(), sweep_.keys(), sweep_.trials()));
}

void SweepMonitor::finish() {
  end_thread();
  journal_.refresh();
  update();
}

void SweepMonitor::print_results() {
  const std::string& metric = sweep_.description().metric;
  bool has_printed = false;
  for (std::size_t i = 0; i < printed_.size(); ++i) {
    for (; printed_[i] < journal_.results(i).size(); ++printed_[i]) {
      const MemberResult& result = journal_.results(i)[printed_[i]];
      std::string text =
          fmt::format("member {} ({}): {}", member_name(i), sweep_.values_of(i), name_of(result.state));
      if (result.state == MemberState::stopped) text += fmt::format(" at rung {}", printed_[i]);
      if (result.value) text += fmt::format(", {} {:.6g}", metric, *result.value);
      text += fmt::format(", step {}, {}", result.steps, format_duration(result.seconds));
      if (!result.cause.empty()) text += ": " + result.cause;
      line_(text);
      has_printed = true;
    }
  }
  if (has_printed) line_(summary());
}

/// Returns the part of the sweep that is done, by steps, or by time if the rungs are seconds.
double SweepMonitor::work() const {
  const std::vector<std::int64_t>& rungs = sweep_.description().rungs;
  const auto share_of = [&](std::size_t rung) {
    const auto before = rung == 0 ? 0.0 : static_cast<double>(rungs[rung - 1]);
    return (static_cast<double>(rungs[rung]) - before) / static_cast<double>(rungs.back());
  };
  double done = 0;
  double all = 0;
  auto members = static_cast<double>(sweep_.members());
  for (std::size_t rung = 0; rung < rungs.size(); ++rung) {
    for (std::size_t i = 0; i < sweep_.members(); ++i)
      if (journal_.results(i).size() > rung) done += share_of(rung);
    all += std::max(1.0, members) * share_of(rung);
    members = std::floor(members / sweep_.description().factor);
  }
  return std::min(1.0, done / all);
}

std::string SweepMonitor::summary() const {
  const std::vector<MemberRow> rows = journal_.rows();
  const auto count = [&](auto has) { return std::count_if(rows.begin(), rows.end(), has); };
  std::string text = fmt::format("{} of {} members ended", count(is_over), rows.size());
  if (const auto stopped = count([](const MemberRow& row) { return row.state == MemberState::stopped; });
      stopped > 0)
    text += fmt::format(", {} stopped at a rung", stopped);
  if (const auto order = best_members(rows, sweep_.description().higher_is_better); !order.empty())
    text += fmt::format("; best {} {:.6g} at step {}, member {}", sweep_.description().metric,
                        *rows[order[0]].value, *rows[order[0]].best_step, member_name(order[0]));
  const double done = work();
  if (done > first_work_ && done < 1)
    text +=
        fmt::format("; ETA {}", format_duration(seconds_since(started_) * (1 - done) / (done - first_work_)));
  return text;
}

}  // namespace mylos
