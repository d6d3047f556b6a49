// OnnxGraph: a network as the nodes of ONNX (https://onnx.ai), in host memory. Plain values: write_onnx()
// (onnx_file.hpp) makes a file of them, so that only that file sees protobuf.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mylos {

enum class OnnxType { float32, float16, int64, boolean };

[[nodiscard]] constexpr std::int64_t size_of(OnnxType type) {
  constexpr std::int64_t sizes[] = {4, 2, 8, 1};
  return sizes[static_cast<int>(type)];
}

/// A constant, such as a weight.
struct OnnxTensor {
  std::string name;
  OnnxType type = OnnxType::float32;
  std::vector<std::int64_t> dims;  // empty: a scalar
  std::string bytes;               // packed, row-major, little-endian
};

using OnnxNumbers = std::vector<std::int64_t>;

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::string, OnnxNumbers> value;
};

struct OnnxNode {
  std::string name;
  std::string op;                   // "Gemm"
  std::vector<std::string> inputs;  // names of values or constants; "" for an input that is left out
  std::string output;
  std::vector<OnnxAttribute> attributes;
};

/// An input or output of the graph. A dimension is a number, or the name of one that the caller chooses.
struct OnnxPort {
  std::string name;
  OnnxType type = OnnxType::float32;
  std::vector<std::variant<std::int64_t, std::string>> dims;
};

struct OnnxGraph {
  std::int64_t opset = 17;
  std::string name;
  std::string producer_version;
  std::vector<OnnxPort> inputs;
  std::vector<OnnxPort> outputs;
  std::vector<OnnxNode> nodes;  // in the order of computation
  std::vector<OnnxTensor> constants;
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace mylos
