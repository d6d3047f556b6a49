// confusion.json: the confusion matrices of a run's last evaluation.
//
//   {format, version, step, classes: [name, ...], parts: {validation|test: [[count, ...], ...]}}
//
// where row i, column j counts the samples of class i that were taken for class j.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/run_data.hpp"
#include "mylos/train/evaluation/measures.hpp"

namespace mylos {

/// Of at least one part of the data. Classes without a name go by their numbers. Throws Error where it cannot
/// be written; an older one stays as it is then.
void write_confusion_file(const std::string& path, std::int64_t step, std::vector<std::string> class_names,
                          std::span<const std::pair<DataPart, const ClassMeasures*>> parts);

}  // namespace mylos
