#include "mylos/data/prepare/prepare_csv.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/numbers/number_text.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/files/dataset_writer.hpp"
#include "mylos/data/prepare/csv_number.hpp"
#include "mylos/data/prepare/csv_table.hpp"

namespace mylos {
namespace {

/// The roles of the columns.
struct Roles {
  std::vector<std::size_t> inputs;
  std::vector<std::size_t> targets;
  std::optional<std::size_t> label;
  std::vector<bool> is_used;  // of each column: it is one of these
};

/// Returns whether a cell says that it has no number, as tables of other programs write it.
bool is_missing(std::string_view cell) {
  std::string word(cell);
  for (char& c : word) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  constexpr std::string_view words[] = {"", "nan", "-nan", "+nan", "na", "n/a", "#n/a", "null", "none"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

/// Parses the numbers of a line; messages name line and column.
class RowParser {
 public:
  RowParser(const PrepareCsv& job, const CsvTable& table, const Roles& roles)
      : job_(job), table_(table), roles_(roles) {}

  /// Splits the line into its cells. Returns whether it is a row to leave out.
  [[nodiscard]] bool split(CsvLines& lines) {
    lines.split(table_.separator(), cells_);
    if (static_cast<std::int64_t>(cells_.size()) != table_.columns()) {
      fail_input(errors::bad_row, "{}:{}: has {} columns, the first line has {}", job_.file, lines.number(),
                 cells_.size(), table_.columns());
    }
    if (job_.on_missing == OnMissing::fail) return false;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (roles_.is_used[i] && is_missing(cells_[i])) return true;
    }
    return false;
  }

  /// Writes the numbers of the row that is split to `row`, a class to label().
  void parse(const CsvLines& lines, std::vector<float>& row) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (!roles_.is_used[i]) continue;
      if (roles_.label == i) {
        parse_label(lines, i);
      } else {
        row[i] = parse_number(lines, i);
      }
    }
  }
  [[nodiscard]] std::int32_t label() const { return label_; }

  /// Returns a note for the user on rounded numbers; empty if there are none.
  [[nodiscard]] std::string rounding_note() const {
    if (rounded_integers_ == 0) return {};
    return fmt::format("{}: {} whole number{} above 2^24 = {} {} rounded to the nearest float32: {}",
                       job_.file, rounded_integers_, rounded_integers_ == 1 ? "" : "s", max_exact_integer,
                       rounded_integers_ == 1 ? "is" : "are", first_rounded_);
  }

 private:
  float parse_number(const CsvLines& lines, std::size_t column) {
    const CsvNumber number = csv_number(cells_[column]);
    if (number.kind == CsvNumber::Kind::too_large) {
      refuse(errors::not_finite, lines, column,
             fmt::format("beyond float32's largest number, {}", std::numeric_limits<float>::max()));
    }
    if (number.kind != CsvNumber::Kind::finite) {
      const bool is_number = number.kind == CsvNumber::Kind::not_finite;
      refuse(is_number ? errors::not_finite : errors::bad_row, lines, column,
             "expected a finite number" + advice_on(column, is_number));
    }
    if (number.rounded_integer && rounded_integers_++ == 0) {
      first_rounded_ = fmt::format("line {}, {} is {:.0f} for {}", lines.number(), table_.column_text(column),
                                   number.value, printable(cells_[column]));
    }
    return number.value;
  }

  /// What helps when a cell has no number.
  [[nodiscard]] std::string advice_on(std::size_t column, bool is_number) const {
    const std::string_view cell = cells_[column];
    if (is_missing(cell)) return "; --on-missing skip leaves out the rows with a missing one";
    if (cell.find(',') != std::string_view::npos) return " with a decimal point";
    const auto& inputs = roles_.inputs;
    const bool is_input = std::find(inputs.begin(), inputs.end(), column) != inputs.end();
    if (is_number || !is_input || !job_.inputs.empty()) return {};
    return "; --inputs uses only the columns that it names";
  }

  void parse_label(const CsvLines& lines, std::size_t column) {
    const auto text = cells_[column];
    const auto value = to_number<std::int64_t>(text);
    const std::int64_t limit = job_.classes > 0 ? job_.classes : max_classes;
    if (!value || *value < 0 || *value >= limit) {
      const auto expected = job_.classes > 0 ? fmt::format("0 to {}", job_.classes - 1) : "0, 1, 2 ...";
      const char* advice =
          is_missing(text) ? "; --on-missing skip leaves out the rows with a missing one" : "";
      refuse(errors::bad_label, lines, column, fmt::format("expected a class: {}{}", expected, advice));
    }
    label_ = static_cast<std::int32_t>(*value);
  }

  [[noreturn]] void refuse(ErrorId id, const CsvLines& lines, std::size_t column,
                           const std::string& problem) const {
    fail_input(id, "{}:{}: {} is '{}', {}", job_.file, lines.number(), table_.column_text(column),
               printable(cells_[column]), problem);
  }

  const PrepareCsv& job_;
  const CsvTable& table_;
  const Roles& roles_;
  std::vector<std::string_view> cells_;
  std::int32_t label_ = 0;
  std::int64_t rounded_integers_ = 0;
  std::string first_rounded_;
};

void check(const PrepareCsv& job) {
  if (!job.label.empty() && !job.targets.empty()) {
    fail_input(errors::arguments_conflict,
               "{}: --label (classification) and --targets (regression) are both given, expected one of them",
               job.file);
  }
  if (job.classes > 0 && job.label.empty()) {
    fail_input(errors::arguments_conflict, "{}: --classes {} needs --label", job.file, job.classes);
  }
}

Roles roles_of(const PrepareCsv& job, const CsvTable& table, std::vector<std::string>& notes) {
  Roles roles;
  std::vector<bool>& is_used = roles.is_used;
  is_used.resize(static_cast<std::size_t>(table.columns()));
  const auto take = [&](const std::string& word) {
    const CsvTable::Column column = table.find(word);
    if (is_used[column.index])
      fail_input(errors::bad_argument, "{}: column '{}' is given twice", job.file, printable(word));
    is_used[column.index] = true;
    if (!column.note.empty()) notes.push_back(column.note);
    return column.index;
  };
  if (!job.label.empty()) roles.label = take(job.label);
  for (const std::string& word : job.targets) roles.targets.push_back(take(word));
  for (const std::string& word : job.inputs) roles.inputs.push_back(take(word));
  if (!job.inputs.empty()) return roles;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (!is_used[i]) roles.inputs.push_back(i);
  }
  is_used.assign(is_used.size(), true);
  if (roles.inputs.empty())
    fail_input(errors::bad_argument, "{}: all {} columns are targets, and no column is left as input",
               job.file, table.columns());
  return roles;
}

/// Returns a note on the columns that --inputs leaves out; empty if there are none.
std::string unused_note(const PrepareCsv& job, const CsvTable& table, const Roles& roles) {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < roles.is_used.size(); ++i) {
    if (!roles.is_used[i]) unused.push_back(table.column_text(i));
  }
  if (unused.empty()) return {};
  return fmt::format("{}: not used: {}", job.file,
                     printable(fmt::format("{}", fmt::join(unused, ", ")), 200));
}

/// Returns the number of rows that are not left out.
std::int64_t rows_to_keep(const PrepareCsv& job, const CsvTable& table, const Roles& roles) {
  if (job.on_missing == OnMissing::fail) return table.rows();
  CsvLines lines(job.file);
  RowParser parser(job, table, roles);
  if (table.has_header()) (void)lines.next();
  std::int64_t kept = 0;
  while (lines.next()) kept += parser.split(lines) ? 0 : 1;
  if (kept == 0)
    fail_input(errors::too_little_data, "{}: each of its {} rows has a missing number", job.file,
               table.rows());
  return kept;
}

DatasetShape shape_of(const PrepareCsv& job, const Roles& roles, std::int64_t samples) {
  const Task task = roles.label             ? Task::classification
                    : roles.targets.empty() ? Task::none
                                            : Task::regression;
  return {.task = task,
          .input_type = DType::fp32,
          .samples = samples,
          .features = static_cast<std::int64_t>(roles.inputs.size()),
          .outputs = roles.label ? job.classes : static_cast<std::int64_t>(roles.targets.size())};
}

/// Of the columns that are read: data are matched with a network by their columns' names.
void require_different_names(const PrepareCsv& job, const CsvTable& table, const Roles& roles) {
  std::map<std::string, std::size_t> columns;
  for (std::size_t column = 0; column < roles.is_used.size(); ++column) {
    if (!roles.is_used[column]) continue;
    const auto [before, is_new] = columns.emplace(table.name(column), column);
    if (is_new) continue;
    fail_input(errors::bad_names,
               "{}: columns {} and {} are both called '{}'; rename one, or leave one out (--inputs)",
               job.file, before->second + 1, column + 1, printable(before->first));
  }
}

void name_columns(const CsvTable& table, const Roles& roles, DatasetWriter& writer) {
  const auto names = [&](const std::vector<std::size_t>& columns) {
    std::vector<std::string> of;
    for (const std::size_t column : columns) of.push_back(table.name(column));
    return of;
  };
  writer.name_inputs(names(roles.inputs));
  if (!roles.targets.empty()) writer.name_targets(names(roles.targets));
}

/// Collects rows and writes them to the file in pieces.
class RowPiece {
 public:
  RowPiece(const Roles& roles, DatasetWriter& writer) : roles_(roles), writer_(writer) {}

  void add(const std::vector<float>& row, std::int32_t label) {
    for (const auto column : roles_.inputs) inputs_.push_back(row[column]);
    for (const auto column : roles_.targets) targets_.push_back(row[column]);
    if (roles_.label) labels_.push_back(label);
    if (++rows_ * static_cast<std::int64_t>(row.size()) >= max_values) write();
  }
  void write() {
    writer_.add_inputs(inputs_.data(), rows_);
    if (roles_.label) writer_.add_labels(labels_.data(), rows_);
    if (!roles_.targets.empty()) writer_.add_targets(targets_.data(), rows_);
    inputs_.clear();
    targets_.clear();
    labels_.clear();
    rows_ = 0;
  }

 private:
  static constexpr std::int64_t max_values = std::int64_t{1} << 18;

  const Roles& roles_;
  DatasetWriter& writer_;
  std::vector<float> inputs_;
  std::vector<float> targets_;
  std::vector<std::int32_t> labels_;
  std::int64_t rows_ = 0;
};

}  // namespace

std::vector<std::string> prepare(const PrepareCsv& job) {
  check(job);
  const CsvTable table(job);
  std::vector<std::string> notes = table.first_line_notes();
  const Roles roles = roles_of(job, table, notes);
  if (table.has_header()) require_different_names(job, table, roles);
  if (const std::string note = unused_note(job, table, roles); !note.empty()) notes.push_back(note);
  const std::int64_t samples = rows_to_keep(job, table, roles);
  DatasetWriter writer(job.out, shape_of(job, roles, samples),
                       std::filesystem::path(job.file).filename().string());
  if (table.has_header()) name_columns(table, roles, writer);
  CsvLines lines(job.file);
  RowParser parser(job, table, roles);
  RowPiece piece(roles, writer);
  std::vector<float> row(static_cast<std::size_t>(table.columns()));
  if (table.has_header()) (void)lines.next();
  std::int64_t kept = 0;
  for (std::int64_t rows = 0; rows < table.rows(); ++rows) {
    if (!lines.next()) fail_input(errors::file_changed, "{}: became shorter while it was read", job.file);
    if (parser.split(lines)) continue;
    parser.parse(lines, row);
    if (++kept > samples) break;
    piece.add(row, parser.label());
  }
  if (kept != samples) fail_input(errors::file_changed, "{}: changed while it was read", job.file);
  if (lines.next()) fail_input(errors::file_changed, "{}: became longer while it was read", job.file);
  piece.write();
  writer.finish();
  if (const std::int64_t left_out = table.rows() - kept; left_out > 0)
    notes.push_back(
        fmt::format("{}: {} of {} rows left out: a number is missing", job.file, left_out, table.rows()));
  if (const std::string note = parser.rounding_note(); !note.empty()) notes.push_back(note);
  return notes;
}

}  // namespace mylos
