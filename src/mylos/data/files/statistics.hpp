// Statistics of each column of a table, gathered row by row in double.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mylos {

/// One entry per column; deviation is the standard deviation of the population.
struct ColumnStatistics {
  std::vector<double> mean;
  std::vector<double> deviation;
  std::vector<double> minimum;
  std::vector<double> maximum;
};

/// Of a file's own statistics, below `group` in it. Throws Error (bad_input) for those that no float32
/// numbers have: samples would be normalised to what is no number, and later messages blame the samples.
void require_sensible(const ColumnStatistics& statistics, const std::string& file, const std::string& group);

/// Of statistics that a file holds below `group` and that nothing vouches for: throws Error (bad_input) where
/// they are not those of its samples, within what rounding and another definition of the deviation (n - 1)
/// change.
void require_same_statistics(const ColumnStatistics& stored, const ColumnStatistics& computed,
                             const std::string& file, const std::string& group);

/// Whether numbers are equal but for rounding. `spread` is the sum (or mean) of their squared distances from
/// their mean, `square` that of their squares.
[[nodiscard]] bool are_constant(double spread, double square);

class StatisticsAccumulator {
 public:
  explicit StatisticsAccumulator(std::int64_t columns);
  /// `rows` rows of the table, row-major.
  void add(const float* values, std::int64_t rows);
  void add(const std::uint8_t* values, std::int64_t rows);
  [[nodiscard]] ColumnStatistics result() const;

 private:
  template <class T>
  void add_rows(const T* values, std::int64_t rows);

  std::int64_t rows_ = 0;
  // Sums of (value - origin) and its square; the first row is the origin, so that a large mean cancels no
  // digits.
  std::vector<double> origin_, sum_, squares_, minimum_, maximum_;
};

}  // namespace mylos
