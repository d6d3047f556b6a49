// The model file, or the source, that a command writes of a checkpoint.
#pragma once

#include <string>

#include "mylos/data/options.hpp"

namespace mylos::app {

/// Throws Error (bad_input) where `output` cannot be a model file of this checkpoint, HDF5 unless it is named
/// MODEL.onnx: the name has another ending, or it would replace a folder, the data of the run, or a file that
/// is no model file.
void require_model_output(const std::string& checkpoint, const DataOptions& data, const std::string& output);

/// The same for source, which replaces nothing that is HDF5.
void require_source_output(const std::string& checkpoint, const DataOptions& data, const std::string& output);

}  // namespace mylos::app
