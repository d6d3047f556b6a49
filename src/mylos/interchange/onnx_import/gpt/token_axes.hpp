// TokenAxes: the axes of an array of [batch, tokens, columns] after a graph has split, merged, permuted and
// cut them, as attention does with its heads.
//
// Each axis of the array is a product of atoms: the batch, the tokens, or a part of the columns with a
// stride. Atoms of one element are left out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

struct AxisAtom {
  enum class Kind { batch, token, column } kind = Kind::column;
  std::int64_t size = 0;
  std::int64_t stride = 1;  // between columns

  bool operator==(const AxisAtom&) const = default;
};

struct TokenAxes {
  std::int64_t first = 0;  // column
  std::vector<std::vector<AxisAtom>> axes = {};

  [[nodiscard]] OnnxNumbers dims() const;
  /// Returns whether the last axis has the columns 0 to `columns`, in order, and those before it the batch
  /// and the tokens, in any order.
  [[nodiscard]] bool is_rows(std::int64_t columns) const;
  /// Returns the only atom of an axis of columns; nothing for others. An axis of one element has {1, 0}.
  [[nodiscard]] std::optional<AxisAtom> columns_of(std::size_t axis) const;
  /// Returns whether an axis is the tokens, or the batch, alone.
  [[nodiscard]] bool is_tokens(std::size_t axis) const;
  [[nodiscard]] bool is_batch(std::size_t axis) const;
  bool operator==(const TokenAxes&) const = default;
};

/// Returns the axes of [batch, tokens, columns].
[[nodiscard]] TokenAxes token_rows(std::int64_t batch, std::int64_t tokens, std::int64_t columns);

// Each returns nothing where it would split the batch or the tokens, or does not fit.

/// `dims`: without 0 and -1.
[[nodiscard]] std::optional<TokenAxes> with_dims(const TokenAxes& of, const OnnxNumbers& dims);
[[nodiscard]] std::optional<TokenAxes> permuted(const TokenAxes& of, const OnnxNumbers& order);
/// Takes a range of one axis of columns.
[[nodiscard]] std::optional<TokenAxes> cut(const TokenAxes& of, std::size_t axis, std::int64_t begin,
                                           std::int64_t end);

}  // namespace mylos
