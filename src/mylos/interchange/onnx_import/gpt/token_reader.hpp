// TokenReader: the values of a graph of tokens while its nodes are read in order, for token_network.cpp. The
// numbers of samples and tokens are given, so that shapes and masks are constants.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "mylos/interchange/onnx_import/gpt/token_network.hpp"
#include "mylos/interchange/onnx_import/graph/node_error.hpp"

namespace mylos {

class TokenReader {
 public:
  TokenReader(const ForeignGraph& graph, std::int64_t batch, std::int64_t tokens);

  /// Sets the node's result if it is a constant.
  [[nodiscard]] bool fold(const ForeignNode& node);
  [[nodiscard]] TokenNetwork take();

  /// Returns the input; null if it is a constant or left out.
  [[nodiscard]] const TokenValue* value(const ForeignNode& node, std::size_t i) const;
  [[nodiscard]] TokenValue required(const ForeignNode& node, std::size_t i) const;
  [[nodiscard]] const ForeignTensor* constant(const ForeignNode& node, std::size_t i) const;
  /// Returns null where the node has no such input; refuses one that is no constant.
  [[nodiscard]] const ForeignTensor* constant_if_given(const ForeignNode& node, std::size_t i) const;
  [[nodiscard]] const TokenStep& step(const TokenValue& value) const { return network_.steps[value.step]; }
  [[nodiscard]] const TokenValue* output(const ForeignNode& node) const;
  /// Returns whether a value is [batch, tokens, all columns of its step], times 1.
  [[nodiscard]] bool is_rows(const TokenValue& value) const;
  [[nodiscard]] static TokenAxes with_columns(TokenAxes axes, std::int64_t columns);
  /// Returns the constant of positions that is added to the embedding, with all rows of its table.
  [[nodiscard]] std::vector<float> positions(const ForeignNode& node, std::size_t i,
                                             std::int64_t columns) const;

  void set(const ForeignNode& node, TokenValue value);
  void set_false(const ForeignNode& node);
  /// Appends a step, whose result has these axes.
  void add(const ForeignNode& node, TokenStep step, TokenAxes axes);

  // Attention.
  void add_scores(const ForeignNode& node, const TokenValue& q, const TokenValue& k);
  void set_mask(const ForeignNode& node, const TokenValue& scores, const ForeignTensor& mask, bool is_added);
  void add_shares(const ForeignNode& node, const TokenValue& scores);
  void add_attention(const ForeignNode& node, const TokenValue& shares, const TokenValue& v);
  [[nodiscard]] double default_scale(const TokenValue& scores) const;

  // Rotary positions: [low cos - high sin, low sin + high cos].
  [[nodiscard]] bool read_rotation_product(const ForeignNode& node);
  [[nodiscard]] bool read_rotation_half(const ForeignNode& node);
  void read_rotation(const ForeignNode& node);

  // Axes.
  void reshape(const ForeignNode& node);
  void squeeze(const ForeignNode& node);
  void unsqueeze(const ForeignNode& node);
  void transpose(const ForeignNode& node);
  void slice(const ForeignNode& node);
  void split(const ForeignNode& node);
  void take_one(const ForeignNode& node);

  template <class... Arguments>
  [[noreturn]] void refuse(const ForeignNode& node, fmt::format_string<Arguments...> format,
                           Arguments&&... of) const {
    refuse_node(graph_, node, format, std::forward<Arguments>(of)...);
  }

 private:
  struct Product {
    TokenValue value;
    const ForeignTensor* table = nullptr;
    std::int64_t context = 0;
  };
  struct Half {
    bool subtracts = false;
    Product first;
    Product second;
  };

  void set_constant(const std::string& name, ForeignTensor tensor, const std::string& rows_of);
  [[nodiscard]] bool fold_rows(const ForeignNode& node);
  [[nodiscard]] std::string table_of(const std::string& name) const;
  [[nodiscard]] OnnxNumbers integers(const ForeignNode& node, std::size_t i, const char* attribute) const;
  [[nodiscard]] std::size_t axis_of(const ForeignNode& node, std::int64_t axis, std::size_t rank) const;
  void set_dims(const ForeignNode& node, TokenValue value, const OnnxNumbers& dims);
  void set_cut(const ForeignNode& node, const std::string& output, TokenValue value, std::size_t axis,
               std::int64_t begin, std::int64_t end);
  [[nodiscard]] HeadColumns heads_of(const ForeignNode& node, const TokenValue& value,
                                     std::size_t width_axis) const;
  [[nodiscard]] std::int64_t require_rotation(const ForeignNode& node, const Half& low,
                                              const Half& high) const;

  const ForeignGraph& graph_;
  std::int64_t tokens_;
  TokenNetwork network_;
  std::map<std::string, TokenValue> values_;
  std::map<std::string, ForeignTensor> computed_;
  std::map<std::string, std::string> tables_;  // of constants that are the first rows of another
  std::map<std::string, Product> products_;
  std::map<std::string, Half> halves_;
  std::int64_t numbers_left_ = std::int64_t{1} << 25;  // of constants that the graph computes
};

}  // namespace mylos
