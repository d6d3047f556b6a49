#include "mylos/sweep/run/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/sweep/state/sweep_table.hpp"
#include "mylos/train/run/run_check.hpp"

namespace mylos {
namespace {

SweepStrategy strategy_of(const SweepRequest& request) {
  if (request.halving) return SweepStrategy::halving;
  return request.trials > 0 ? SweepStrategy::random : SweepStrategy::grid;
}

std::string names_of(const std::vector<Metric>& metrics) {
  std::string names;
  for (const Metric& metric : metrics) names += (names.empty() ? "" : ", ") + name_of(metric);
  return names;
}

}  // namespace

Sweep::Sweep(SweepRequest request) : request_(std::move(request)) {
  SweepWords words = read_sweep_words(request_.words);
  overrides_ = std::move(words.overrides);
  base_ = read_deck(request_.deck_text, request_.deck_file, overrides_);
  folder_ = request_.folder.empty() ? "runs/" + base_.options.run.name + "-sweep" : request_.folder;
  for (const std::string& word : overrides_) {
    if (word.starts_with("run.folder="))
      fail_input(
          errors::bad_argument,
          "command line: run.folder: every member has a separate folder; --out names that of the sweep");
  }
  trials_ = choose_trials(words.keys, request_.trials, request_.seed);
  description_ = {.name = base_.options.run.name,
                  .deck = base_.resolved,
                  .metric = "",
                  .strategy = strategy_of(request_),
                  .trials = std::ssize(trials_),
                  .ranks_per_trial = request_.ranks_per_trial,
                  .seed = request_.seed,
                  .by_time = request_.by_time,
                  .factor = request_.factor,
                  .rungs = {},
                  .keys = std::move(words.keys)};
  for (std::size_t member = 0; member < members(); ++member) {
    try {
      static_cast<void>(deck_of(member));
    } catch (const Error& error) {
      throw error.with(
          fmt::format("{} (member {}: {})", error.message(), member_name(member), values_of(member)));
    }
  }
}

std::string Sweep::folder_of(std::size_t member) const {
  return folder_ + '/' + member_folder(member);
}

std::vector<std::string> Sweep::overrides_of(std::size_t member) const {
  std::vector<std::string> overrides;
  for (const std::string& word : overrides_)
    if (!word.starts_with("run.name=")) overrides.push_back(word);
  for (std::size_t i = 0; i < keys().size(); ++i)
    overrides.push_back(keys()[i].key + '=' + trials_[member][i]);
  overrides.push_back("run.name=" + base_.options.run.name + '-' + member_name(member));
  overrides.push_back("run.folder=" + folder_of(member));
  return overrides;
}

Deck Sweep::deck_of(std::size_t member) const {
  return read_deck(request_.deck_text, request_.deck_file, overrides_of(member));
}

std::string Sweep::values_of(std::size_t member) const {
  std::string text;
  for (std::size_t i = 0; i < keys().size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : ", ", keys()[i].key, trials_[member][i]);
  return text;
}

SweepRules Sweep::rules() const {
  return {.rungs = description_.rungs.size(),
          .factor = description_.factor,
          .higher_is_better = description_.higher_is_better};
}

/// Returns the rungs of a run of `steps` steps.
std::vector<std::int64_t> Sweep::rungs_of(std::int64_t steps) const {
  if (!request_.halving) return {steps};
  const std::int64_t factor = request_.factor;
  std::int64_t rung = request_.first_rung;
  if (request_.by_time) return {rung, rung * factor, rung * factor * factor};
  if (rung == 0) rung = std::max<std::int64_t>(1, (steps + factor * factor - 1) / (factor * factor));
  if (rung >= steps)
    fail_input(errors::bad_argument,
               "--first-steps {}: a member has {} steps; the first rung is before its end", rung, steps);
  std::vector<std::int64_t> rungs;
  for (; rung < steps; rung *= factor) rungs.push_back(rung);
  rungs.push_back(steps);
  return rungs;
}

void Sweep::require_measured(const Options& options, const EvaluationData& data, std::size_t member) const {
  const std::vector<Metric> measured = measured_metrics(options, data);
  if (std::find(measured.begin(), measured.end(), metric_) != measured.end()) return;
  fail_input(errors::not_measured, "--metric {}: member {} ({}) does not measure it; measured are {}",
             name_of(metric_), member_name(member), values_of(member), names_of(measured));
}

void Sweep::choose_metric(const Options& options, const EvaluationData& data) {
  const std::vector<Metric> measured = measured_metrics(options, data);
  if (request_.metric.empty()) {
    metric_ = measured[measured.size() > 1 ? 1 : 0];  // the validation loss, or that of the test data
    return;
  }
  const auto found = std::find_if(measured.begin(), measured.end(),
                                  [&](const Metric& metric) { return name_of(metric) == request_.metric; });
  if (found == measured.end())
    fail_input(errors::not_measured, "--metric {}: is not measured in these runs; measured are {}",
               request_.metric, names_of(measured));
  metric_ = *found;
}

/// On one rank. Opens the data of each deck that names others.
void Sweep::open_data() {
  std::optional<DataOptions> opened;
  std::unique_ptr<RunData> data;
  std::optional<Error> problem;
  bool has_metric = false;
  std::int64_t steps = 0;
  for (std::size_t member = 0; member < members(); ++member) {
    const Deck deck = deck_of(member);
    if (!opened || !(*opened == deck.options.data)) {
      data.reset();
      opened = deck.options.data;
      try {
        data = open_run_data(deck.options, GroundTruth::required, deck.places);
      } catch (const Error& error) {  // that member's own
        if (!problem) problem = error;
      }
    }
    if (!data) continue;
    if (!has_metric) choose_metric(deck.options, *data);
    has_metric = true;
    require_measured(deck.options, *data, member);
    steps = std::max(steps, run_length(deck.options, data->epochs()));
  }
  if (!has_metric && problem) throw *problem;
  description_.rungs = rungs_of(steps);
}

void Sweep::open(RankGroup& ranks) {
  run_on_first(ranks, [&] { open_data(); });
  std::size_t rungs = description_.rungs.size();
  ranks.broadcast(&rungs, sizeof rungs, 0);
  description_.rungs.resize(rungs);
  ranks.broadcast(description_.rungs.data(), description_.rungs.size() * sizeof(std::int64_t), 0);
  description_.metric = broadcast_text(ranks, name_of(metric_));
  metric_ = metric_of(description_.metric).value();
  description_.higher_is_better = is_better(metric_, 1, 0);
}

}  // namespace mylos
