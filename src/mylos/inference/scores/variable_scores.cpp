#include "mylos/inference/scores/variable_scores.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {
namespace {

using Numbers = std::array<double, sizeof(VariableScores) / sizeof(double)>;

template <class Change>
void change_numbers(VariableScores& scores, const VariableScores& by, const Change& change) {
  auto numbers = std::bit_cast<Numbers>(scores);
  const auto others = std::bit_cast<Numbers>(by);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = change(numbers[i], others[i]);
  scores = std::bit_cast<VariableScores>(numbers);
}

struct ErrorKind {
  const char* name;
  const char* meaning;
  bool is_in_units;
  double ChannelErrors::*number;
  bool is_square;
};

constexpr ErrorKind error_kinds[] = {
    {"rmse", "root mean square error", true, &ChannelErrors::mean_square, true},
    {"mae", "mean absolute error", true, &ChannelErrors::mean_absolute, false},
    {"bias", "mean error", true, &ChannelErrors::bias, false},
    {"acc", "anomaly correlation", false, &ChannelErrors::anomaly_correlation, false},
    {"relative_l2", "norm of the error divided by that of the truth", false, &ChannelErrors::relative_l2,
     false},
    {"correlation", "correlation with the truth", false, &ChannelErrors::correlation, false}};

struct ForecastKind {
  const char* prefix;
  const char* of;
  ChannelErrors VariableScores::*errors;
};

constexpr ForecastKind forecast_kinds[] = {{"", "", &VariableScores::network},
                                           {"persistence_", " of persistence", &VariableScores::persistence},
                                           {"climatology_", " of climatology", &VariableScores::climatology}};

}  // namespace

ScoreSums::ScoreSums(RankGroup& ranks, std::int64_t steps, std::int64_t channels, std::int64_t first,
                     std::int64_t count)
    : ranks_(ranks), first_(first) {
  const auto size = static_cast<std::size_t>(steps * channels);
  total_.channels = channels;
  total_.starts.resize(static_cast<std::size_t>(steps));
  if (ranks.rank() == 0) {
    total_.means.resize(size);
    for (VariableScores& scores : total_.means) scores = std::bit_cast<VariableScores>(Numbers{});
    return;
  }
  starts_.resize(static_cast<std::size_t>(count));
  for (Start& start : starts_) {
    start.known.resize(static_cast<std::size_t>(steps));
    start.scores.resize(size);
  }
}

void ScoreSums::add_up(std::int64_t step, std::span<const VariableScores> scores) {
  ++total_.starts[static_cast<std::size_t>(step - 1)];
  VariableScores* to = total_.means.data() + (step - 1) * total_.channels;
  for (const VariableScores& of_channel : scores) {
    if (of_channel.starts > 0) change_numbers(*to, of_channel, std::plus<>());
    ++to;
  }
}

void ScoreSums::add(std::int64_t start, std::int64_t step, std::span<const VariableScores> scores) {
  if (ranks_.rank() == 0) {
    add_up(step, scores);
    return;
  }
  Start& own = starts_[static_cast<std::size_t>(start - first_)];
  own.known[static_cast<std::size_t>(step - 1)] = 1;
  std::ranges::copy(scores, own.scores.begin() + (step - 1) * total_.channels);
}

StepScores ScoreSums::means() {
  const auto steps = std::ssize(total_.starts);
  const auto channels = static_cast<std::size_t>(total_.channels);
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    std::int64_t count = std::ssize(starts_);
    broadcast_large(ranks_, std::as_writable_bytes(std::span(&count, 1)), rank);
    for (std::int64_t i = 0; i < count; ++i) {
      Start other;
      if (rank != ranks_.rank()) {
        other.known.resize(total_.starts.size());
        other.scores.resize(total_.starts.size() * channels);
      }
      Start& start = rank == ranks_.rank() ? starts_[static_cast<std::size_t>(i)] : other;
      broadcast_large(ranks_, std::as_writable_bytes(std::span(start.known)), rank);
      broadcast_large(ranks_, std::as_writable_bytes(std::span(start.scores)), rank);
      if (ranks_.rank() != 0) continue;
      for (std::int64_t step = 1; step <= steps; ++step) {
        if (start.known[static_cast<std::size_t>(step - 1)] != 0)
          add_up(step,
                 std::span(start.scores).subspan(static_cast<std::size_t>(step - 1) * channels, channels));
      }
    }
  }
  for (std::size_t i = 0; i < total_.means.size(); ++i) {
    const double count = total_.means[i].starts;
    change_numbers(total_.means[i], {}, [&](double sum, double) { return sum / count; });  // NaN of none
  }
  return std::move(total_);
}

std::size_t ScoreSums::memory_bytes(std::int64_t steps, std::int64_t channels, std::int64_t starts,
                                    bool is_first_rank) {
  const auto of_start = static_cast<std::size_t>(steps) *
                        (static_cast<std::size_t>(channels) * sizeof(VariableScores) + sizeof(std::int64_t));
  return of_start * static_cast<std::size_t>(is_first_rank ? 2 : starts + 1);
}

std::vector<ScoreTable> score_tables(const StepScores& scores) {
  std::vector<ScoreTable> tables;
  const auto add = [&](ScoreTable table, const auto& value) {
    for (const VariableScores& one : scores.means) table.values.push_back(value(one));
    const auto is_known = [](double number) { return !std::isnan(number); };
    if (std::ranges::any_of(table.values, is_known)) tables.push_back(std::move(table));
  };
  for (const ForecastKind& forecast : forecast_kinds) {
    for (const ErrorKind& kind : error_kinds) {
      if (forecast.errors == &VariableScores::climatology &&
          kind.number == &ChannelErrors::anomaly_correlation)
        continue;  // its anomalies are 0
      add({std::string(forecast.prefix) + kind.name,
           std::string(kind.meaning) + forecast.of,
           kind.is_in_units,
           {}},
          [&](const VariableScores& one) {
            const double number = one.*forecast.errors.*kind.number;
            return kind.is_square ? std::sqrt(number) : number;
          });
    }
  }
  add({"spread", "standard deviation of the members, as it would be of the mean's error", true, {}},
      [](const VariableScores& one) { return std::sqrt(one.ensemble.variance); });
  add({"spread_skill", "spread divided by the root mean square error of the ensemble's mean", false, {}},
      [](const VariableScores& one) { return std::sqrt(one.ensemble.variance / one.network.mean_square); });
  add({"crps", "continuous ranked probability score of the ensemble (fair)", true, {}},
      [](const VariableScores& one) { return one.ensemble.crps; });
  add({"interval_coverage", "share of the rollouts whose interval holds all points", false, {}},
      [](const VariableScores& one) { return one.interval.holds; });
  add({"interval_width", "mean width of the intervals", true, {}},
      [](const VariableScores& one) { return one.interval.width; });
  return tables;
}

}  // namespace mylos
