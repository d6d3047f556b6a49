#include "mylos/interchange/onnx/parsed_size.hpp"

#include <algorithm>
#include <limits>

namespace mylos {
namespace {

// Of generated classes on 64-bit processors, rounded up; repeated fields grow by doubling, and have the old
// and the new array while they copy.
constexpr std::int64_t bytes_of_message = 256 + 3 * 8;
constexpr std::int64_t bytes_of_text = 64 + 3 * 8;
constexpr std::int64_t bytes_of_number = 3 * 8;
constexpr int max_depth = 100;  // protobuf's own

enum class Message { model, graph, node, attribute, tensor, value, type, tensor_type, shape, entry, other };

struct Child {
  Message parent;
  std::uint64_t field;
  Message message;
};

// The numbers of fields in onnx.proto. Messages of `other` have no fields of numbers in sequence.
constexpr Child children[] = {
    {Message::model, 7, Message::graph},      {Message::model, 8, Message::other},
    {Message::model, 14, Message::entry},     {Message::model, 20, Message::other},
    {Message::model, 25, Message::other},     {Message::graph, 1, Message::node},
    {Message::graph, 5, Message::tensor},     {Message::graph, 11, Message::value},
    {Message::graph, 12, Message::value},     {Message::graph, 13, Message::value},
    {Message::graph, 14, Message::other},     {Message::graph, 15, Message::other},
    {Message::graph, 16, Message::entry},     {Message::node, 5, Message::attribute},
    {Message::node, 9, Message::entry},       {Message::attribute, 5, Message::tensor},
    {Message::attribute, 6, Message::graph},  {Message::attribute, 10, Message::tensor},
    {Message::attribute, 11, Message::graph}, {Message::attribute, 14, Message::type},
    {Message::attribute, 15, Message::type},  {Message::attribute, 22, Message::other},
    {Message::attribute, 23, Message::other}, {Message::tensor, 3, Message::other},
    {Message::tensor, 13, Message::entry},    {Message::tensor, 16, Message::entry},
    {Message::value, 2, Message::type},       {Message::value, 4, Message::entry},
    {Message::type, 1, Message::tensor_type}, {Message::type, 4, Message::other},
    {Message::type, 5, Message::other},       {Message::type, 8, Message::other},
    {Message::type, 9, Message::other},       {Message::tensor_type, 2, Message::shape},
    {Message::shape, 1, Message::other}};

const Child* child_of(Message parent, std::uint64_t field) {
  const auto* const found = std::find_if(std::begin(children), std::end(children), [&](const Child& child) {
    return child.parent == parent && child.field == field;
  });
  return found == std::end(children) ? nullptr : found;
}

bool is_packed_integers(Message parent, std::uint64_t field) {
  if (parent == Message::tensor) return field == 1 || field == 5 || field == 7 || field == 11;
  return parent == Message::attribute && field == 8;
}

class WireWalk {
 public:
  WireWalk(std::istream& stream, std::int64_t bytes) : stream_(stream), left_(bytes) {}

  /// Adds the memory of a message of this length. Returns false if its bytes are not its fields.
  bool message(Message type, std::int64_t length, int depth) {
    const std::int64_t end = left_ - length;
    size += bytes_of_message;
    while (left_ > end) {
      const auto tag = varint();
      if (!tag || !field(type, *tag >> 3, static_cast<int>(*tag & 7), end, depth)) return false;
    }
    return left_ == end;
  }

  std::int64_t size = 0;

 private:
  bool field(Message type, std::uint64_t number, int wire_type, std::int64_t end, int depth) {
    constexpr std::int64_t bytes_of_double = 8;
    constexpr std::int64_t bytes_of_float = 4;
    size += bytes_of_number;
    if (wire_type == 0) return varint().has_value();
    if (wire_type == 1) return skip(bytes_of_double);
    if (wire_type == 5) return skip(bytes_of_float);
    const auto length = wire_type == 2 ? varint() : std::nullopt;  // groups: none in ONNX
    if (!length || *length > static_cast<std::uint64_t>(left_ - std::min(end, left_))) return false;
    const auto bytes = static_cast<std::int64_t>(*length);
    if (type == Message::other || (type == Message::attribute && number == 7)) {
      // Of fields whose type is not looked up: the most that can come of each byte.
      size += bytes_of_text + (type == Message::other ? bytes_of_message / 2 : 1) * bytes;
      return skip(bytes);
    }
    if (is_packed_integers(type, number)) {
      size += bytes_of_number * bytes;
      return skip(bytes);
    }
    if (const Child* child = child_of(type, number))
      return depth < max_depth && message(child->message, bytes, depth + 1);
    size += bytes_of_text + bytes;
    return skip(bytes);
  }

  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int byte = left_ > 0 ? stream_.rdbuf()->sbumpc() : std::char_traits<char>::eof();
      if (byte == std::char_traits<char>::eof()) return std::nullopt;
      --left_;
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return std::nullopt;
  }

  bool skip(std::int64_t bytes) {
    if (bytes > left_) return false;
    constexpr std::int64_t near = 4096;  // a seek drops the stream's buffer
    if (bytes > near)
      stream_.seekg(bytes, std::ios::cur);
    else
      stream_.ignore(bytes);
    left_ -= bytes;
    return stream_.good();
  }

  std::istream& stream_;
  std::int64_t left_;
};

}  // namespace

std::optional<std::int64_t> parsed_size(std::istream& model, std::int64_t bytes) {
  WireWalk walk(model, bytes);
  if (!walk.message(Message::model, bytes, 0)) return std::nullopt;
  return walk.size;
}

}  // namespace mylos
