#include "mylos/data/prepare_text.hpp"

#include <algorithm>
#include <vector>

#include "input_file.hpp"
#include "mylos/base/error.hpp"
#include "mylos/data/token_writer.hpp"
#include "utf8.hpp"

namespace mylos {
namespace {

constexpr std::int64_t text_piece_bytes = std::int64_t{1} << 20;

[[noreturn]] void fail_character(const InputFile& file, std::int64_t offset, const std::string& what) {
  fail_input("{}: {} at byte offset {} (counted from 0); expected UTF-8 text, --level bytes takes any file",
             file.path(), what, offset);
}

/// Calls function(code points of a piece) for one piece of the file after the other.
template <class Function>
void for_each_piece(const std::string& path, Function&& function) {
  InputFile file(path);
  std::string piece(static_cast<std::size_t>(text_piece_bytes), '\0');
  std::vector<char32_t> codes;
  std::int64_t offset = 0;  // of the piece's first byte
  std::int64_t kept = 0;    // bytes of a character that the piece before has cut
  for (bool at_end = false; !at_end;) {
    const std::int64_t held = kept + file.read(piece.data() + kept, text_piece_bytes - kept);
    at_end = held < text_piece_bytes;
    const std::string_view text(piece.data(), static_cast<std::size_t>(held));
    std::size_t at = 0;
    codes.clear();
    while (at < text.size()) {
      const Utf8Character character = first_character(text.substr(at));
      if (character.bytes < 0 && !at_end) break;
      if (character.bytes <= 0) {
        const auto byte = static_cast<unsigned char>(text[at]);
        fail_character(file, offset + static_cast<std::int64_t>(at),
                       fmt::format("byte 0x{:02x} begins no character", byte));
      }
      if (character.code == 0) {
        fail_character(file, offset + static_cast<std::int64_t>(at), "there is a NUL (as in UTF-16)");
      }
      codes.push_back(character.code);
      at += static_cast<std::size_t>(character.bytes);
    }
    kept = held - static_cast<std::int64_t>(at);
    std::copy_n(piece.begin() + static_cast<std::ptrdiff_t>(at), kept, piece.begin());
    offset += static_cast<std::int64_t>(at);
    function(codes);
  }
}

void prepare_characters(const PrepareText& job) {
  std::vector<std::uint32_t> token_of(static_cast<std::size_t>(code_points), 0);
  std::int64_t characters = 0;
  for_each_piece(job.file, [&](const std::vector<char32_t>& codes) {
    for (const char32_t code : codes) token_of[code] = 1;
    characters += static_cast<std::int64_t>(codes.size());
  });
  std::string text;
  std::uint32_t distinct = 0;
  for (std::size_t code = 0; code < token_of.size(); ++code) {
    if (token_of[code] == 0) continue;
    token_of[code] = distinct++;
    append_character(text, static_cast<char32_t>(code));
  }
  TokenWriter writer(job.out, token_type_for(distinct), characters, Vocabulary::characters(text),
                     InputFile(job.file).name());
  std::vector<std::uint32_t> tokens;
  for_each_piece(job.file, [&](const std::vector<char32_t>& codes) {
    tokens.clear();
    for (const char32_t code : codes) tokens.push_back(token_of[code]);
    writer.add({tokens.data(), tokens.size()});
  });
  writer.finish();
}

void prepare_bytes(const PrepareText& job) {
  InputFile file(job.file);
  TokenWriter writer(job.out, TokenType::uint8, file.bytes(), Vocabulary::bytes(), file.name());
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
    fail_run("{}: text has no tokens but bytes and characters", job.file);
  }
  job.level == TokenKind::bytes ? prepare_bytes(job) : prepare_characters(job);
}

}  // namespace mylos
