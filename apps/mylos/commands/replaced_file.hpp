// What is there under the name of an output, which only a file of the same kind may replace.
#pragma once

#include <string>

namespace mylos::app {

enum class OutputKind {
  data,         // of `mylos prepare`
  model,        // of `mylos export` and `mylos calibrate`
  predictions,  // of `mylos predict` and `mylos rollout`
  other,        // tables, pictures, ONNX: nothing that is HDF5 is replaced by them
};

/// Throws Error (bad_input) if a file is there that is not of this kind. An empty file is of any.
void require_replaceable(const std::string& output, OutputKind kind);

/// Makes a folder for outputs, where it is not there. Throws Error (cannot_write).
void make_folder(const std::string& folder);

}  // namespace mylos::app
