// The model file that a command writes of a checkpoint.
#pragma once

#include <string>

#include "mylos/data/options.hpp"

namespace mylos::app {

/// Throws Error (bad_input) where `output` cannot be a model file of this checkpoint, HDF5 unless it is named
/// MODEL.onnx: the name is that of another kind of file, or it would replace a folder, a checkpoint, or the
/// data of the run.
void require_model_output(const std::string& checkpoint, const DataOptions& data, const std::string& output);

}  // namespace mylos::app
