#include "mylos/interchange/onnx/onnx_file.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <cerrno>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

onnx::TensorProto::DataType code_of(OnnxType type) {
  switch (type) {
    case OnnxType::float16:
      return onnx::TensorProto::FLOAT16;
    case OnnxType::int64:
      return onnx::TensorProto::INT64;
    case OnnxType::boolean:
      return onnx::TensorProto::BOOL;
    case OnnxType::float32:
      break;
  }
  return onnx::TensorProto::FLOAT;
}

/// Returns the version of the file format that came with the opset.
std::int64_t format_version(std::int64_t opset) {
  if (opset >= 21) return 10;
  if (opset >= 19) return 9;
  return opset >= 15 ? 8 : 7;
}

void set(onnx::AttributeProto& to, const OnnxAttribute& from) {
  to.set_name(from.name);
  if (const auto* number = std::get_if<std::int64_t>(&from.value)) {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&from.value)) {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&from.value)) {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(*text);
  } else {
    to.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t each : std::get<OnnxNumbers>(from.value)) to.add_ints(each);
  }
}

void set(onnx::NodeProto& to, const OnnxNode& from) {
  to.set_name(from.name);
  to.set_op_type(from.op);
  for (const std::string& input : from.inputs) to.add_input(input);
  to.add_output(from.output);
  for (const OnnxAttribute& attribute : from.attributes) set(*to.add_attribute(), attribute);
}

void set(onnx::ValueInfoProto& to, const OnnxPort& from) {
  to.set_name(from.name);
  onnx::TypeProto::Tensor& tensor = *to.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(code_of(from.type));
  for (const auto& dimension : from.dims) {
    onnx::TensorShapeProto::Dimension& added = *tensor.mutable_shape()->add_dim();
    if (const auto* size = std::get_if<std::int64_t>(&dimension)) {
      added.set_dim_value(*size);
    } else {
      added.set_dim_param(std::get<std::string>(dimension));
    }
  }
}

void set(onnx::TensorProto& to, OnnxTensor from) {
  to.set_name(from.name);
  to.set_data_type(code_of(from.type));
  for (const std::int64_t extent : from.dims) to.add_dims(extent);
  to.set_raw_data(std::move(from.bytes));
}

void fill(onnx::ModelProto& model, OnnxGraph from) {
  model.set_ir_version(format_version(from.opset));
  model.set_producer_name("mylos");
  model.set_producer_version(from.producer_version);
  model.add_opset_import()->set_version(from.opset);
  for (const auto& [key, value] : from.metadata) {
    onnx::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(from.name);
  for (const OnnxPort& port : from.inputs) set(*graph.add_input(), port);
  for (const OnnxPort& port : from.outputs) set(*graph.add_output(), port);
  for (const OnnxNode& node : from.nodes) set(*graph.add_node(), node);
  for (OnnxTensor& constant : from.constants) set(*graph.add_initializer(), std::move(constant));
}

}  // namespace

std::string onnx_library() {
  constexpr int version = GOOGLE_PROTOBUF_VERSION;
  return fmt::format("libonnx, protobuf {}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
}

void require_onnx() {}

void write_onnx(OnnxGraph graph, const std::string& path) {
  onnx::ModelProto model;
  fill(model, std::move(graph));
  const auto bytes = static_cast<std::int64_t>(model.ByteSizeLong());
  if (bytes > std::numeric_limits<std::int32_t>::max()) {
    fail_input(errors::too_large, "{}: would have {}, and a file of ONNX ends at 2 GiB", path,
               format_bytes(bytes));
  }
  PendingFile file(path);
  reserve_space(file.temporary(), bytes);
  if (!model.SerializeToFileDescriptor(file.file().descriptor())) fail_to_write(path, errno);
  file.publish();
}

}  // namespace mylos
