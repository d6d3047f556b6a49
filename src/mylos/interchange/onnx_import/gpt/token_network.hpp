// TokenNetwork: what the nodes of a graph of tokens compute, as sums, norms, matrices and attention over
// [batch, tokens, columns], whatever nodes an exporter writes them with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mylos/interchange/onnx/foreign_graph.hpp"
#include "mylos/interchange/onnx_import/gpt/token_axes.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

enum class TokenOp {
  tokens,
  embedding,
  norm,
  linear,
  activation,
  gated,
  rotated,
  scores,
  shares,
  attention,
  sum
};

/// An array: columns of what a step computes, times a number, with axes of its own.
struct TokenValue {
  std::size_t step = 0;
  TokenAxes axes = {};
  double scale = 1;
};

/// The columns of q, k or v by head.
struct HeadColumns {
  std::int64_t first = 0;
  std::int64_t heads = 1;
  std::int64_t head_stride = 0;
  std::int64_t width = 0;  // of a head
  std::int64_t stride = 1;
};

struct TokenStep {
  TokenOp op = TokenOp::tokens;
  std::int64_t columns = 0;
  std::vector<TokenValue> reads = {};
  std::string node = {};  // the first of the step, for messages
  const std::vector<float>* matrix =
      nullptr;                     // of the graph, or computed; embedding: [tokens, columns]; linear
  bool is_transposed = false;      // linear: [inputs, outputs]
  std::vector<float> weight = {};  // norm: its scale; embedding: of positions, [context, columns]
  std::vector<float> bias = {};    // norm, linear; empty: none
  NormType norm = NormType::none;
  std::string function = {};            // activation
  std::vector<HeadColumns> heads = {};  // scores, shares, attention: of each value that it reads
  double scale = 1;                     // shares, attention: of the scores
  bool is_causal = false;               // scores
  std::int64_t context = 0;             // rotated: positions that the graph's tables have
};

/// The steps in order, and the graph's output.
struct TokenNetwork {
  std::vector<TokenStep> steps = {};
  std::map<std::string, ForeignTensor> computed = {};  // matrices of steps that the graph computes
  TokenValue output = {};
};

/// Reads a graph whose input are `batch` samples of `tokens` tokens. `graph`: in order, with its constants
/// folded, norms and functions found; it must outlive the result. Throws Error (bad_input) for nodes that no
/// GPT of ours has.
[[nodiscard]] TokenNetwork read_token_network(const ForeignGraph& graph, std::int64_t batch,
                                              std::int64_t tokens);

}  // namespace mylos
