#include "mylos/planner/json_writer.hpp"

#include <fmt/format.h>

#include <cmath>

namespace mylos {

void JsonWriter::start(std::string_view key) {
  if (!first_) text_ += ',';
  if (inline_from_ > 0) {
    if (!first_) text_ += ' ';
  } else if (depth_ > 0) {
    text_ += '\n';
    text_.append(2 * static_cast<std::size_t>(depth_), ' ');
  }
  first_ = false;
  if (key.empty()) return;
  append_string(key);
  text_ += ": ";
}

void JsonWriter::open(std::string_view key, char bracket, bool on_one_line) {
  start(key);
  text_ += bracket;
  ++depth_;
  if (on_one_line && inline_from_ == 0) inline_from_ = depth_;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  const bool on_one_line = inline_from_ > 0;
  if (depth_ == inline_from_) inline_from_ = 0;
  --depth_;
  if (!on_one_line && !first_) {
    text_ += '\n';
    text_.append(2 * static_cast<std::size_t>(depth_), ' ');
  }
  text_ += bracket;
  first_ = false;
}

void JsonWriter::member(std::string_view key, std::string_view text) {
  start(key);
  append_string(text);
}

void JsonWriter::member(std::string_view key, bool value) {
  start(key);
  text_ += value ? "true" : "false";
}

void JsonWriter::member(std::string_view key, double value) {
  start(key);
  text_ += std::isfinite(value) ? fmt::format("{}", value) : "null";
}

void JsonWriter::append_string(std::string_view text) {
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      text_ += c;
    }
  }
  text_ += '"';
}

}  // namespace mylos
