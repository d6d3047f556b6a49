// confusion.json: the confusion matrices of a run's last evaluation.
//
//   {format, version, step, classes: [name, ...], parts: {validation|test: [[count, ...], ...]}}
//
// Row i, column j is the number of samples of class i that were classified as class j.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/data_part.hpp"
#include "mylos/train/evaluation/measures.hpp"

namespace mylos {

/// Writes the matrices of at least one part of the data. Classes without a name are named by their numbers.
/// Throws Error if the file cannot be written; an older file is then unchanged.
void write_confusion_file(const std::string& path, std::int64_t step, std::vector<std::string> class_names,
                          std::span<const std::pair<DataPart, const ClassMeasures*>> parts);

}  // namespace mylos
