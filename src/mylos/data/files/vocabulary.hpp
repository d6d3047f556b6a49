// Vocabulary: what the tokens of a file stand for, and the way from text to tokens and back.
//
// bytes: token = byte, 256 of them. characters: token = rank of the Unicode code point among those that the
// text has, sorted by code point. tokens: numbers from a tokenizer elsewhere, of which only the count is
// known here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

enum class TokenKind { bytes, characters, tokens };

/// "bytes", "characters", "tokens".
[[nodiscard]] std::string_view name_of(TokenKind kind);

class Vocabulary {
 public:
  [[nodiscard]] static Vocabulary bytes();
  /// `characters` in UTF-8, in rising order of their code points, each once. Throws Error (bad_input) when
  /// they are not.
  [[nodiscard]] static Vocabulary characters(std::string_view characters);
  [[nodiscard]] static Vocabulary tokens(std::int64_t size);

  [[nodiscard]] TokenKind kind() const { return kind_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// The characters in UTF-8, one after another; empty for the other kinds.
  [[nodiscard]] std::string text() const;

  /// `source` says where the text comes from ("--prompt"). Throws Error (bad_input) with the position of a
  /// character that is not in the vocabulary, of bytes that are not UTF-8, and for the kind tokens.
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
