// The arrays that a file of predictions has: the predictions themselves, and what says how sure they are.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mylos::app {

/// Each has a number for every output of every sample. The predictions are `mean`, also where there is only
/// one network.
enum class PredictionPart { mean, standard_deviation, lower, upper, quantile, member };

/// One array of a file.
struct PredictionArray {
  PredictionPart part = PredictionPart::mean;
  std::int64_t member = 0;  // which, of PredictionPart::member, or which level, of PredictionPart::quantile

  auto operator<=>(const PredictionArray&) const = default;
};

/// What a file has besides the mean.
struct PredictionParts {
  bool has_deviation = false;
  std::optional<double> coverage;      // of the interval [lower, upper]; nothing: the file has none
  std::vector<double> quantiles = {};  // levels
  std::int64_t members = 0;            // that are written one by one

  /// Returns the arrays in their order, the mean first, quantiles or members last.
  [[nodiscard]] std::vector<PredictionArray> arrays() const;
  /// Returns the index of an array in arrays(). Throws Error (internal) if the file does not have it.
  [[nodiscard]] std::size_t index_of(const PredictionArray& array) const;

  /// Returns what is added to a target's name for a column of a table: "", "_sd", "_q0.05", "_lower",
  /// "_upper", "_member_0".
  [[nodiscard]] std::string column_suffix(const PredictionArray& array) const;
  /// The same for an array of a file whose arrays have names: "_standard_deviation" instead of "_sd".
  [[nodiscard]] std::string array_suffix(const PredictionArray& array) const;
};

}  // namespace mylos::app
