#include "mylos/data/prepare/prepare_tokens.hpp"

#include <algorithm>
#include <array>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/prepare/input_file.hpp"
#include "mylos/data/tokens/token_writer.hpp"

namespace mylos {
namespace {

constexpr std::int64_t piece_tokens = std::int64_t{1} << 18;
constexpr std::int64_t header_bytes = 1024;

struct Header {
  std::int32_t magic;
  std::int32_t version;
  DType type;
};
constexpr std::array<Header, 2> headers{{{20240520, 1, DType::uint16}, {20240801, 7, DType::uint32}}};
constexpr std::int32_t evaluation_magic = 20240522;

/// Returns the little-endian unsigned integer at `bytes`.
std::uint32_t integer_at(const std::uint8_t* bytes, std::int64_t size) {
  std::uint32_t value = 0;
  for (std::int64_t i = size; i-- > 0;) value = value << 8 | bytes[i];
  return value;
}

/// A file of tokens with its header read and checked.
class TokenStream {
 public:
  TokenStream(const std::string& path, std::optional<DType> wanted) : file_(path) {
    std::array<std::uint8_t, header_bytes> start{};
    const std::int64_t held = file_.read(start.data(), header_bytes);  // the rest stays 0: no magic number
    const auto field = [&](std::size_t i) {
      return static_cast<std::int32_t>(integer_at(start.data() + 4 * i, 4));
    };
    if (field(0) == evaluation_magic) {
      fail_input(errors::wrong_format,
                 "{}: is an llm.c evaluation file (magic {}), expected tokens (magic {})", path,
                 evaluation_magic, headers[0].magic);
    }
    for (const Header& header : headers) {
      if (field(0) != header.magic) continue;
      if (held < header_bytes) {
        fail_input(
            errors::truncated,
            "{}: begins as an llm.c file (magic {}), but ends within its header of {} bytes: it has {}", path,
            header.magic, header_bytes, held);
      }
      read_header(header, field(1), field(2), wanted);
    }
    if (first_byte_ == 0) {
      type_ = wanted.value_or(DType::uint16);
      tokens_ = file_.bytes() / token_bytes(type_);
      if (file_.bytes() % token_bytes(type_) != 0) {
        fail_input(errors::truncated, "{}: has {} bytes, which is not a whole number of {} tokens", path,
                   file_.bytes(), name_of(type_));
      }
    }
    file_.seek(first_byte_);
  }

  [[nodiscard]] const InputFile& file() const { return file_; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Calls function(tokens) for each piece in order, after checking that its tokens are below `vocabulary`.
  template <class Function>
  void for_each_piece(std::int64_t vocabulary, Function&& function) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(piece_tokens * token_bytes(type_)));
    std::vector<std::uint32_t> tokens;
    for (std::int64_t first = 0; first < tokens_; first += piece_tokens) {
      const std::int64_t count = std::min(piece_tokens, tokens_ - first);
      if (file_.read(bytes.data(), count * token_bytes(type_)) < count * token_bytes(type_)) {
        fail_input(errors::file_changed, "{}: became shorter while it was read", file_.path());
      }
      tokens.resize(static_cast<std::size_t>(count));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t token = integer_at(bytes.data() + i * token_bytes(type_), token_bytes(type_));
        if (token >= vocabulary) fail_token(first + i, token, vocabulary);
        tokens[static_cast<std::size_t>(i)] = token;
      }
      function(tokens);
    }
  }

 private:
  void read_header(const Header& header, std::int32_t version, std::int32_t tokens,
                   std::optional<DType> wanted) {
    const std::string& path = file_.path();
    if (version != header.version) {
      fail_input(errors::unknown_version, "{}: its header (magic {}) has version {}, expected {}", path,
                 header.magic, version, header.version);
    }
    if (wanted && *wanted != header.type) {
      fail_input(errors::wrong_format, "{}: its header (magic {}) says {}, --type says {}", path,
                 header.magic, name_of(header.type), name_of(*wanted));
    }
    const std::int64_t needed = header_bytes + tokens * token_bytes(header.type);
    if (tokens < 1 || file_.bytes() != needed) {
      const bool is_short = tokens >= 1 && file_.bytes() < needed;
      fail_input(is_short ? errors::truncated : errors::damaged,
                 "{}: its header states {} tokens of {}, expected {} bytes with the header, but it has {}",
                 path, tokens, name_of(header.type), std::max(needed, header_bytes), file_.bytes());
    }
    type_ = header.type;
    tokens_ = tokens;
    first_byte_ = header_bytes;
  }

  [[noreturn]] void fail_token(std::int64_t index, std::uint32_t token, std::int64_t vocabulary) const {
    fail_input(errors::unknown_token, "{}: token {} (counted from 0, at byte {}) is {}, expected 0 to {}",
               file_.path(), index, first_byte_ + index * token_bytes(type_), token, vocabulary - 1);
  }

  InputFile file_;
  DType type_ = DType::uint16;
  std::int64_t tokens_ = 0;
  std::int64_t first_byte_ = 0;
};

}  // namespace

void prepare(const PrepareTokens& job) {
  if (job.vocabulary < 0 || job.vocabulary > max_vocabulary) {
    fail_input(errors::bad_argument, "--vocabulary {}: expected 1 to {}", job.vocabulary, max_vocabulary);
  }
  if (job.files.empty()) fail_input(errors::missing_argument, "{}: no files of tokens are given", job.out);
  std::int64_t tokens = 0;
  std::string source;
  std::optional<DType> type;
  for (const std::string& path : job.files) {
    const TokenStream stream(path, job.type);
    if (type && *type != stream.type()) {
      fail_input(errors::data_mismatch, "{}: holds {} tokens, {} {}", path, name_of(stream.type()),
                 job.files.front(), name_of(*type));
    }
    type = stream.type();
    tokens += stream.tokens();
    if (!source.empty()) source += ' ';
    source += stream.file().name();
  }
  TokenWriter writer(job.out, *type, tokens, Vocabulary::tokens(job.vocabulary), source);
  const std::int64_t limit = job.vocabulary > 0 ? job.vocabulary : max_vocabulary;
  for (const std::string& path : job.files) {
    TokenStream(path, job.type).for_each_piece(limit, [&](const std::vector<std::uint32_t>& piece) {
      writer.add({piece.data(), piece.size()});
    });
  }
  writer.finish();
}

}  // namespace mylos
