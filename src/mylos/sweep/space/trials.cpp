#include "mylos/sweep/space/trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"

namespace mylos {
namespace {

/// The random numbers of one key.
class KeyNumbers {
 public:
  KeyNumbers(std::uint64_t seed, const std::string& key)
      : stream_(seed, RandomPurpose::sampling, "sweep/" + key) {}
  /// Returns a number in (0, 1).
  [[nodiscard]] double uniform(std::uint64_t index, std::uint64_t use) const {
    return (static_cast<double>(stream_.word(use, index, 0)) + 0.5) / 4294967296.0;
  }
  /// Returns 0 ... count - 1 in a random order (Fisher, Yates).
  [[nodiscard]] std::vector<std::size_t> permutation(std::size_t count) const {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(uniform(i, 1) * static_cast<double>(i))]);
    return order;
  }

 private:
  RandomStream stream_;
};

/// Returns 6 digits, for people, or all of them if rounding leaves the range.
std::string short_number(double value, const SweepKey& range) {
  std::string text = fmt::format("{:.6g}", value);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded < range.low || rounded > range.high ? fmt::format("{}", value) : text;
}

/// Returns the value at `fraction`, from 0 to 1, of the key's values.
std::string value_at(const SweepKey& key, double fraction) {
  if (!key.is_range()) {
    const auto count = static_cast<double>(key.values.size());
    return key.values[std::min(key.values.size() - 1, static_cast<std::size_t>(fraction * count))];
  }
  if (key.is_integer && !key.is_logarithmic) {  // equal intervals, also for the ends
    const double value = std::floor(key.low + fraction * (key.high - key.low + 1));
    return fmt::format("{:.0f}", std::min(value, key.high));
  }
  const double value = key.is_logarithmic
                           ? std::exp(std::log(key.low) + fraction * (std::log(key.high) - std::log(key.low)))
                           : key.low + fraction * (key.high - key.low);
  const double within = std::clamp(value, key.low, key.high);
  return key.is_integer ? fmt::format("{:.0f}", std::round(within)) : short_number(within, key);
}

/// Replaces repeated points by unused ones of the grid.
void make_distinct(std::vector<Trial>& trials, const std::vector<SweepKey>& keys, std::uint64_t seed) {
  std::vector<Trial> all = grid_trials(keys);
  const std::vector<std::size_t> order = KeyNumbers(seed, "").permutation(all.size());
  std::set<Trial> used(trials.begin(), trials.end());
  std::set<Trial> seen;
  std::size_t next = 0;
  for (Trial& trial : trials) {
    if (seen.insert(trial).second) continue;
    while (!used.insert(all[order[next]]).second) ++next;
    trial = all[order[next]];
    seen.insert(trial);
  }
}

}  // namespace

bool has_grid(const std::vector<SweepKey>& keys) {
  return std::none_of(keys.begin(), keys.end(), [](const SweepKey& key) { return key.is_range(); });
}

std::int64_t grid_size(const std::vector<SweepKey>& keys) {
  std::int64_t size = 1;
  for (const SweepKey& key : keys)
    size = std::min(max_trials + 1, size * std::min<std::int64_t>(max_trials + 1, std::ssize(key.values)));
  return size;
}

std::vector<Trial> grid_trials(const std::vector<SweepKey>& keys) {
  std::vector<Trial> trials(1);
  for (const SweepKey& key : keys) {
    std::vector<Trial> longer;
    longer.reserve(trials.size() * key.values.size());
    for (const Trial& trial : trials) {
      for (const std::string& value : key.values) longer.emplace_back(trial).push_back(value);
    }
    trials = std::move(longer);
  }
  return trials;
}

std::vector<Trial> random_trials(const std::vector<SweepKey>& keys, std::int64_t count, std::uint64_t seed) {
  std::vector<Trial> trials(static_cast<std::size_t>(count));
  for (const SweepKey& key : keys) {
    const KeyNumbers numbers(seed, key.key);
    const std::vector<std::size_t> intervals = numbers.permutation(trials.size());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const double fraction =
          (static_cast<double>(intervals[i]) + numbers.uniform(i, 2)) / static_cast<double>(count);
      trials[i].push_back(value_at(key, fraction));
    }
  }
  if (has_grid(keys)) make_distinct(trials, keys, seed);
  return trials;
}

std::vector<Trial> choose_trials(const std::vector<SweepKey>& keys, std::int64_t count, std::uint64_t seed) {
  if (!has_grid(keys)) {
    const auto range =
        std::find_if(keys.begin(), keys.end(), [](const SweepKey& key) { return key.is_range(); });
    if (count == 0)
      fail_input(errors::missing_argument, "{} has a range: give the number of its random trials, --trials N",
                 range->key);
  } else {
    const std::int64_t size = grid_size(keys);
    if (count > size)
      fail_input(errors::bad_argument,
                 "--trials {}: the grid of these values has {} points; give at most that number, or a range",
                 count, size);
    if (count == 0 && size > max_trials)
      fail_input(errors::too_large,
                 "the grid of these values has more than {} points; give --trials N, or fewer values",
                 max_trials);
    if (count == 0) return grid_trials(keys);
    if (size > max_trials)
      fail_input(errors::too_large,
                 "the grid of these values has more than {} points; give ranges or fewer values", max_trials);
  }
  if (count > max_trials)
    fail_input(errors::too_large, "--trials {}: at most {} are possible", count, max_trials);
  return random_trials(keys, count, seed);
}

}  // namespace mylos
