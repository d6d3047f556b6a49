// mylos convert NET.onnx OUT.h5: a checkpoint of the network of an ONNX file, and its deck, OUT.toml.
#pragma once

#include "commands.hpp"

namespace mylos::app {

/// For one process. Throws Error (bad_input) before it writes anything.
ExitCode convert_onnx(const std::string& input, const ConvertArguments& arguments);

}  // namespace mylos::app
