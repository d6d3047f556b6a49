// Writes an OnnxGraph as a file, through ONNX's own protobuf definitions. Builds without them refuse it
// (no_onnx_file.cpp). A target of its own, mylos_onnx_file: the library of Mylos does not link protobuf,
// whose other versions programs may have.
#pragma once

#include <string>

#include "mylos/model/onnx/onnx_graph.hpp"

namespace mylos {

/// Returns "libonnx, protobuf 3.21.12", or "none" if this build has no ONNX.
[[nodiscard]] std::string onnx_library();

/// Throws Error (bad_input, not-in-build) if this build has no ONNX.
void require_onnx();

/// Writes the file under a temporary name and renames it: an existing file stays unchanged until the new one
/// is complete. Equal graphs give equal bytes. Takes the constants' bytes over, so that they are in memory
/// once. Throws Error: bad_input (too-large) if it would be larger than protobuf's 2 GiB, failed if the disk
/// is full or fails.
void write_onnx(OnnxGraph graph, const std::string& path);

}  // namespace mylos
