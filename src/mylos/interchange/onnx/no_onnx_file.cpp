// Replaces the writer and the reader of ONNX files in builds without libonnx and protobuf.
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/interchange/onnx/onnx_file.hpp"
#include "mylos/interchange/onnx/read_onnx.hpp"

namespace mylos {

std::string onnx_library() {
  return "none";
}

void require_onnx() {
  fail_input(errors::not_in_build,
             "this mylos was built without ONNX's definitions and protobuf, which write and read MODEL.onnx. "
             "Install "
             "them (Debian: libonnx-dev, libprotobuf-dev) and build again with -DMylos_ENABLE_ONNX=ON");
}

void write_onnx(OnnxGraph, const std::string&) {
  require_onnx();
}

ForeignGraph read_onnx(const std::string&) {
  require_onnx();
  return {};
}

}  // namespace mylos
