#include "mylos/interchange/onnx/read_onnx.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/interchange/onnx/parsed_size.hpp"
#include "mylos/interchange/onnx/tensor_bytes.hpp"
#include "mylos/io/system/system_memory.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_axes = 8;

/// What one file holds, with the memory that its constants may take.
struct Source {
  std::string path;
  std::string shown;        // printable
  std::int64_t memory = 0;  // bytes left
};

void take(Source& source, std::int64_t bytes) {
  if (bytes > source.memory) {
    throw Error(ExitCode::does_not_fit, errors::does_not_fit,
                fmt::format("{}: its constants take more memory than is available, {}", source.shown,
                            format_bytes(available_host_memory())));
  }
  source.memory -= bytes;
}

std::optional<TensorType> type_of(int code) {
  switch (code) {
    case onnx::TensorProto::FLOAT:
      return TensorType::float32;
    case onnx::TensorProto::FLOAT16:
      return TensorType::float16;
    case onnx::TensorProto::BFLOAT16:
      return TensorType::bfloat16;
    case onnx::TensorProto::DOUBLE:
      return TensorType::float64;
    case onnx::TensorProto::INT64:
      return TensorType::int64;
    case onnx::TensorProto::INT32:
      return TensorType::int32;
    case onnx::TensorProto::BOOL:
      return TensorType::boolean;
    default:
      return std::nullopt;
  }
}

/// Returns the number of elements of a shape.
std::int64_t size_of_shape(const Source& source, const std::string& name, const OnnxNumbers& dims) {
  std::int64_t size = 1;
  for (const std::int64_t extent : dims) {
    if (extent < 0 || dims.size() > max_axes)
      fail_input(errors::bad_dataset, "{}: constant '{}' has a negative extent, or more than {} axes",
                 source.shown, printable(name), max_axes);
    if (extent > 0 && size > max_numbers / extent)
      fail_input(errors::too_large, "{}: constant '{}' has a shape of more than {} numbers", source.shown,
                 printable(name), max_numbers);
    size *= extent;
  }
  return size;
}

std::int64_t number_of(const Source& source, const std::string& tensor, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  fail_input(errors::bad_dataset, "{}: the external data of constant '{}' begin or end at '{}', no number",
             source.shown, printable(tensor), printable(text));
}

/// Reads the bytes of a constant from another file of the same folder.
std::string external_bytes(Source& source, const onnx::TensorProto& from, std::int64_t needed) {
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = needed;
  for (const onnx::StringStringEntryProto& entry : from.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number_of(source, from.name(), entry.value());
    if (entry.key() == "length") length = number_of(source, from.name(), entry.value());
  }
  const fs::path name(location);
  const bool is_plain = !location.empty() && location.find('\0') == std::string::npos &&
                        name.filename() == name && location != "." && location != "..";
  if (!is_plain)
    fail_input(
        errors::unsupported_feature,
        "{}: constant '{}' lies in '{}'; external data are read only from the folder of the ONNX file: "
        "store them beside it (onnx.save(..., save_as_external_data=True))",
        source.shown, printable(from.name()), printable(location));
  const std::string path = (fs::path(source.path).parent_path() / name).string();
  if (fs::is_symlink(fs::symlink_status(path)))
    fail_input(errors::unsupported_feature,
               "{}: constant '{}' lies in '{}', a link; external data are read only from files in the folder "
               "of the ONNX file",
               source.shown, printable(from.name()), printable(location));
  require_regular_file(path);
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path));
  if (length != needed || offset > bytes || length > bytes - offset)
    fail_input(errors::truncated, "{}: constant '{}' takes {} bytes, of which '{}' has {} from byte {} on",
               source.shown, printable(from.name()), needed, printable(location),
               std::max<std::int64_t>(0, bytes - offset), offset);
  std::string read(static_cast<std::size_t>(needed), '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(offset);
  file.read(read.data(), needed);
  if (!file) fail_input(errors::cannot_read, "{}: cannot be read from byte {} on", printable(path), offset);
  return read;
}

/// Copies the field in which small constants lie element by element.
template <class Field, class Values>
bool copy_field(const Field& field, Values& values, std::int64_t size) {
  if (field.size() != size) return false;
  values.assign(field.begin(), field.end());
  return true;
}

/// float16 and bfloat16 lie as bits in the field of integers.
bool copy_halves(const onnx::TensorProto& from, TensorType type, ForeignTensor& to, std::int64_t size) {
  if (from.int32_data_size() != size) return false;
  std::string bytes;
  for (const std::int32_t bits : from.int32_data()) {
    bytes.push_back(static_cast<char>(bits & 0xff));
    bytes.push_back(static_cast<char>(bits >> 8 & 0xff));
  }
  fill_from_bytes(to, type, bytes, size);
  return true;
}

bool copy_elements(const onnx::TensorProto& from, TensorType type, ForeignTensor& to, std::int64_t size) {
  switch (type) {
    case TensorType::float32:
      return copy_field(from.float_data(), to.reals, size);
    case TensorType::float64:
      return copy_field(from.double_data(), to.reals, size);
    case TensorType::int64:
      return copy_field(from.int64_data(), to.integers, size);
    case TensorType::int32:
    case TensorType::boolean:
      return copy_field(from.int32_data(), to.integers, size);
    case TensorType::float16:
    case TensorType::bfloat16:
      break;
  }
  return copy_halves(from, type, to, size);
}

/// Returns nothing for a type that is not read.
std::optional<ForeignTensor> tensor_of(Source& source, const onnx::TensorProto& from) {
  const std::optional<TensorType> type = type_of(from.data_type());
  if (!type) return std::nullopt;
  ForeignTensor to{.dims = {from.dims().begin(), from.dims().end()}, .is_integer = is_integer(*type)};
  const std::int64_t size = size_of_shape(source, from.name(), to.dims);
  const std::int64_t bytes = size * bytes_of(*type);
  const bool is_external = from.data_location() == onnx::TensorProto::EXTERNAL;
  if (is_external || from.has_raw_data()) {
    if (!is_external && static_cast<std::int64_t>(from.raw_data().size()) != bytes)
      fail_input(errors::damaged, "{}: constant '{}' has {} bytes, and its shape needs {}", source.shown,
                 printable(from.name()), from.raw_data().size(), bytes);
    take(source, size * std::int64_t{8} + (is_external ? bytes : 0));
    fill_from_bytes(to, *type, is_external ? external_bytes(source, from, bytes) : from.raw_data(), size);
    return to;
  }
  const bool fits = size <= std::numeric_limits<int>::max() && copy_elements(from, *type, to, size);
  if (!fits)
    fail_input(errors::damaged, "{}: constant '{}' does not have the {} numbers of its shape", source.shown,
               printable(from.name()), size);
  return to;
}

ForeignAttribute attribute_of(Source& source, const onnx::AttributeProto& from) {
  switch (from.type()) {
    case onnx::AttributeProto::INT:
      return {from.i()};
    case onnx::AttributeProto::FLOAT:
      return {from.f()};
    case onnx::AttributeProto::STRING:
      return {from.s()};
    case onnx::AttributeProto::INTS:
      return {OnnxNumbers(from.ints().begin(), from.ints().end())};
    case onnx::AttributeProto::FLOATS:
      return {std::vector<float>(from.floats().begin(), from.floats().end())};
    case onnx::AttributeProto::TENSOR: {
      auto tensor = tensor_of(source, from.t());
      return tensor ? ForeignAttribute{std::move(*tensor)} : ForeignAttribute{};
    }
    default:
      return {};
  }
}

ForeignNode node_of(Source& source, const onnx::NodeProto& from) {
  const bool is_standard = from.domain().empty() || from.domain() == "ai.onnx";
  ForeignNode node{from.name(), is_standard ? from.op_type() : from.domain() + "." + from.op_type()};
  node.inputs.assign(from.input().begin(), from.input().end());
  node.outputs.assign(from.output().begin(), from.output().end());
  for (const onnx::AttributeProto& attribute : from.attribute())
    node.attributes[attribute.name()] = attribute_of(source, attribute);
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs.front();
  return node;
}

ForeignPort port_of(const onnx::ValueInfoProto& from) {
  const onnx::TypeProto::Tensor& tensor = from.type().tensor_type();
  const std::optional<TensorType> type = type_of(tensor.elem_type());
  const bool is_whole = type && is_integer(*type);
  ForeignPort port{from.name(), type && !is_whole, is_whole, tensor.has_shape()};
  for (const onnx::TensorShapeProto::Dimension& dimension : tensor.shape().dim())
    port.dims.push_back(dimension.has_dim_value() ? dimension.dim_value() : any_extent);
  return port;
}

std::int64_t opset_of(const Source& source, const onnx::ModelProto& model) {
  std::int64_t opset = 0;
  for (const onnx::OperatorSetIdProto& each : model.opset_import()) {
    if (each.domain().empty() || each.domain() == "ai.onnx") opset = each.version();
  }
  if (opset >= min_foreign_opset && opset <= max_foreign_opset) return opset;
  fail_input(errors::unknown_version,
             "{}: is of ONNX's opset {}; {} to {} are read: export it with another opset_version, or let "
             "onnx.version_converter convert it",
             source.shown, opset, min_foreign_opset, max_foreign_opset);
}

/// The objects stay while constants are copied out of them; names and attributes are copied too.
onnx::ModelProto parsed(Source& source) {
  require_regular_file(source.path);
  const auto bytes = static_cast<std::int64_t>(fs::file_size(source.path));
  if (bytes > std::numeric_limits<std::int32_t>::max())
    fail_input(errors::too_large, "{}: has {}; a file of ONNX ends at 2 GiB", source.shown,
               format_bytes(bytes));
  source.memory = available_host_memory();
  std::ifstream file(source.path, std::ios::binary);
  const auto needed = parsed_size(file, bytes);
  if (needed) take(source, 2 * *needed);
  file.clear();
  file.seekg(0);
  onnx::ModelProto model;
  if (!needed || !model.ParseFromIstream(&file) || !model.has_graph() || model.graph().node_size() == 0)
    fail_input(errors::wrong_format, "{}: is not an ONNX file, or a damaged one", source.shown);
  return model;
}

void add_constants(Source& source, onnx::GraphProto& from, ForeignGraph& to) {
  if (from.sparse_initializer_size() > 0)
    fail_input(errors::unsupported_feature, "{}: has sparse constants; export it with dense ones",
               source.shown);
  for (onnx::TensorProto& tensor : *from.mutable_initializer()) {
    const std::string name = tensor.name();
    if (to.constants.contains(name) || to.unread_constants.contains(name))
      fail_input(errors::damaged, "{}: has two constants '{}'", source.shown, printable(name));
    if (auto read = tensor_of(source, tensor))
      to.constants.emplace(name, std::move(*read));
    else
      to.unread_constants.emplace(name, tensor.data_type());
    tensor.Clear();
  }
}

}  // namespace

ForeignGraph read_onnx(const std::string& path) {
  Source source{path, printable(path, 200)};
  onnx::ModelProto model = parsed(source);
  ForeignGraph graph{.file = source.shown, .producer = model.producer_name()};
  graph.opset = opset_of(source, model);
  if (model.functions_size() > 0)
    fail_input(errors::unsupported_feature,
               "{}: has functions of its own, '{}'; inline them (onnx.inliner.inline_local_functions)",
               source.shown, printable(model.functions(0).name()));
  onnx::GraphProto& from = *model.mutable_graph();
  add_constants(source, from, graph);
  for (const onnx::ValueInfoProto& port : from.input()) {
    if (!graph.constants.contains(port.name())) graph.inputs.push_back(port_of(port));
  }
  for (const onnx::ValueInfoProto& port : from.output()) graph.outputs.push_back(port_of(port));
  for (const onnx::NodeProto& node : from.node()) graph.nodes.push_back(node_of(source, node));
  return graph;
}

}  // namespace mylos
