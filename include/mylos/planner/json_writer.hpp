// JsonWriter: JSON text (RFC 8259), member by member.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace mylos {

/// Indents by two blanks; what lies in an inline object stays on its line. Keys belong to members of objects
/// and are left out in arrays and for the outermost value. Numbers are written so that they read back the
/// same; what JSON has no number for (infinity, NaN) becomes null.
class JsonWriter {
 public:
  void begin_object(std::string_view key = {}) { open(key, '{', false); }
  void begin_inline_object(std::string_view key = {}) { open(key, '{', true); }
  void end_object() { close('}'); }
  void begin_array(std::string_view key = {}) { open(key, '[', false); }
  void end_array() { close(']'); }

  void member(std::string_view key, std::string_view text);
  void member(std::string_view key, const char* text) { member(key, std::string_view(text)); }
  void member(std::string_view key, bool value);
  void member(std::string_view key, double value);
  template <std::integral Integer>
  void member(std::string_view key, Integer value) {
    start(key);
    text_ += std::to_string(value);
  }

  /// All that was written, with a newline at its end. Every object and array must be closed.
  [[nodiscard]] std::string text() const { return text_ + '\n'; }

 private:
  void start(std::string_view key);
  void open(std::string_view key, char bracket, bool on_one_line);
  void close(char bracket);
  void append_string(std::string_view text);

  std::string text_;
  int depth_ = 0;
  int inline_from_ = 0;  // depth of the outermost object on one line; 0: none
  bool first_ = true;    // no member has been written since the last bracket was opened
};

}  // namespace mylos
