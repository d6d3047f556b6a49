#include "mylos/interchange/onnx_import/gpt/token_axes.hpp"

#include <algorithm>

namespace mylos {
namespace {

using Atoms = std::vector<AxisAtom>;
using Kind = AxisAtom::Kind;

/// Appends an atom, as one with the last where their columns are in order.
void append(Atoms& atoms, const AxisAtom& atom) {
  if (atom.size == 1) return;
  const bool continues = !atoms.empty() && atoms.back().kind == Kind::column && atom.kind == Kind::column &&
                         atoms.back().stride == atom.stride * atom.size;
  if (continues)
    atoms.back() = {Kind::column, atoms.back().size * atom.size, atom.stride};
  else
    atoms.push_back(atom);
}

bool is_alone(const Atoms& atoms, Kind kind) {
  return atoms.empty() || (atoms.size() == 1 && atoms[0].kind == kind);
}

}  // namespace

OnnxNumbers TokenAxes::dims() const {
  OnnxNumbers all;
  for (const Atoms& atoms : axes) {
    all.push_back(1);
    for (const AxisAtom& atom : atoms) all.back() *= atom.size;
  }
  return all;
}

bool TokenAxes::is_rows(std::int64_t columns) const {
  if (axes.size() < 2 || first != 0) return false;
  const Atoms all = columns == 1 ? Atoms{} : Atoms{{Kind::column, columns, 1}};
  if (axes.back() != all) return false;
  Atoms rows;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    for (const AxisAtom& atom : axes[i]) append(rows, atom);
  }
  const auto has = [&](Kind kind) {
    return std::any_of(rows.begin(), rows.end(), [&](const AxisAtom& atom) { return atom.kind == kind; });
  };
  return rows.size() == 1 ? has(Kind::token) : rows.size() == 2 && has(Kind::token) && has(Kind::batch);
}

std::optional<AxisAtom> TokenAxes::columns_of(std::size_t axis) const {
  if (!is_alone(axes[axis], Kind::column)) return std::nullopt;
  return axes[axis].empty() ? AxisAtom{Kind::column, 1, 0} : axes[axis][0];
}

bool TokenAxes::is_tokens(std::size_t axis) const {
  return !axes[axis].empty() && is_alone(axes[axis], Kind::token);
}

bool TokenAxes::is_batch(std::size_t axis) const {
  return is_alone(axes[axis], Kind::batch);
}

TokenAxes token_rows(std::int64_t batch, std::int64_t tokens, std::int64_t columns) {
  TokenAxes rows;
  for (const AxisAtom& atom : {AxisAtom{Kind::batch, batch, 0}, AxisAtom{Kind::token, tokens, 0},
                               AxisAtom{Kind::column, columns, 1}}) {
    rows.axes.emplace_back();
    append(rows.axes.back(), atom);
  }
  return rows;
}

std::optional<TokenAxes> with_dims(const TokenAxes& of, const OnnxNumbers& dims) {
  Atoms left;  // the last first
  for (auto atoms = of.axes.rbegin(); atoms != of.axes.rend(); ++atoms)
    left.insert(left.end(), atoms->rbegin(), atoms->rend());
  TokenAxes result{of.first, {}};
  for (const std::int64_t extent : dims) {
    Atoms& axis = result.axes.emplace_back();
    std::int64_t missing = extent;
    while (missing > 1) {
      if (left.empty()) return std::nullopt;
      const AxisAtom atom = left.back();
      left.pop_back();
      if (missing % atom.size == 0) {
        append(axis, atom);
        missing /= atom.size;
        continue;
      }
      if (atom.kind != Kind::column || atom.size % missing != 0) return std::nullopt;
      const std::int64_t inner = atom.size / missing;
      append(axis, {Kind::column, missing, atom.stride * inner});
      left.push_back({Kind::column, inner, atom.stride});
      missing = 1;
    }
    if (missing < 1) return std::nullopt;
  }
  if (!left.empty()) return std::nullopt;
  return result;
}

std::optional<TokenAxes> permuted(const TokenAxes& of, const OnnxNumbers& order) {
  if (order.size() != of.axes.size()) return std::nullopt;
  TokenAxes result{of.first, {}};
  std::vector<bool> seen(order.size(), false);
  for (const std::int64_t axis : order) {
    const auto from = static_cast<std::size_t>(axis);
    if (from >= seen.size() || seen[from]) return std::nullopt;
    seen[from] = true;
    result.axes.push_back(of.axes[from]);
  }
  return result;
}

std::optional<TokenAxes> cut(const TokenAxes& of, std::size_t axis, std::int64_t begin, std::int64_t end) {
  const std::int64_t extent = of.dims()[axis];
  if (begin < 0 || begin >= end || end > extent) return std::nullopt;
  if (end - begin == extent) return of;
  const auto atom = of.columns_of(axis);
  if (!atom) return std::nullopt;
  TokenAxes result = of;
  result.first += begin * atom->stride;
  result.axes[axis].clear();
  append(result.axes[axis], {Kind::column, end - begin, atom->stride});
  return result;
}

}  // namespace mylos
