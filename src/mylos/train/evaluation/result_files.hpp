// The results of a run's last evaluation class by class and target by target, for each part of the data.
//
//   confusion.json   {format, version, step, classes: [name, ...], parts: {validation|test: [[count, ...],
//   ...]}} targets.json     {format, version, step, targets: [name, ...], parts: {validation|test: [R2,
//   ...]}}
//
// Row i, column j of a confusion matrix is the number of samples of class i that were classified as class j.
// R2 is null for a target that is constant, or that has a prediction which is not finite. Classes and targets
// without a name are named by their numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/data_part.hpp"
#include "mylos/train/evaluation/measures/measures.hpp"

namespace mylos {

/// The maximum number of targets of a file. With more targets, such as the points of a grid, no file is
/// written.
inline constexpr std::int64_t max_targets_of_file = 200;

/// Write a file of at least one part of the data. Throw Error if it cannot be written; an older file is then
/// unchanged.
void write_confusion_file(const std::string& path, std::int64_t step, std::vector<std::string> class_names,
                          std::span<const std::pair<DataPart, const ClassMeasures*>> parts);
void write_target_file(const std::string& path, std::int64_t step, std::vector<std::string> names,
                       std::span<const std::pair<DataPart, std::vector<double>>> parts);

}  // namespace mylos
