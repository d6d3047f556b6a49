// The file that `mylos init` and `mylos convert` write: a checkpoint of step 0.
#pragma once

#include <string>

namespace mylos::app {

/// Throws Error (bad_input) where the name is that of an ONNX file ("MODEL.onnx", "MODEL.onnx.h5"), the path
/// is a folder or cannot be written, or the file there is not one that Mylos can write again: a checkpoint of
/// a later step than 0, or what Mylos has not written. An empty file may be replaced. For one rank.
/// `example`: the name of a file in that folder, for the message.
void require_checkpoint_output(const std::string& path, const char* example = "init.h5");

}  // namespace mylos::app
