#include "mylos/data/prepare/csv_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/regular_file.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/errors/utf8.hpp"
#include "mylos/base/numbers/number_text.hpp"
#include "mylos/data/prepare/csv_number.hpp"

namespace mylos {
namespace {

/// Five million numbers. Without a limit, a file without line breaks would exhaust the memory.
constexpr std::size_t max_line_bytes = std::size_t{64} << 20;
constexpr std::size_t csv_piece_bytes = std::size_t{1} << 16;

struct Separator {
  char character;
  const char* name;    // in the plural
  const char* option;  // as --separator takes it
};
constexpr Separator separators[] = {
    {',', "commas", "comma"}, {';', "semicolons", "semicolon"}, {'\t', "tabs", "tab"}};

const Separator& separator_of(char character) {
  return *std::find_if(std::begin(separators), std::end(separators),
                       [&](const Separator& each) { return each.character == character; });
}

/// Returns whether the tab at `position` separates cells, rather than being next to another separator or at
/// the end of the line.
bool separates_cells(std::string_view line, std::size_t position) {
  constexpr std::string_view blanks = " \t";
  const auto before = position == 0 ? std::string_view::npos : line.find_last_not_of(blanks, position - 1);
  const auto after = line.find_first_not_of(blanks, position);
  const auto is_cell = [&](std::size_t at) {
    return at != std::string_view::npos && line[at] != ',' && line[at] != ';';
  };
  return is_cell(before) && is_cell(after);
}

bool is_number(std::string_view cell) {
  return csv_number(cell).kind != CsvNumber::Kind::none;
}

std::string cell_text(std::string_view cell) {
  return cell.empty() ? "empty" : fmt::format("'{}'", printable(cell));
}

/// The words with commas between them; a word that has a comma itself is in quotes, as --targets takes it.
std::string joined(const std::vector<std::string_view>& words) {
  constexpr std::size_t max_bytes = 200;
  std::string text;
  const char* comma = "";
  for (const std::string_view word : words) {
    const char* quote = word.find(',') == std::string_view::npos ? "" : "\"";
    text += fmt::format("{}{}{}{}", comma, quote, word, quote);
    comma = ", ";
  }
  return printable(text, max_bytes);
}

}  // namespace

CsvLines::CsvLines(const std::string& path) : path_(path) {
  require_regular_file(path);
  file_.open(path, std::ios::binary);
  if (!file_) fail_input(errors::cannot_read, "{}: cannot be opened: {}", path, std::strerror(errno));
}

bool CsvLines::read_piece() {
  piece_.resize(csv_piece_bytes);
  file_.read(piece_.data(), static_cast<std::streamsize>(piece_.size()));
  if (file_.bad()) fail_input(errors::cannot_read, "{}: cannot be read after line {}", path_, number_ - 1);
  rest_ = std::string_view(piece_).substr(0, static_cast<std::size_t>(file_.gcount()));
  return !rest_.empty();
}

/// Appends to the current line.
void CsvLines::append(std::string_view part) {
  if (part.find('\0') != std::string_view::npos) {
    fail_input(errors::bad_encoding,
               "{}:{}: has a NUL (as in UTF-16 or in binary data); expected a table in UTF-8", path_,
               number_);
  }
  if (part.size() > max_line_bytes - line_.size()) {
    fail_input(errors::too_large,
               "{}:{}: has more than {}; expected one sample per line (this may be binary data)", path_,
               number_, format_bytes(static_cast<std::int64_t>(max_line_bytes)));
  }
  line_ += part;
}

/// Reads a line like std::getline, but with a limit.
bool CsvLines::read_line() {
  line_.clear();
  ++number_;
  while (!rest_.empty() || read_piece()) {
    const auto end = rest_.find('\n');
    append(rest_.substr(0, end));
    if (end != std::string_view::npos) {
      rest_.remove_prefix(end + 1);
      return true;
    }
    rest_ = {};
  }
  return !line_.empty();
}

bool CsvLines::next() {
  while (read_line()) {
    if (line_.ends_with('\r')) line_.pop_back();
    if (number_ == 1 && line_.starts_with(byte_order_mark)) line_.erase(0, byte_order_mark.size());
    if (!trimmed(line_).empty()) return true;
  }
  return false;
}

std::optional<std::string_view> CsvLines::quoted_cell(std::size_t begin, char separator, std::size_t& at) {
  std::size_t end = begin + 1;  // of the content, after doubled quotes are reduced to one
  std::size_t read = begin + 1;
  for (; read < line_.size(); ++read, ++end) {
    if (line_[read] == '"' && (read + 1 == line_.size() || line_[read + 1] != '"')) break;
    if (line_[read] == '"') ++read;
  }
  if (read == line_.size()) {
    fail_input(errors::bad_row,
               "{}:{}: the quote before '{}' is not closed; expected a cell that ends on its line", path_,
               number_, printable(std::string_view(line_).substr(begin + 1)));
  }
  const std::string_view rest = std::string_view(line_).substr(read + 1);
  const auto next = std::min(rest.find(separator), rest.size());
  if (!trimmed(rest.substr(0, next)).empty()) return std::nullopt;
  at = read + 1 + next;
  for (std::size_t from = begin + 1, to = begin + 1; to < end; ++from, ++to) {
    if (line_[from] == '"') ++from;
    line_[to] = line_[from];
  }
  return std::string_view(line_).substr(begin + 1, end - begin - 1);
}

void CsvLines::split(char separator, std::vector<std::string_view>& cells) {
  cells.clear();
  const std::string_view blanks = separator == '\t' ? " " : " \t";
  for (std::size_t at = 0;; ++at) {
    const std::string_view line = line_;
    const std::size_t begin = line.find_first_not_of(blanks, at);
    std::optional<std::string_view> cell;
    if (begin != std::string_view::npos && line[begin] == '"') cell = quoted_cell(begin, separator, at);
    if (!cell) {
      const std::size_t end = std::min(line.find(separator, at), line.size());
      cell = trimmed(line.substr(at, end - at));
      at = end;
    }
    cells.push_back(*cell);
    if (at == line.size()) return;
  }
}

CsvTable::CsvTable(const PrepareCsv& job) : job_(job) {
  CsvLines lines(job.file);
  if (!lines.next()) fail_input(errors::too_little_data, "{}: is empty", job.file);
  std::vector<std::string_view> cells;
  separator_ = job.separator ? *job.separator : recognised_separator(lines);
  lines.split(separator_, cells);
  first_number_ = lines.number();
  first_line_ = joined(cells);
  columns_ = static_cast<std::int64_t>(cells.size());
  if (!job.has_header) require_names_or_sample(cells);
  if (job.has_header.value_or(!is_number(cells.front()))) {
    require_utf8(cells);
    header_.assign(cells.begin(), cells.end());
  } else {
    rows_ = 1;
  }
  while (lines.next()) ++rows_;
  if (rows_ == 0) fail_input(errors::too_little_data, "{}: has a header but no samples", job.file);
}

/// Accepts names (no numbers, not all empty) or a sample (numbers alone). The user must decide the other
/// cases: a name may be a number, a cell of a sample may be missing.
void CsvTable::require_names_or_sample(const std::vector<std::string_view>& cells) const {
  const auto number = std::find_if(cells.begin(), cells.end(), is_number);
  const auto other = std::find_if_not(cells.begin(), cells.end(), is_number);
  const bool names = number == cells.end() &&
                     std::any_of(cells.begin(), cells.end(), [](auto cell) { return !cell.empty(); });
  if (names || other == cells.end()) return;
  constexpr auto say_which = "--header reads it as the columns' names, --no-header as the first sample";
  const auto column_number = [&](auto cell) { return cell - cells.begin() + 1; };
  if (number == cells.end())
    fail_input(errors::bad_row, "{}:{}: has no name and no number; {}", job_.file, first_number_, say_which);
  fail_input(errors::bad_row, "{}:{}: mixes names and numbers: column {} is {}, column {} is {}; {}",
             job_.file, first_number_, column_number(number), cell_text(*number), column_number(other),
             cell_text(*other), say_which);
}

/// Data files store names in UTF-8 and compare them.
void CsvTable::require_utf8(const std::vector<std::string_view>& names) const {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_utf8(names[i])) continue;
    fail_input(
        errors::bad_encoding,
        "{}:{}: the name of column {} is not UTF-8: '{}'; `iconv -f LATIN1 -t UTF-8 {}` converts a table "
        "that "
        "is in Latin-1",
        job_.file, first_number_, i + 1, printable(names[i]), job_.file);
  }
}

/// Returns the separator that the line has outside quotes.
char CsvTable::recognised_separator(const CsvLines& lines) const {
  const std::string& line = lines.line();
  std::vector<const Separator*> found;
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') is_quoted = !is_quoted;
    if (is_quoted || (line[i] == '\t' && !separates_cells(line, i))) continue;
    for (const Separator& each : separators) {
      if (line[i] == each.character && std::find(found.begin(), found.end(), &each) == found.end())
        found.push_back(&each);
    }
  }
  if (found.empty()) return ',';
  if (found.size() == 1) return found.front()->character;
  fail_input(errors::missing_argument, "{}:{}: has {} and {}; choose --separator {} or --separator {}",
             job_.file, lines.number(), found[0]->name, found[1]->name, found[0]->option, found[1]->option);
}

std::vector<std::string> CsvTable::first_line_notes() const {
  std::vector<std::string> notes;
  if (has_header()) {
    notes.push_back(fmt::format("{}: line {} names the columns: {}", job_.file, first_number_, first_line_));
  } else {
    notes.push_back(fmt::format("{}: line {} is the first sample: {}{}", job_.file, first_number_,
                                first_line_,
                                job_.has_header ? "" : "; --header reads it as the columns' names"));
  }
  if (separator_ != ',')
    notes.push_back(fmt::format("{}: {} separate the columns", job_.file, separator_of(separator_).name));
  return notes;
}

std::string CsvTable::name(std::size_t column) const {
  return header_[column].empty() ? fmt::format("column {}", column + 1) : header_[column];
}

std::string CsvTable::column_text(std::size_t column) const {
  const bool has_name = has_header() && !header_[column].empty();
  return has_name ? fmt::format("column {} ({})", column + 1, printable(header_[column]))
                  : fmt::format("column {}", column + 1);
}

CsvTable::Column CsvTable::find(const std::string& word) const {
  const std::string name = printable(word);
  const auto number = to_number<std::int64_t>(word);  // counted from 1
  const auto found = std::find(header_.begin(), header_.end(), word);
  if (found != header_.end()) {
    if (std::find(found + 1, header_.end(), word) != header_.end()) {
      fail_input(errors::bad_names, "{}: two columns are called '{}'; {}", job_.file, name,
                 number ? "rename one" : "name it by its number");
    }
    const auto index = static_cast<std::size_t>(found - header_.begin());
    const bool by_number_another =
        number && *number >= 1 && *number <= columns_ && *number != static_cast<std::int64_t>(index) + 1;
    if (!by_number_another) return {index, {}};
    return {index, fmt::format("{}: '{}' is the name of column {}, so it does not mean column {}", job_.file,
                               name, index + 1, *number)};
  }
  if (number) {
    if (*number >= 1 && *number <= columns_) return {static_cast<std::size_t>(*number - 1), {}};
    fail_input(errors::unknown_column, "{}: has no column {}, expected 1 to {}", job_.file, *number,
               columns_);
  }
  if (!has_header()) {
    fail_input(errors::unknown_column,
               "{}: has no header to find column '{}' in; name it by its number, 1 to {}", job_.file, name,
               columns_);
  }
  fail_input(errors::unknown_column, "{}: has no column '{}'; its columns are {}", job_.file, name,
             first_line_);
}

}  // namespace mylos
