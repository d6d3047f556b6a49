#include "mylos/model/onnx/onnx_builder.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/float16.hpp"

namespace mylos {
namespace {

template <class T>
std::string bytes_of(std::span<const T> values) {
  std::string bytes(values.size_bytes(), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Rounds to half; `name` is for the message.
std::string half_bytes(const std::string& name, std::span<const float> values) {
  std::vector<half> rounded(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    rounded[i] = from_float<half>(values[i]);
    if (!std::isfinite(values[i]) || std::isfinite(to_float(rounded[i]))) continue;
    fail_input(errors::not_finite, "{} has {}, which fp16 cannot hold; export with --type fp32", name,
               values[i]);
  }
  return bytes_of<half>(rounded);
}

}  // namespace

void OnnxBuilder::require_opset(std::int64_t needed, const char* op) const {
  if (graph_.opset >= needed) return;
  fail_input(errors::bad_argument,
             "--opset {}: layer '{}' needs {}, which ONNX has from opset {} on; give --opset {} or higher",
             graph_.opset, layer_, op, needed, needed);
}

std::string OnnxBuilder::unique(const std::string& name) {
  const std::string base = layer_.empty() ? name : layer_ + "/" + name;
  std::string result = base;
  for (int number = 2; !names_.insert(result).second; ++number) result = base + "_" + std::to_string(number);
  return result;
}

std::string OnnxBuilder::node(const std::string& op, std::vector<std::string> inputs,
                              std::vector<OnnxAttribute> attributes) {
  const std::string name = unique(op);
  graph_.nodes.push_back({name, op, std::move(inputs), name, std::move(attributes)});
  return name;
}

std::string OnnxBuilder::numbers(const std::string& name, OnnxType type, const OnnxNumbers& dims,
                                 std::span<const float> values) {
  const std::string full = unique(name);
  std::string bytes = type == OnnxType::float16 ? half_bytes(full, values) : bytes_of(values);
  graph_.constants.push_back({full, type, dims, std::move(bytes)});
  return full;
}

std::string OnnxBuilder::shared(OnnxType type, OnnxNumbers dims, std::string bytes) {
  const std::string key = std::to_string(static_cast<int>(type)) + (dims.empty() ? "s" : "v") + bytes;
  const auto [found, is_new] = shared_.emplace(key, "");
  if (!is_new) return found->second;
  const std::string layer = std::exchange(layer_, "");
  found->second = unique("constant");
  layer_ = layer;
  graph_.constants.push_back({found->second, type, std::move(dims), std::move(bytes)});
  return found->second;
}

std::string OnnxBuilder::shared_numbers(const std::string& key, const std::string& name,
                                        const OnnxNumbers& dims,
                                        const std::function<std::vector<float>()>& make) {
  const auto [found, is_new] = keyed_.emplace(key, "");
  if (!is_new) return found->second;
  const std::string layer = std::exchange(layer_, "");
  found->second = numbers(name, OnnxType::float32, dims, make());
  layer_ = layer;
  return found->second;
}

std::string OnnxBuilder::scalar(float value, OnnxType type) {
  const std::span<const float> one(&value, 1);
  return shared(type, {}, type == OnnxType::float16 ? half_bytes("a constant", one) : bytes_of(one));
}

std::string OnnxBuilder::integers(const OnnxNumbers& values) {
  return shared(OnnxType::int64, {static_cast<std::int64_t>(values.size())},
                bytes_of(std::span<const std::int64_t>(values)));
}

std::string OnnxBuilder::integer(std::int64_t value) {
  return shared(OnnxType::int64, {}, bytes_of(std::span<const std::int64_t>(&value, 1)));
}

std::string OnnxBuilder::cast(const std::string& value, OnnxType from, OnnxType to) {
  if (from == to) return value;
  constexpr std::int64_t codes[] = {1, 10, 7, 9};  // TensorProto.DataType
  return node("Cast", {value}, {{"to", codes[static_cast<int>(to)]}});
}

std::string OnnxBuilder::reshape(const std::string& value, const OnnxNumbers& shape) {
  return node("Reshape", {value, integers(shape)});
}

std::string OnnxBuilder::transpose(const std::string& value, const OnnxNumbers& permutation) {
  return node("Transpose", {value}, {{"perm", permutation}});
}

std::string OnnxBuilder::slice(const std::string& value, std::int64_t axis, std::int64_t begin,
                               std::int64_t end) {
  return node("Slice", {value, integers({begin}), integers({end}), integers({axis})});
}

std::string OnnxBuilder::reversed(const std::string& value, std::int64_t axis, std::int64_t end,
                                  std::int64_t count) {
  // An end of -1 would mean the last element: one before the first is "below all".
  const std::int64_t stop = end == count ? std::numeric_limits<std::int64_t>::min() : end - count - 1;
  return node("Slice", {value, integers({end - 1}), integers({stop}), integers({axis}), integers({-1})});
}

std::string OnnxBuilder::pad(const std::string& value, OnnxType type, const char* mode,
                             const OnnxNumbers& before, const OnnxNumbers& after) {
  OnnxNumbers both = before;
  both.insert(both.end(), after.begin(), after.end());
  std::vector<std::string> inputs{value, integers(both)};
  if (std::string_view(mode) == "constant") inputs.push_back(scalar(0, type));
  return node("Pad", std::move(inputs), {{"mode", std::string(mode)}});
}

std::string OnnxBuilder::mean(const std::string& value, const OnnxNumbers& axes) {
  constexpr std::int64_t first_with_input = 18;
  if (opset() >= first_with_input)
    return node("ReduceMean", {value, integers(axes)}, {{"keepdims", std::int64_t{1}}});
  return node("ReduceMean", {value}, {{"axes", axes}, {"keepdims", std::int64_t{1}}});
}

}  // namespace mylos
