// Vocabulary: the meaning of a file's tokens, and the conversion from text to tokens and back.
//
// bytes: token = byte, 256 of them. characters: token = rank of the Unicode code point among those of the
// text, sorted by code point. tokens: numbers from another program's tokenizer; only their count is known.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

enum class TokenKind { bytes, characters, tokens };

/// Returns "bytes", "characters" or "tokens".
[[nodiscard]] std::string_view name_of(TokenKind kind);

class Vocabulary {
 public:
  [[nodiscard]] static Vocabulary bytes();
  /// Makes a vocabulary of `characters` in UTF-8. Throws Error (bad_input) unless their code points are
  /// ascending and distinct.
  [[nodiscard]] static Vocabulary characters(std::string_view characters);
  [[nodiscard]] static Vocabulary tokens(std::int64_t size);

  [[nodiscard]] TokenKind kind() const { return kind_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Returns the characters in UTF-8, concatenated; empty for the other kinds.
  [[nodiscard]] std::string text() const;

  /// `source` names the origin of the text ("--prompt"). Throws Error (bad_input) with the position of a
  /// character that is not in the vocabulary or of bytes that are not UTF-8, and for the kind tokens.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text, const std::string& source) const;
  /// Throws Error (bad_input) for a token outside the vocabulary, and for the kind tokens.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const;

  friend bool operator==(const Vocabulary&, const Vocabulary&) = default;

 private:
  Vocabulary(TokenKind kind, std::int64_t size) : kind_(kind), size_(size) {}
  [[nodiscard]] std::vector<std::int32_t> encode_characters(std::string_view text,
                                                            const std::string& source) const;

  TokenKind kind_;
  std::int64_t size_;
  std::u32string codes_;  // characters: code point of each token
};

}  // namespace mylos
