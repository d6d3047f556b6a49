#include "mylos/data/prepare/prepare_text.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/utf8.hpp"
#include "mylos/data/prepare/input_file.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/data/tokens/token_writer.hpp"

namespace mylos {
namespace {

constexpr std::int64_t text_piece_bytes = std::int64_t{1} << 20;

[[noreturn]] void fail_character(const InputFile& file, std::int64_t offset, const std::string& what) {
  fail_input(errors::bad_encoding,
             "{}: {} at byte offset {} (counted from 0); expected UTF-8 text, --level bytes accepts any file",
             file.path(), what, offset);
}

/// Calls function(code points of a piece) for each piece of the file in order; skips a byte order mark, which
/// is not part of the text.
template <class Function>
void for_each_piece(const std::string& path, Function&& function) {
  InputFile file(path);
  std::string piece(static_cast<std::size_t>(text_piece_bytes), '\0');
  std::vector<char32_t> codes;
  std::int64_t offset = 0;      // of the piece's first byte
  std::int64_t carry_over = 0;  // bytes of a character that the previous piece ended inside
  for (bool at_end = false; !at_end;) {
    const std::int64_t held =
        carry_over + file.read(piece.data() + carry_over, text_piece_bytes - carry_over);
    at_end = held < text_piece_bytes;
    const std::string_view text(piece.data(), static_cast<std::size_t>(held));
    std::size_t at = offset == 0 && text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
    codes.clear();
    while (at < text.size()) {
      const Utf8Character character = first_character(text.substr(at));
      if (character.bytes < 0 && !at_end) break;
      if (character.bytes <= 0) {
        const auto byte = static_cast<unsigned char>(text[at]);
        fail_character(file, offset + static_cast<std::int64_t>(at),
                       fmt::format("byte 0x{:02x} starts no character", byte));
      }
      if (character.code == 0) {
        fail_character(file, offset + static_cast<std::int64_t>(at), "there is a NUL (as in UTF-16)");
      }
      codes.push_back(character.code);
      at += static_cast<std::size_t>(character.bytes);
    }
    carry_over = held - static_cast<std::int64_t>(at);
    std::copy_n(piece.begin() + static_cast<std::ptrdiff_t>(at), carry_over, piece.begin());
    offset += static_cast<std::int64_t>(at);
    function(codes);
  }
}

std::int64_t bytes_of_mark(const std::string& path) {
  std::string start(byte_order_mark.size(), '\0');
  const std::int64_t read = InputFile(path).read(start.data(), static_cast<std::int64_t>(start.size()));
  return start == byte_order_mark ? read : 0;
}

/// The contents of a text.
struct TextSurvey {
  std::vector<bool> occurs = std::vector<bool>(static_cast<std::size_t>(code_points));  // by code point
  std::int64_t characters = 0;
};

TextSurvey survey_text(const std::string& path) {
  TextSurvey survey;
  for_each_piece(path, [&](const std::vector<char32_t>& codes) {
    for (const char32_t code : codes) survey.occurs[code] = true;
    survey.characters += static_cast<std::int64_t>(codes.size());
  });
  return survey;
}

Vocabulary vocabulary_of(const TextSurvey& survey) {
  std::string text;
  for (std::size_t code = 0; code < survey.occurs.size(); ++code) {
    if (survey.occurs[code]) append_character(text, static_cast<char32_t>(code));
  }
  return Vocabulary::characters(text);
}

Vocabulary known_vocabulary(const std::string& path) {
  const Vocabulary vocabulary = TokenDataset(path).vocabulary();
  if (vocabulary.kind() != TokenKind::characters) {
    fail_input(errors::wrong_format, "--vocabulary {}: its {} tokens are {}, expected a file of characters",
               path, vocabulary.size(), name_of(vocabulary.kind()));
  }
  return vocabulary;
}

constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();

/// Returns the tokens by code point; `unknown` for characters that are not in the vocabulary.
std::vector<std::uint32_t> tokens_by_code(const Vocabulary& vocabulary) {
  std::vector<std::uint32_t> token_of(static_cast<std::size_t>(code_points), unknown);
  const std::string text = vocabulary.text();
  std::uint32_t token = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = first_character(std::string_view(text).substr(at));
    token_of[character.code] = token++;
    at += static_cast<std::size_t>(character.bytes);
  }
  return token_of;
}

/// The position of a character in the text.
struct CharacterPosition {
  std::int64_t line = 1;
  std::int64_t byte = 0;  // after a byte order mark

  void advance(char32_t code) {
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (code == U'\n') ++line;
  }
};

void prepare_characters(const PrepareText& job) {
  const TextSurvey survey = survey_text(job.file);
  const Vocabulary vocabulary =
      job.vocabulary.empty() ? vocabulary_of(survey) : known_vocabulary(job.vocabulary);
  const std::vector<std::uint32_t> token_of = tokens_by_code(vocabulary);
  TokenWriter writer(job.out, token_type_for(vocabulary.size()), survey.characters, vocabulary,
                     InputFile(job.file).name());
  std::vector<std::uint32_t> tokens;
  CharacterPosition position{.byte = bytes_of_mark(job.file)};
  for_each_piece(job.file, [&](const std::vector<char32_t>& codes) {
    tokens.clear();
    for (const char32_t code : codes) {
      if (token_of[code] == unknown) {
        fail_input(errors::unknown_token,
                   "{}:{}: character {} at byte offset {} (counted from 0) is not one of the {} of {}",
                   job.file, position.line, character_text(code), position.byte, vocabulary.size(),
                   job.vocabulary);
      }
      position.advance(code);
      tokens.push_back(token_of[code]);
    }
    writer.add({tokens.data(), tokens.size()});
  });
  writer.finish();
}

void prepare_bytes(const PrepareText& job) {
  InputFile file(job.file);
  TokenWriter writer(job.out, DType::uint8, file.bytes(), Vocabulary::bytes(), file.name());
  std::vector<std::uint8_t> piece(static_cast<std::size_t>(text_piece_bytes));
  std::vector<std::uint32_t> tokens;
  while (const std::int64_t count = file.read(piece.data(), text_piece_bytes)) {
    tokens.assign(piece.begin(), piece.begin() + count);
    writer.add({tokens.data(), tokens.size()});
  }
  writer.finish();
}

}  // namespace

void prepare(const PrepareText& job) {
  if (job.level == TokenKind::tokens) {
    fail_run(errors::internal, "{}: a text has bytes or characters, not numbered tokens", job.file);
  }
  if (job.level == TokenKind::bytes && !job.vocabulary.empty()) {
    fail_input(errors::arguments_conflict,
               "--vocabulary {}: is for --level characters; all files of bytes have the same vocabulary",
               job.vocabulary);
  }
  job.level == TokenKind::bytes ? prepare_bytes(job) : prepare_characters(job);
}

}  // namespace mylos
