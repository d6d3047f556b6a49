#include "mylos/interchange/tensor_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace mylos {
namespace {

constexpr std::string_view blocks_of_fno = "fno_blocks.";

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

/// Removes the digits at the start, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

/// Removes the text up to the next dot, and the dot.
std::string_view take_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('.'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace

TensorNameParts parts_of_name(std::string_view tensor) {
  if (constexpr std::string_view end = ".tensor"; tensor.ends_with(end)) tensor.remove_suffix(end.size());
  const std::size_t dot = tensor.find_last_of("./");
  const std::string_view name = dot == std::string_view::npos ? tensor : tensor.substr(dot + 1);
  TensorNameParts parts{dot == std::string_view::npos ? "" : std::string(tensor.substr(0, dot)),
                        std::string(name)};
  if (name == "running_var") parts.name = "running_variance";
  return parts;
}

bool is_before_by_number(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_number(a);
      const std::string_view y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && !b.empty();
}

std::string pattern_of_name(std::string_view layer) {
  std::string pattern;
  while (!layer.empty()) {
    if (is_digit(layer.front())) {
      static_cast<void>(take_number(layer));
      pattern += '#';
      continue;
    }
    pattern += layer.front();
    layer.remove_prefix(1);
  }
  return pattern;
}

std::pair<std::string, std::string> parts_that_differ(const std::string& a, const std::string& b) {
  std::size_t begin = 0;  // of the part
  while (true) {
    const std::size_t end_a = std::min(a.find('.', begin), a.size());
    const std::size_t end_b = std::min(b.find('.', begin), b.size());
    const bool is_same = a.compare(begin, end_a - begin, b, begin, end_b - begin) == 0;
    if (!is_same || end_a == a.size() || end_b == b.size()) return {a.substr(0, end_a), b.substr(0, end_b)};
    begin = end_a + 1;
  }
}

bool is_in_part(std::string_view layer, std::string_view part) {
  return layer.starts_with(part) && (layer.size() == part.size() || layer[part.size()] == '.');
}

bool is_counter(std::string_view tensor) {
  return parts_of_name(tensor).name == "num_batches_tracked";
}

bool is_of_fno(std::string_view tensor) {
  return tensor.find("fno_blocks.convs.") != std::string_view::npos;
}

FnoPosition position_in_fno(std::string_view layer) {
  enum Part { lifting, blocks, projection, elsewhere };
  const std::size_t at = layer.find(blocks_of_fno);
  if (at == std::string_view::npos) {
    const bool lifts = layer.find("lifting") != std::string_view::npos;
    const bool projects = layer.find("projection") != std::string_view::npos;
    return {lifts ? lifting : projects ? projection : elsewhere, 0, 0};
  }
  layer.remove_prefix(at + blocks_of_fno.size());
  constexpr std::array<std::string_view, 6> kinds{"fno_skips",         "convs",      "norm", "channel_mlp",
                                                  "channel_mlp_skips", "second norm"};
  std::string_view kind = take_part(layer);
  const std::string_view number = take_part(layer);
  long block = 0;
  std::from_chars(number.data(), number.data() + number.size(), block);
  if (kind == "norm") {  // a block has two
    if (block % 2 == 1) kind = kinds.back();
    block /= 2;
  }
  const auto* found = std::find(kinds.begin(), kinds.end(), kind);
  return {blocks, block, static_cast<int>(found - kinds.begin())};
}

}  // namespace mylos
