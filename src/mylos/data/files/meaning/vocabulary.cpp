#include "mylos/data/files/meaning/vocabulary.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/utf8.hpp"

namespace mylos {
namespace {

/// Returns the characters of a small vocabulary, for messages.
std::string listed(const std::u32string& codes) {
  constexpr std::size_t most = 128;
  std::string text;
  for (const char32_t code : codes) {
    if (code >= 0x20 && !(code >= 0x7f && code < 0xa0)) append_character(text, code);
  }
  return codes.size() <= most ? ": " + text : "";
}

}  // namespace

std::string_view name_of(TokenKind kind) {
  return kind == TokenKind::bytes ? "bytes" : kind == TokenKind::characters ? "characters" : "tokens";
}

Vocabulary Vocabulary::bytes() {
  return {TokenKind::bytes, 256};
}

Vocabulary Vocabulary::tokens(std::int64_t size) {
  return {TokenKind::tokens, size};
}

Vocabulary Vocabulary::characters(std::string_view characters) {
  Vocabulary vocabulary(TokenKind::characters, 0);
  for (std::size_t at = 0; at < characters.size();) {
    const Utf8Character character = first_character(characters.substr(at));
    if (character.bytes <= 0)
      fail_input(errors::bad_dataset, "the vocabulary's characters are not UTF-8 at byte {}", at);
    if (!vocabulary.codes_.empty() && character.code <= vocabulary.codes_.back()) {
      fail_input(errors::bad_dataset, "the vocabulary's characters are not in rising order at byte {}", at);
    }
    vocabulary.codes_ += character.code;
    at += static_cast<std::size_t>(character.bytes);
  }
  vocabulary.size_ = static_cast<std::int64_t>(vocabulary.codes_.size());
  return vocabulary;
}

std::string Vocabulary::text() const {
  std::string result;
  for (const char32_t code : codes_) append_character(result, code);
  return result;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text, const std::string& source) const {
  if (kind_ == TokenKind::characters) return encode_characters(text, source);
  if (kind_ == TokenKind::tokens) {
    fail_input(errors::bad_argument,
               "{}: the vocabulary has {} numbered tokens without text; give token numbers", source, size_);
  }
  std::vector<std::int32_t> tokens;
  for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

std::vector<std::int32_t> Vocabulary::encode_characters(std::string_view text,
                                                        const std::string& source) const {
  std::vector<std::int32_t> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(text.substr(at));
    if (character.bytes <= 0)
      fail_input(errors::bad_encoding, "{}: is not UTF-8 at byte {} (counted from 0)", source, at);
    const auto found = std::lower_bound(codes_.begin(), codes_.end(), character.code);
    if (found == codes_.end() || *found != character.code) {
      fail_input(errors::unknown_token,
                 "{}: character {} at position {} (counted from 0) is not one of the {} of the vocabulary{}",
                 source, character_text(character.code), tokens.size(), size_, listed(codes_));
    }
    tokens.push_back(static_cast<std::int32_t>(found - codes_.begin()));
    at += static_cast<std::size_t>(character.bytes);
  }
  return tokens;
}

std::string Vocabulary::decode(std::span<const std::int32_t> tokens) const {
  if (kind_ == TokenKind::tokens)
    fail_input(errors::internal, "the vocabulary has {} numbered tokens without text", size_);
  std::string text;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= size_) {
      fail_input(errors::unknown_token, "token {} (counted from 0) is {}, expected 0 to {}", i, tokens[i],
                 size_ - 1);
    }
    if (kind_ == TokenKind::bytes) {
      text += static_cast<char>(tokens[i]);
    } else {
      append_character(text, codes_[static_cast<std::size_t>(tokens[i])]);
    }
  }
  return text;
}

}  // namespace mylos
