#include "mylos/interchange/weight_map.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/utf8.hpp"

namespace mylos {
namespace {

constexpr std::uintmax_t max_map_bytes = std::uintmax_t{16} << 20;
constexpr std::string_view blanks = " \t\r";

/// The words of a line, up to a comment. A word in quotes may contain blanks and '#'.
class LineWords {
 public:
  LineWords(std::string_view line, const std::string& where) : rest_(line), where_(where) {}

  [[nodiscard]] std::vector<std::string> words() {
    std::vector<std::string> words;
    bool had_equals = false;
    while (skip_blanks()) {
      if (rest_.front() == '=' && words.size() == 1 && !had_equals) {
        had_equals = true;
        rest_.remove_prefix(1);
        continue;
      }
      const bool is_quoted = rest_.front() == '"' || rest_.front() == '\'';
      std::string word = is_quoted ? quoted() : plain(words.empty());
      if (is_quoted && !words.empty()) {  // "head/weight transposed"
        LineWords inner(word, where_);
        for (std::string& part : inner.parts()) words.push_back(std::move(part));
      } else {
        words.push_back(std::move(word));
      }
    }
    return words;
  }

 private:
  [[nodiscard]] std::vector<std::string> parts() {
    std::vector<std::string> found;
    while (skip_blanks()) found.push_back(plain(false));
    return found;
  }

  /// Returns whether there is more than blanks and a comment.
  bool skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    return !rest_.empty() && rest_.front() != '#';
  }

  std::string plain(bool ends_at_equals) {
    const std::string_view ends = ends_at_equals ? " \t\r=" : " \t\r";
    std::string word(rest_.substr(0, rest_.find_first_of(ends)));
    rest_.remove_prefix(word.size());
    return word;
  }

  std::string quoted() {
    const char quote = rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos)
      fail_input(errors::bad_row, "{}: has a quote that does not end in the line", where_);
    std::string word(rest_.substr(1, end - 1));
    if (word.find('\\') != std::string::npos)
      fail_input(errors::bad_row, "{}: has a backslash in a name; names have no escapes here", where_);
    rest_.remove_prefix(end + 1);
    return word;
  }

  std::string_view rest_;
  const std::string& where_;
};

MapLine line_of(const std::vector<std::string>& words, const std::string& where) {
  if (words.size() < 2 || words.size() > 3 || words[0].empty()) {
    fail_input(errors::bad_row,
               "{}: expected a tensor of the file, the parameter that it is (or - if it is not used), and "
               "perhaps 'transposed' or 'channels_last': encoder.0.weight hidden1/weight",
               where);
  }
  MapLine line{words[0], words[1] == "-" ? "" : words[1], FormKind::usual, where};
  if (words.size() == 2) return line;
  if (words[2] == "transposed" && !line.ours.empty()) {
    line.kind = FormKind::transposed;
  } else if (words[2] == "channels_last" && !line.ours.empty()) {
    line.kind = FormKind::channels_last;
  } else {
    fail_input(errors::bad_row, "{}: has '{}' where 'transposed' or 'channels_last' may follow a parameter",
               where, printable(words[2]));
  }
  return line;
}

}  // namespace

std::vector<MapLine> parse_weight_map(std::string_view text, const std::string& file) {
  std::vector<MapLine> lines;
  std::map<std::string, std::string> theirs, ours;  // and where they are
  std::size_t number = 0;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = fmt::format("{}:{}", file, ++number);
    const std::vector<std::string> words = LineWords(line, where).words();
    if (words.empty()) continue;
    lines.push_back(line_of(words, where));
    const MapLine& last = lines.back();
    if (const auto [known, is_new] = theirs.emplace(last.theirs, where); !is_new) {
      fail_input(errors::duplicate_key, "{}: gives the tensor '{}' again, after {}", where,
                 printable(last.theirs), known->second);
    }
    if (last.ours.empty()) continue;
    if (const auto [known, is_new] = ours.emplace(last.ours, where); !is_new) {
      fail_input(errors::duplicate_key, "{}: gives the parameter '{}' again, after {}", where,
                 printable(last.ours), known->second);
    }
  }
  return lines;
}

std::vector<MapLine> read_weight_map(const std::string& path) {
  require_regular_file(path);
  std::error_code failure;
  const auto bytes = std::filesystem::file_size(path, failure);
  if (failure) fail_input(errors::cannot_read, "{}: cannot be read: {}", printable(path), failure.message());
  if (bytes > max_map_bytes) {
    fail_input(errors::too_large, "{}: has {} bytes; a map has a line for each tensor, at most {} bytes",
               printable(path), bytes, max_map_bytes);
  }
  const std::string text = file_text(path);
  if (text.find('\0') != std::string::npos || !is_utf8(text))
    fail_input(errors::wrong_format, "{}: is no text of tensors and parameters", printable(path));
  return parse_weight_map(text, printable(path));
}

}  // namespace mylos
