// Statistics of each column of a table, accumulated row by row in double.
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

/// Checks a file's own statistics, below `group` in it. Throws Error (bad_input) for values that no float32
/// numbers can have: normalised samples would not be finite, and later messages would blame the samples.
void require_sensible(const ColumnStatistics& statistics, const std::string& file, const std::string& group);

/// Checks a file's statistics below `group`, which no digest protects. Throws Error (bad_input) if they
/// differ from those of its samples by more than rounding or the other definition of the deviation (n - 1)
/// explains.
void require_same_statistics(const ColumnStatistics& stored, const ColumnStatistics& computed,
                             const std::string& file, const std::string& group);

/// Whether numbers are equal but for rounding. `spread` is the sum (or mean) of their squared distances from
/// their mean, `square` that of their squares.
[[nodiscard]] bool are_constant(double spread, double square);

class StatisticsAccumulator {
 public:
  explicit StatisticsAccumulator(std::int64_t columns);
  /// Adds `rows` rows of the table, row-major.
  void add(const float* values, std::int64_t rows);
  void add(const std::uint8_t* values, std::int64_t rows);
  [[nodiscard]] ColumnStatistics result() const;

 private:
  template <class T>
  void add_rows(const T* values, std::int64_t rows);

  std::int64_t rows_ = 0;
  // Sums of (value - origin) and of its square. The first row is the origin, so that a large mean causes no
  // cancellation.
  std::vector<double> origin_, sum_, squares_, minimum_, maximum_;
};

}  // namespace mylos
