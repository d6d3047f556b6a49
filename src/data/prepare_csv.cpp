#include "mylos/data/prepare_csv.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/text.hpp"
#include "mylos/data/dataset_writer.hpp"

namespace mylos {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  text = text.substr(first, text.find_last_not_of(" \t") - first + 1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

void split(std::string_view line, char delimiter, std::vector<std::string_view>& fields) {
  fields.clear();
  for (;;) {
    const auto end = line.find(delimiter);
    fields.push_back(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

std::optional<float> number_from(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<float>(value);
}

/// Lines of a file that are not empty, with their numbers, counted from 1.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_)
      fail_input("{}: cannot be opened: {}{}", path, std::strerror(errno), current_folder_note(path));
    if (std::filesystem::is_directory(path)) fail_input("{}: is not a file", path);
  }
  bool next() {
    while (std::getline(file_, line_)) {
      ++number_;
      if (line_.ends_with('\r')) line_.pop_back();
      if (number_ == 1 && line_.starts_with("\xef\xbb\xbf")) line_.erase(0, 3);  // a byte order mark
      if (!trimmed(line_).empty()) return true;
    }
    if (file_.bad()) fail_input("{}: cannot be read after line {}", path_, number_);
    return false;
  }
  [[nodiscard]] const std::string& line() const { return line_; }
  [[nodiscard]] std::int64_t number() const { return number_; }

 private:
  std::string path_;
  std::ifstream file_;
  std::string line_;
  std::int64_t number_ = 0;
};

/// What the first line and a count tell of the file.
struct Table {
  std::vector<std::string> header;  // empty: none
  std::int64_t columns = 0;
  std::int64_t rows = 0;
};

Table survey(const PrepareCsv& job) {
  Table table;
  Lines lines(job.file);
  if (!lines.next()) fail_input("{}: is empty", job.file);
  std::vector<std::string_view> fields;
  split(lines.line(), job.delimiter, fields);
  table.columns = static_cast<std::int64_t>(fields.size());
  if (!std::all_of(fields.begin(), fields.end(), [](auto field) { return number_from(field).has_value(); })) {
    table.header.assign(fields.begin(), fields.end());
  } else {
    table.rows = 1;
  }
  while (lines.next()) ++table.rows;
  if (table.rows == 0) fail_input("{}: has a header but no samples", job.file);
  return table;
}

/// The column (from 0) that the user calls `name`.
std::int64_t find_column(const PrepareCsv& job, const Table& table, const std::string& name) {
  const auto found = std::find(table.header.begin(), table.header.end(), name);
  if (found != table.header.end()) {
    if (std::find(found + 1, table.header.end(), name) != table.header.end()) {
      fail_input("{}: two columns are called '{}'; name it by its number", job.file, name);
    }
    return found - table.header.begin();
  }
  std::int64_t number = 0;
  const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (status == std::errc{} && end == name.data() + name.size()) {
    if (number >= 1 && number <= table.columns) return number - 1;
    fail_input("{}: has no column {}, expected 1 to {}", job.file, number, table.columns);
  }
  if (table.header.empty()) {
    fail_input("{}: has no header to find column '{}' in; name it by its number, 1 to {}", job.file, name,
               table.columns);
  }
  fail_input("{}: has no column '{}'; its columns are {}", job.file, name, fmt::join(table.header, ", "));
}

/// Reads one line's numbers, complaining by line and column.
class RowParser {
 public:
  RowParser(const PrepareCsv& job, const Table& table) : job_(job), table_(table) {}

  void parse(const Lines& lines, std::vector<float>& row) {
    split(lines.line(), job_.delimiter, fields_);
    if (static_cast<std::int64_t>(fields_.size()) != table_.columns) {
      fail_input("{}:{}: has {} columns, the first line has {}", job_.file, lines.number(), fields_.size(),
                 table_.columns);
    }
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      const auto value = number_from(fields_[i]);
      if (!value || !std::isfinite(*value)) {
        fail_input("{}:{}: {} is '{}', expected a finite number", job_.file, lines.number(), column_text(i),
                   fields_[i]);
      }
      row[i] = *value;
    }
  }

  /// The class in column `column` of the line parsed last.
  [[nodiscard]] std::int32_t label(const Lines& lines, std::size_t column) const {
    std::int64_t value = -1;
    const auto text = fields_[column];
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::int64_t limit = job_.classes > 0 ? job_.classes : 2'000'000'000;
    if (status == std::errc{} && end == text.data() + text.size() && value >= 0 && value < limit) {
      return static_cast<std::int32_t>(value);
    }
    const auto expected = job_.classes > 0 ? fmt::format("0 to {}", job_.classes - 1) : "0, 1, 2 ...";
    fail_input("{}:{}: {} is '{}', expected a class: {}", job_.file, lines.number(), column_text(column),
               text, expected);
  }

 private:
  [[nodiscard]] std::string column_text(std::size_t column) const {
    return table_.header.empty() ? fmt::format("column {}", column + 1)
                                 : fmt::format("column {} ({})", column + 1, table_.header[column]);
  }

  const PrepareCsv& job_;
  const Table& table_;
  std::vector<std::string_view> fields_;
};

Task task_of(const PrepareCsv& job) {
  if (!job.label.empty()) return Task::classification;
  return job.targets.empty() ? Task::none : Task::regression;
}

}  // namespace

void prepare(const PrepareCsv& job) {
  if (!job.label.empty() && !job.targets.empty()) {
    fail_input("{}: --label (classification) and --targets (regression) are both given, expected one of them",
               job.file);
  }
  const Table table = survey(job);
  const Task task = task_of(job);
  std::vector<std::size_t> answers;
  for (const auto& name : task == Task::classification ? std::vector<std::string>{job.label} : job.targets) {
    const auto column = static_cast<std::size_t>(find_column(job, table, name));
    if (std::find(answers.begin(), answers.end(), column) != answers.end()) {
      fail_input("{}: column '{}' is given twice", job.file, name);
    }
    answers.push_back(column);
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(table.columns); ++i) {
    if (std::find(answers.begin(), answers.end(), i) == answers.end()) inputs.push_back(i);
  }
  if (inputs.empty())
    fail_input("{}: all {} columns are to be predicted, none is left as input", job.file, table.columns);

  DatasetWriter writer(
      job.out,
      {.task = task,
       .input_type = InputType::float32,
       .samples = table.rows,
       .features = static_cast<std::int64_t>(inputs.size()),
       .outputs = task == Task::classification ? job.classes : static_cast<std::int64_t>(answers.size())},
      std::filesystem::path(job.file).filename().string());
  const std::int64_t rows_per_piece = std::max<std::int64_t>(1, (std::int64_t{1} << 18) / table.columns);
  std::vector<float> row(static_cast<std::size_t>(table.columns));
  std::vector<float> input_rows;
  std::vector<float> target_rows;
  std::vector<std::int32_t> labels;
  std::int64_t rows = 0;
  const auto write_piece = [&] {
    writer.add_inputs(input_rows.data(), rows);
    if (task == Task::classification) writer.add_labels(labels.data(), rows);
    if (task == Task::regression) writer.add_targets(target_rows.data(), rows);
    input_rows.clear();
    target_rows.clear();
    labels.clear();
    rows = 0;
  };

  Lines lines(job.file);
  RowParser parser(job, table);
  if (!table.header.empty()) lines.next();
  while (lines.next()) {
    parser.parse(lines, row);
    for (const auto column : inputs) input_rows.push_back(row[column]);
    if (task == Task::classification) {
      labels.push_back(parser.label(lines, answers.front()));
    } else {
      for (const auto column : answers) target_rows.push_back(row[column]);
    }
    if (++rows == rows_per_piece) write_piece();
  }
  write_piece();
  writer.finish();
}

}  // namespace mylos
