// run.metrics: what evaluations measure besides loss and accuracy.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "mylos/model/losses.hpp"

namespace mylos {

/// For classes: top-5 accuracy and the confusion matrix. For regression targets: R2, and of fields relative
/// norms of the error in the targets' units. For predicted distributions: the continuous ranked probability
/// score. docs/reference/metrics.md has the formulas.
enum class Measure { top5, confusion, r2, relative_l2, relative_h1, crps };

/// What is known of a measure.
struct MeasureTraits {
  std::string_view name;   // in decks, files and command lines
  std::string_view label;  // in reports of an evaluation
  Prediction of;           // the outputs that have it; numbers: distributions too
  bool is_number = true;   // one, in a column of evaluations.csv
  bool is_gain = false;    // larger is better
};

/// A row for each measure, in the order of Measure.
inline constexpr MeasureTraits measure_traits[] = {
    {.name = "top5", .label = "top-5", .of = Prediction::classes, .is_gain = true},
    {.name = "confusion", .label = "confusion matrix", .of = Prediction::classes, .is_number = false},
    {.name = "r2", .label = "R2", .of = Prediction::numbers, .is_gain = true},
    {.name = "relative_l2", .label = "relative L2", .of = Prediction::numbers},
    {.name = "relative_h1", .label = "relative H1", .of = Prediction::numbers},
    {.name = "crps", .label = "CRPS", .of = Prediction::distributions}};

inline constexpr std::size_t measure_count = std::size(measure_traits);

/// Every measure.
inline constexpr auto all_measures = [] {
  std::array<Measure, measure_count> measures{};
  for (std::size_t i = 0; i < measure_count; ++i) measures[i] = static_cast<Measure>(i);
  return measures;
}();

[[nodiscard]] constexpr const MeasureTraits& traits_of(Measure measure) {
  return measure_traits[static_cast<std::size_t>(measure)];
}

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(Measure measure) {
  return traits_of(measure).name;
}

/// Returns whether the list has the measure.
[[nodiscard]] inline bool has_measure(std::span<const Measure> measures, Measure measure) {
  return std::find(measures.begin(), measures.end(), measure) != measures.end();
}

/// Returns whether the measure is of classes; the others are of targets.
[[nodiscard]] constexpr bool is_of_classes(Measure measure) {
  return traits_of(measure).of == Prediction::classes;
}

/// Returns whether outputs that say this have the measure.
[[nodiscard]] constexpr bool is_measured_of(Measure measure, Prediction prediction) {
  const Prediction of = traits_of(measure).of;
  return of == prediction || (of == Prediction::numbers && is_of_numbers(prediction));
}

/// A number for each measure; nothing where it was not asked for.
struct MeasuredNumbers {
  std::array<std::optional<double>, measure_count> numbers = {};

  [[nodiscard]] std::optional<double>& operator[](Measure measure) {
    return numbers[static_cast<std::size_t>(measure)];
  }
  [[nodiscard]] const std::optional<double>& operator[](Measure measure) const {
    return numbers[static_cast<std::size_t>(measure)];
  }
};

}  // namespace mylos
