#include "mylos/data/files/scaling/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"

namespace mylos {
namespace {

/// Returns the vectors with their names in files.
std::array<std::pair<const char*, const std::vector<double>*>, 4> named(const ColumnStatistics& statistics) {
  return {{{"mean", &statistics.mean},
           {"std", &statistics.deviation},
           {"min", &statistics.minimum},
           {"max", &statistics.maximum}}};
}

}  // namespace

void require_sensible(const ColumnStatistics& statistics, const std::string& file, const std::string& group) {
  constexpr double largest = 2.0 * std::numeric_limits<float>::max();  // sums are rounded
  constexpr double narrowest = 1e-300;  // far below the spread of any float32 numbers; its inverse is finite
  const auto refuse = [&](const char* name, std::size_t column, double value, const std::string& expected) {
    fail_input(
        errors::bad_dataset,
        "{}: {}/{} has {} in column {} (counted from 0), expected {}; `mylos prepare stamp {}` recomputes "
        "statistics",
        file, group, name, value, column, expected, file);
  };
  const auto all = named(statistics);
  for (const auto& [name, values] : all) {
    for (std::size_t i = 0; i < values->size(); ++i) {
      if (!(std::abs((*values)[i]) <= largest))
        refuse(name, i, (*values)[i], "a number in the range of float32");
    }
  }
  for (std::size_t i = 0; i < statistics.mean.size(); ++i) {
    const double deviation = statistics.deviation[i];
    const double range = statistics.maximum[i] - statistics.minimum[i];
    if (deviation != 0 && deviation < narrowest)
      refuse("std", i, deviation, fmt::format("0 or at least {}", narrowest));
    if (range != 0 && range < narrowest)
      refuse("max", i, statistics.maximum[i],
             fmt::format("the {} of {}/min or at least {} more", statistics.minimum[i], group, narrowest));
  }
}

void require_same_statistics(const ColumnStatistics& stored, const ColumnStatistics& computed,
                             const std::string& file, const std::string& group) {
  constexpr double of_deviation = 0.01;
  constexpr double of_largest = 1e-5;  // sums of floats are rounded
  const auto theirs = named(stored);
  const auto ours = named(computed);
  for (std::size_t i = 0; i < computed.mean.size(); ++i) {
    const double largest = std::max(std::abs(computed.minimum[i]), std::abs(computed.maximum[i]));
    const double allowed = of_deviation * computed.deviation[i] + of_largest * largest;
    for (std::size_t which = 0; which < theirs.size(); ++which) {
      const double found = (*theirs[which].second)[i];
      const double expected = (*ours[which].second)[i];
      if (std::abs(found - expected) <= allowed) continue;
      fail_input(
          errors::damaged,
          "{}: {}/{} has {} in column {} (counted from 0), which `mylos prepare` did not write; that of its "
          "samples is {:.6g}; `mylos prepare stamp {}` recomputes statistics, and a file without them has "
          "them computed",
          file, group, theirs[which].first, found, i, expected, file);
    }
  }
}

StatisticsAccumulator::StatisticsAccumulator(std::int64_t columns)
    : origin_(static_cast<std::size_t>(columns)),
      sum_(origin_.size()),
      squares_(origin_.size()),
      minimum_(origin_.size(), std::numeric_limits<double>::infinity()),
      maximum_(origin_.size(), -std::numeric_limits<double>::infinity()) {}

template <class T>
void StatisticsAccumulator::add_rows(const T* values, std::int64_t rows) {
  const std::size_t columns = origin_.size();
  if (rows_ == 0 && rows > 0) std::copy(values, values + columns, origin_.begin());
  for (std::int64_t row = 0; row < rows; ++row, values += columns) {
    for (std::size_t i = 0; i < columns; ++i) {
      const double value = values[i];
      const double difference = value - origin_[i];
      sum_[i] += difference;
      squares_[i] += difference * difference;
      minimum_[i] = std::min(minimum_[i], value);
      maximum_[i] = std::max(maximum_[i], value);
    }
  }
  rows_ += rows;
}

void StatisticsAccumulator::add(const float* values, std::int64_t rows) {
  add_rows(values, rows);
}
void StatisticsAccumulator::add(const std::uint8_t* values, std::int64_t rows) {
  add_rows(values, rows);
}

ColumnStatistics StatisticsAccumulator::result() const {
  const std::size_t columns = origin_.size();
  ColumnStatistics statistics{std::vector<double>(columns), std::vector<double>(columns), minimum_, maximum_};
  const auto count = static_cast<double>(rows_);
  for (std::size_t i = 0; i < columns; ++i) {
    const double mean = sum_[i] / count;
    statistics.mean[i] = origin_[i] + mean;
    statistics.deviation[i] = std::sqrt(std::max(0.0, squares_[i] / count - mean * mean));
  }
  return statistics;
}

bool are_constant(double spread, double square) {
  return !(spread > 1e-12 * square);  // what the difference of two sums leaves of a constant
}

}  // namespace mylos
