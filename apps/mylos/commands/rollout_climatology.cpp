#include "commands/rollout_climatology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/data/arrays/files/file_pattern.hpp"
#include "mylos/inference/opened_network.hpp"

namespace mylos::app {
namespace {

/// Days before and after a day whose levels are averaged with its own.
constexpr int days_beside = 15;
/// xarray's groupby("time.dayofyear") gives the axis this name.
constexpr std::string_view day_of_year_axis = "dayofyear";

/// Returns the options by which a climatology is read: that of the data, or without its axes "sample" and
/// "time" where the first array has fewer dimensions.
ArrayOptions climatology_options(const StoredNetwork& network, const std::string& file) {
  ArrayOptions options = trajectory_options(network);
  const std::string& first = options.targets.front();
  std::erase_if(options.slice, [](const AxisSlice& slice) { return slice.axis == time_axis; });
  const std::size_t dims = hdf5::Array(hdf5::File::open(file), first).facts().dims.size();
  if (dims >= options.axes_for(first).size()) return options;
  for (const std::string& target : options.targets) {
    std::vector<std::string> axes = options.axes_for(target);
    std::erase_if(axes, [](const std::string& axis) { return axis == sample_axis || axis == time_axis; });
    std::erase_if(options.axes_of, [&](const ArrayAxes& each) { return each.array == target; });
    options.axes_of.push_back({target, std::move(axes)});
  }
  return options;
}

/// Calls use(trajectory, level) for all levels, in their order.
template <class Use>
void for_levels(const StoredLevels& levels, const Use& use) {
  for (std::int64_t trajectory = 0; trajectory < levels.trajectories(); ++trajectory)
    for (std::int64_t i = 0; i < levels.levels(trajectory); ++i) use(trajectory, i);
}

/// Sums of the known values of a field over levels.
class FieldSum {
 public:
  static constexpr std::size_t bytes_of_value = sizeof(double) + sizeof(std::int64_t);

  explicit FieldSum(std::size_t values) : sums_(values), known_(values) {}

  void add(std::span<const float> level) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (std::isnan(level[i])) continue;
      sums_[i] += level[i];
      ++known_[i];
    }
    ++levels_;
  }

  void add(const FieldSum& other) {
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      sums_[i] += other.sums_[i];
      known_[i] += other.known_[i];
    }
    levels_ += other.levels_;
  }

  [[nodiscard]] std::int64_t levels() const { return levels_; }

  /// Writes the mean, NaN where no level has a value.
  void write_mean(std::span<float> mean) const {
    for (std::size_t i = 0; i < sums_.size(); ++i)
      mean[i] = static_cast<float>(sums_[i] / static_cast<double>(known_[i]));
  }

 private:
  std::vector<double> sums_;
  std::vector<std::int64_t> known_;
  std::int64_t levels_ = 0;
};

/// Writes the mean over all levels.
void read_mean(const StoredLevels& levels, std::span<float> mean) {
  FieldSum sum(mean.size());
  std::vector<float> level(mean.size());
  for_levels(levels, [&](std::int64_t trajectory, std::int64_t i) {
    levels.read(trajectory, i, level);
    sum.add(level);
  });
  sum.write_mean(mean);
}

/// Returns the days of the year by the calendar's longest year, counted from 0, that are averaged for a day.
std::vector<int> days_around(Calendar calendar, int day) {
  const int length = days_of(calendar);
  std::vector<int> days;
  for (int offset = -days_beside; offset <= days_beside; ++offset)
    days.push_back((day + offset + length) % length);
  return days;
}

std::set<int> days_around(Calendar calendar, const std::vector<int>& days) {
  std::set<int> all;
  for (const int day : days)
    for (const int other : days_around(calendar, day)) all.insert(other);
  return all;
}

/// Writes for each of the days the mean over the levels that are of it, or of days beside it. `truth`: by
/// whose calendar the days are.
void read_days(const StoredLevels& levels, const std::vector<int>& days, const LevelTimes& truth,
               std::span<float> fields) {
  const std::size_t values = fields.size() / days.size();
  std::map<int, std::size_t> row_of;  // of each day that is read
  for (const int day : days_around(truth.calendar, days)) row_of.emplace(day, row_of.size());
  std::vector<FieldSum> sums(row_of.size(), FieldSum(values));
  std::vector<float> level(values);
  for (std::int64_t trajectory = 0; trajectory < levels.trajectories(); ++trajectory) {
    const LevelTimes& times = levels.times(trajectory);
    if (times.are_known() && are_same_calendar(comparable_calendar(times), comparable_calendar(truth)))
      continue;
    fail_input(
        errors::data_mismatch,
        "{}: --climatology {} needs the time of every level, by the calendar of the truth, {}; found {}",
        levels.store().path(), training_day_climatology, comparable_calendar(truth),
        times.are_known() ? comparable_calendar(times) : "no times by the CF conventions");
  }
  for_levels(levels, [&](std::int64_t trajectory, std::int64_t i) {
    const LevelTimes& times = levels.times(trajectory);
    const CfDate date = date_of(times.calendar, times.instants[static_cast<std::size_t>(i)]);
    const auto row = row_of.find(calendar_day(times.calendar, date));
    if (row == row_of.end()) return;
    levels.read(trajectory, i, level);
    sums[row->second].add(level);
  });
  for (std::size_t i = 0; i < days.size(); ++i) {
    FieldSum sum(values);
    for (const int day : days_around(truth.calendar, days[i])) sum.add(sums[row_of.at(day)]);
    if (sum.levels() == 0) {
      fail_input(errors::too_little_data,
                 "{}: no level is within {} days of day {} of the year, on which the rollout is compared",
                 levels.store().path(), days_beside, days[i] + 1);
    }
    sum.write_mean(fields.subspan(i * values, values));
  }
}

/// Returns the numbers of the days in the file's axis "dayofyear"; nothing if the levels have another axis.
std::optional<std::vector<double>> days_of_file(const StoredLevels& levels, const std::string& target) {
  for (const AxisCoordinates& axis : levels.store().coordinates(0, target).axes) {
    if (axis.axis != time_axis || axis.dimension.substr(axis.dimension.rfind('/') + 1) != day_of_year_axis)
      continue;
    if (axis.values.empty()) {
      fail_input(errors::data_mismatch,
                 "{}: its axis {} has no coordinates; expected the numbers of its days, from 1",
                 levels.store().path(), day_of_year_axis);
    }
    if (levels.trajectories() != 1) {
      fail_input(errors::data_mismatch,
                 "{}: its days lie in {} files or samples; a climatology by {} is one file without the axis "
                 "\"sample\"",
                 levels.store().path(), levels.trajectories(), day_of_year_axis);
    }
    return axis.values;
  }
  return std::nullopt;
}

/// Reads the levels with these numbers of days, from 1. A file of 365 days has that of December 31 for 366.
void read_numbered_days(const StoredLevels& levels, const std::vector<double>& numbers,
                        const std::vector<int>& days, std::span<float> fields) {
  const std::size_t values = fields.size() / days.size();
  for (std::size_t i = 0; i < days.size(); ++i) {
    auto found = std::ranges::find(numbers, days[i]);
    if (found == numbers.end() && days[i] == 366) found = std::ranges::find(numbers, 365);
    if (found == numbers.end()) {
      fail_input(errors::data_mismatch, "{}: its axis {} has no day {}, on which the rollout is compared",
                 levels.store().path(), day_of_year_axis, days[i]);
    }
    levels.read(0, found - numbers.begin(), fields.subspan(i * values, values));
  }
}

/// What --climatology names.
enum class Kind { mean, training_days, numbered_days };

class Reader {
 public:
  Reader(const StoredNetwork& network, const RolloutData& data, const RolloutArguments& arguments)
      : network_(network), data_(data), arguments_(arguments) {
    const bool by_day = arguments.climatology == training_day_climatology;
    const bool is_of_training = by_day || arguments.climatology == training_climatology;
    const DataOptions& trained = network.options.data;
    if (is_of_training && trained.train.empty()) {
      fail_input(errors::missing_argument, "{}: its deck names no data.train; give --climatology FILE",
                 network.path);
    }
    const std::vector<std::string> files =
        is_of_training ? trained.train.names : mylos::files_of({arguments.climatology});
    levels_.emplace(files, is_of_training ? trained.arrays : climatology_options(network, files.front()),
                    LevelsOf::targets);
    require_same_fields(*data.starts, arguments.start, *levels_, levels_->store().path(),
                        trajectory_options(network));
    require_same_masks(network.samples.masks, fmt::format("the training data of {}", network.path),
                       levels_->store().masks(), levels_->store().path());
    if (by_day) {
      kind_ = Kind::training_days;
      require_same_calendar(data.truth->store().level_step(), arguments.truth, levels_->store().level_step(),
                            levels_->store().path());
    }
    if (is_of_training) return;
    const auto numbers = days_of_file(*levels_, network.options.data.arrays.targets.front());
    if (!numbers) return;
    kind_ = Kind::numbered_days;
    numbers_ = *numbers;
  }

  [[nodiscard]] Kind kind() const { return kind_; }

  void read(const std::vector<int>& days, std::span<float> fields) const {
    if (kind_ == Kind::mean) return read_mean(*levels_, fields);
    if (kind_ == Kind::numbered_days) return read_numbered_days(*levels_, numbers_, days, fields);
    read_days(*levels_, days, data_.truth->times(data_.trajectories->member(0).trajectory), fields);
  }

 private:
  const StoredNetwork& network_;
  const RolloutData& data_;
  const RolloutArguments& arguments_;
  std::optional<StoredLevels> levels_;
  Kind kind_ = Kind::mean;
  std::vector<double> numbers_;  // of the days of a file
};

/// Returns the day, by the kind's count, of the truth of each member after each step; -1 where there is none.
std::vector<int> days_of_truth(const RolloutData& data, const RolloutArguments& arguments, Kind kind) {
  const StoredTrajectories& trajectories = *data.trajectories;
  std::vector<int> days;
  for (std::int64_t member = 0; member < trajectories.members(); ++member) {
    for (std::int64_t step = 1; step <= arguments.steps; ++step) {
      days.push_back(-1);
      if (!trajectories.has_truth(member, step)) continue;
      const LevelTimes& times = data.truth->times(trajectories.member(member).trajectory);
      if (!times.are_known()) {
        fail_input(errors::data_mismatch,
                   "{}: --climatology {} is by day of the year, and the file states no times by the CF "
                   "conventions",
                   arguments.truth, arguments.climatology);
      }
      const std::int64_t level = trajectories.level_of_truth(member, step);
      const CfDate date = date_of(times.calendar, times.instants[static_cast<std::size_t>(level)]);
      days.back() = kind == Kind::training_days ? calendar_day(times.calendar, date) : date.day_of_year;
    }
  }
  return days;
}

}  // namespace

RolloutClimatology::RolloutClimatology(RankGroup& ranks, const StoredNetwork& network,
                                       const RolloutData& data, const RolloutArguments& arguments,
                                       std::size_t rollouts)
    : steps_(arguments.steps), values_(static_cast<std::size_t>(data.trajectories->layout().state_values())) {
  std::optional<Reader> reader;
  auto kind = Kind::mean;
  run_on_all(ranks, [&] {
    if (ranks.rank() != 0) return;
    kind = reader.emplace(network, data, arguments).kind();
  });
  ranks.broadcast(&kind, sizeof kind, 0);
  std::vector<int> days;  // in ascending order, each once
  run_on_all(ranks, [&] {
    std::size_t sums = 1;  // on rank 0
    if (kind != Kind::mean) {
      const std::vector<int> of_truth = days_of_truth(data, arguments, kind);
      const std::set<int> known(of_truth.begin(), of_truth.end());
      std::ranges::copy_if(known, std::back_inserter(days), [](int day) { return day >= 0; });
      for (const int day : of_truth)
        field_of_.push_back(day < 0 ? -1 : std::ranges::lower_bound(days, day) - days.begin());
      if (kind == Kind::training_days)
        sums += days_around(data.truth->times(data.trajectories->member(0).trajectory).calendar, days).size();
    }
    const std::size_t fields = std::max<std::size_t>(1, days.size());
    require_host_memory(
        fmt::format("--climatology {} and the rollouts", arguments.climatology),
        rollouts + ((fields + 1) * sizeof(float) + (sums + 1) * FieldSum::bytes_of_value) * values_);
    fields_.resize(fields * values_);
  });
  run_on_all(ranks, [&] {
    if (reader) reader->read(days, fields_);
  });
  broadcast_large(ranks, std::as_writable_bytes(std::span(fields_)), 0);
}

std::span<const float> RolloutClimatology::at(std::int64_t member, std::int64_t step) const {
  const std::int64_t field =
      field_of_.empty() ? 0 : field_of_[static_cast<std::size_t>(member * steps_ + step - 1)];
  if (field < 0) return {};
  return std::span(fields_).subspan(static_cast<std::size_t>(field) * values_, values_);
}

}  // namespace mylos::app
