// ForeignGraph: an ONNX graph of another program, as plain values. read_onnx() (read_onnx.hpp) makes one of a
// file, so that only that file sees protobuf.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "mylos/model/onnx/onnx_graph.hpp"

namespace mylos {

/// An extent that only the caller of the network knows, such as the batch.
inline constexpr std::int64_t any_extent = -1;

/// A constant: floats (also of float16 and double, rounded) or integers (also of booleans).
struct ForeignTensor {
  OnnxNumbers dims = {};  // empty: a scalar
  bool is_integer = false;
  std::vector<float> reals = {};
  OnnxNumbers integers = {};

  [[nodiscard]] std::size_t size() const { return is_integer ? integers.size() : reals.size(); }
};

struct ForeignAttribute {
  std::variant<std::monostate, std::int64_t, float, std::string, OnnxNumbers, std::vector<float>,
               ForeignTensor>
      value;  // none: a kind that no supported operator reads
};

struct ForeignNode {
  std::string name;
  std::string op;                        // "Gemm"; of another domain than ONNX's "com.microsoft.Gelu"
  std::vector<std::string> inputs = {};  // "" for an input that is left out
  std::vector<std::string> outputs = {};
  std::map<std::string, ForeignAttribute> attributes = {};

  [[nodiscard]] bool has_input(std::size_t i) const { return i < inputs.size() && !inputs[i].empty(); }
  /// Returns the attribute's value, or null where the node lacks it or it is of another type.
  template <class Value>
  [[nodiscard]] const Value* find(const std::string& attribute) const {
    const auto found = attributes.find(attribute);
    return found == attributes.end() ? nullptr : std::get_if<Value>(&found->second.value);
  }
  /// Returns the attribute's value, or this one where the node lacks it.
  template <class Value>
  [[nodiscard]] Value get(const std::string& attribute, Value absent) const {
    const Value* const value = find<Value>(attribute);
    return value == nullptr ? absent : *value;
  }
};

struct ForeignPort {
  std::string name;
  bool is_real = true;  // float, float16 or double
  bool is_integer = false;
  bool has_shape = true;  // the file states the number of axes
  OnnxNumbers dims = {};  // any_extent where the file names an extent or leaves it open
};

struct ForeignGraph {
  std::string file;  // printable
  std::string producer;
  std::int64_t opset = 0;
  std::vector<ForeignPort> inputs = {};  // without those that have an initial value
  std::vector<ForeignPort> outputs = {};
  std::vector<ForeignNode> nodes = {};
  std::map<std::string, ForeignTensor> constants = {};
  std::map<std::string, int> unread_constants = {};  // of text and other types: their type's number in ONNX
};

}  // namespace mylos
