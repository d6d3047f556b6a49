// The steps of attention: scores of queries and keys, the causal mask, shares, and sums of values; and rotary
// positions of queries and keys.
#include <cmath>

#include "mylos/interchange/onnx_import/gpt/token_reader.hpp"
#include "mylos/interchange/onnx_import/graph/broadcasting.hpp"

namespace mylos {
namespace {

using Kind = AxisAtom::Kind;

/// The axes before the last two: samples and heads.
std::vector<std::vector<AxisAtom>> leading(const TokenAxes& axes) {
  return {axes.axes.begin(), axes.axes.end() - 2};
}

/// Returns whether two values have the same samples and heads, whatever columns the heads have.
bool have_same_heads(const TokenAxes& a, const TokenAxes& b) {
  if (a.axes.size() != b.axes.size()) return false;
  for (std::size_t i = 0; i + 2 < a.axes.size(); ++i) {
    if (a.axes[i].size() != b.axes[i].size()) return false;
    for (std::size_t j = 0; j < a.axes[i].size(); ++j) {
      if (a.axes[i][j].kind != b.axes[i][j].kind || a.axes[i][j].size != b.axes[i][j].size) return false;
    }
  }
  return true;
}

/// Returns whether the mask hides the tokens after each token, and no other.
bool is_causal(const ForeignTensor& mask, bool is_added, const OnnxNumbers& dims) {
  constexpr float hidden = -1e4F;
  const auto result = broadcast(dims, mask.dims);
  if (!result || *result != dims || mask.is_integer == is_added) return false;
  const std::size_t tokens = static_cast<std::size_t>(dims.back());
  std::size_t size = 1;
  for (const std::int64_t extent : dims) size *= static_cast<std::size_t>(extent);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = broadcast_index(dims, mask.dims, i);
    const bool may_be_seen = i % tokens <= i / tokens % tokens;
    const bool is_seen = is_added ? mask.reals[at] == 0 : mask.integers[at] != 0;
    const bool is_hidden = is_added ? mask.reals[at] <= hidden : mask.integers[at] == 0;
    if (may_be_seen ? !is_seen : !is_hidden) return false;
  }
  return true;
}

}  // namespace

HeadColumns TokenReader::heads_of(const ForeignNode& node, const TokenValue& value,
                                  std::size_t width_axis) const {
  const auto width = value.axes.columns_of(width_axis);
  HeadColumns heads{.first = value.axes.first};
  std::size_t parts = 0;
  for (const auto& atoms : leading(value.axes)) {
    for (const AxisAtom& atom : atoms) {
      if (atom.kind == Kind::batch) continue;
      heads.heads = atom.size;
      heads.head_stride = atom.stride;
      parts += atom.kind == Kind::column ? 1 : 2;
    }
  }
  if (!width || width->stride == 0 || parts > 1)
    refuse(node, "is not the attention of [batch, heads, tokens, width]");
  heads.width = width->size;
  heads.stride = width->stride;
  return heads;
}

void TokenReader::add_scores(const ForeignNode& node, const TokenValue& q, const TokenValue& k) {
  const std::size_t rank = q.axes.axes.size();
  if (rank < 3 || !have_same_heads(q.axes, k.axes) || !q.axes.is_tokens(rank - 2) ||
      !k.axes.is_tokens(rank - 1))
    refuse(node,
           "multiplies two computed values other than queries and keys of [batch, heads, tokens, width]");
  TokenStep step{.op = TokenOp::scores, .reads = {q, k}};
  step.heads = {heads_of(node, q, rank - 1), heads_of(node, k, rank - 2)};
  if (step.heads[0].width != step.heads[1].width) refuse(node, "has queries and keys of different widths");
  TokenAxes axes{0, leading(q.axes)};
  axes.axes.push_back(q.axes.axes[rank - 2]);
  axes.axes.push_back(k.axes.axes[rank - 1]);
  const double scale = q.scale * k.scale;
  add(node, std::move(step), std::move(axes));
  values_[node.outputs.front()].scale = scale;
}

double TokenReader::default_scale(const TokenValue& scores) const {
  return 1 / std::sqrt(static_cast<double>(step(scores).heads[0].width));
}

void TokenReader::set_mask(const ForeignNode& node, const TokenValue& scores, const ForeignTensor& mask,
                           bool is_added) {
  TokenStep step = this->step(scores);
  if (step.op != TokenOp::scores || !is_causal(mask, is_added, scores.axes.dims()))
    refuse(node, "has another mask than one that hides the later tokens; attention of Mylos is causal");
  step.is_causal = true;
  const double scale = scores.scale;
  add(node, std::move(step), scores.axes);
  values_[node.outputs.front()].scale = scale;
}

void TokenReader::add_shares(const ForeignNode& node, const TokenValue& scores) {
  TokenStep step = this->step(scores);
  if (!step.is_causal)
    refuse(node, "is of scores without a causal mask; in Mylos each token sees itself and those before it");
  step.op = TokenOp::shares;
  step.scale = scores.scale;
  add(node, std::move(step), scores.axes);
}

void TokenReader::add_attention(const ForeignNode& node, const TokenValue& shares, const TokenValue& v) {
  const std::size_t rank = v.axes.axes.size();
  const bool fits = step(shares).op == TokenOp::shares && shares.scale == 1 && v.scale == 1 &&
                    have_same_heads(shares.axes, v.axes) && v.axes.is_tokens(rank - 2);
  if (!fits) refuse(node, "multiplies two computed values other than the shares of attention and its values");
  TokenStep step = this->step(shares);
  step.op = TokenOp::attention;
  step.node.clear();
  step.reads.push_back(v);
  step.heads.push_back(heads_of(node, v, rank - 1));
  const HeadColumns& heads = step.heads.back();
  step.columns = heads.heads * heads.width;
  TokenAxes axes{0, leading(shares.axes)};
  for (auto& atoms : axes.axes) {
    for (AxisAtom& atom : atoms) {
      if (atom.kind == Kind::column) atom.stride = heads.width;
    }
  }
  axes.axes.push_back(v.axes.axes[rank - 2]);
  axes.axes.push_back({{Kind::column, heads.width, 1}});
  add(node, std::move(step), std::move(axes));
}

bool TokenReader::read_rotation_product(const ForeignNode& node) {
  const std::size_t i = value(node, 0) != nullptr ? 0 : 1;
  const TokenValue* const x = value(node, i);
  const ForeignTensor* const table = constant(node, 1 - i);
  const bool is_product = node.op == "Mul" && x != nullptr && table != nullptr && !table->is_integer &&
                          table->size() > 1 && table->dims.size() >= 3 && step(*x).op == TokenOp::linear;
  if (!is_product) return false;
  const auto whole = graph_.constants.find(table_of(node.inputs[1 - i]));
  products_[node.outputs.front()] = {*x, table,
                                     whole == graph_.constants.end() ? tokens_ : whole->second.dims[0]};
  return true;
}

bool TokenReader::read_rotation_half(const ForeignNode& node) {
  if (!node.has_input(0) || !node.has_input(1)) return false;
  const auto first = products_.find(node.inputs[0]);
  const auto second = products_.find(node.inputs[1]);
  if (first == products_.end() || second == products_.end()) return false;
  halves_[node.outputs.front()] = {node.op == "Sub", first->second, second->second};
  return true;
}

/// Returns the positions that the tables have.
std::int64_t TokenReader::require_rotation(const ForeignNode& node, const Half& low, const Half& high) const {
  constexpr double tolerance = 1e-5;
  const TokenAxes& axes = low.first.value.axes;
  const auto width = axes.columns_of(axes.axes.size() - 1);
  const auto has_same_parts = [](const Product& a, const Product& b) {
    return a.value.step == b.value.step && a.value.axes == b.value.axes && a.value.scale == 1 &&
           b.value.scale == 1;
  };
  const bool is_rotation = low.subtracts && !high.subtracts && width && width->stride > 0 &&
                           has_same_parts(low.first, high.first) && has_same_parts(low.second, high.second) &&
                           low.first.value.step == low.second.value.step &&
                           low.second.value.axes.first == axes.first + width->size * width->stride &&
                           low.second.value.axes.axes == axes.axes;
  if (!is_rotation)
    refuse(node, "joins values in another way than rotary positions, [low, high] of each head");
  const double columns = 2 * static_cast<double>(width->size);
  for (const auto& [product, is_cosine] : {std::pair(&low.first, true), std::pair(&low.second, false),
                                           std::pair(&high.first, false), std::pair(&high.second, true)}) {
    if (static_cast<std::int64_t>(product->table->size()) != tokens_ * width->size)
      refuse(node, "has angles that are not of [tokens, 1, {}]", width->size);
    for (std::size_t i = 0; i < product->table->size(); ++i) {
      const auto j = static_cast<double>(i % static_cast<std::size_t>(width->size));
      const auto position = static_cast<double>(i / static_cast<std::size_t>(width->size));
      const double angle = position * std::pow(10000.0, -2 * j / columns);
      const double expected = is_cosine ? std::cos(angle) : std::sin(angle);
      if (!(std::abs(static_cast<double>(product->table->reals[i]) - expected) < tolerance))
        refuse(node, "rotates by other angles than position / 10000^(2 i / width)");
    }
  }
  return low.first.context;
}

void TokenReader::read_rotation(const ForeignNode& node) {
  const auto low = node.has_input(0) ? halves_.find(node.inputs[0]) : halves_.end();
  const auto high = node.has_input(1) ? halves_.find(node.inputs[1]) : halves_.end();
  if (low == halves_.end() || high == halves_.end() || node.inputs.size() != 2)
    refuse(node, "joins values in another way than rotary positions");
  const std::int64_t context = require_rotation(node, low->second, high->second);
  TokenValue whole = low->second.first.value;
  AxisAtom& width = whole.axes.axes.back()[0];
  width.size *= 2;
  TokenStep step{
      .op = TokenOp::rotated, .columns = this->step(whole).columns, .reads = {whole}, .context = context};
  TokenAxes axes = whole.axes;
  add(node, std::move(step), std::move(axes));
}

}  // namespace mylos
