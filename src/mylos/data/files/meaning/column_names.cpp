#include "mylos/data/files/meaning/column_names.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

/// Returns the entries of `names` that are not in `others`.
std::vector<std::string> missing_from(const std::vector<std::string>& others,
                                      const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  std::copy_if(names.begin(), names.end(), std::back_inserter(missing), [&](const std::string& name) {
    return std::find(others.begin(), others.end(), name) == others.end();
  });
  return missing;
}

/// A name from a file, as it may be printed, written to a table and put in another file: terminals follow
/// control characters, and readers of JSON or ONNX refuse what is not UTF-8.
std::string safe_name(std::string_view name) {
  return printable(name, std::numeric_limits<std::size_t>::max());
}

}  // namespace

std::vector<std::string> read_names(const hdf5::File& file, const std::string& path) {
  if (!file.exists(path)) return {};
  const hdf5::Dataset dataset = file.dataset(path);
  std::vector<std::string> names = dataset.read_texts();
  if (dataset.dims().empty()) return names_of_text(names.front());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && names[i].find('\n') == std::string::npos) {
      names[i] = safe_name(names[i]);
      continue;
    }
    fail_input(errors::bad_names, "{}: {} {} (counted from 0) is '{}', expected a name without line breaks",
               file.path(), path, i, printable(names[i]));
  }
  return names;
}

void write_names(hdf5::File& file, const std::string& path, const std::vector<std::string>& names) {
  const std::string text = text_of_names(names);
  hdf5::Dataset dataset = file.create_text(path, static_cast<std::int64_t>(text.size()));
  file.reserve();
  dataset.write_text(text);
}

std::string text_of_names(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "\n"));
}

std::vector<std::string> names_of_text(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string name; std::getline(lines, name);) names.push_back(safe_name(name));
  return names;
}

std::string list_of_names(const std::vector<std::string>& names) {
  constexpr std::size_t max_bytes = 200;
  return printable(fmt::format("{}", fmt::join(names, ", ")), max_bytes);
}

ColumnOrder order_by_name(const std::vector<std::string>& expected, const std::vector<std::string>& given,
                          const std::string& subject, const std::string& expected_by) {
  if (expected == given) return {};
  const auto lists = [&] {
    return fmt::format("{} are {}, and those of {} {}", subject, list_of_names(given), expected_by,
                       list_of_names(expected));
  };
  const std::vector<std::string> lacking = missing_from(given, expected);
  const std::vector<std::string> unknown = missing_from(expected, given);
  if (!lacking.empty() || !unknown.empty()) {
    std::string difference = lacking.empty() ? "" : fmt::format("{} missing", list_of_names(lacking));
    if (!unknown.empty())
      difference += fmt::format("{}{} not known", lacking.empty() ? "" : ", ", list_of_names(unknown));
    fail_input(errors::bad_names, "{} ({}); both must have the same names, in any order", lists(),
               difference);
  }
  std::map<std::string, std::int64_t> indices;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!indices.emplace(given[i], static_cast<std::int64_t>(i)).second)
      fail_input(errors::bad_names,
                 "{}; two are called '{}', so that names do not identify them: expected the same order",
                 lists(), printable(given[i]));
  }
  if (expected.size() != given.size()) fail_input(errors::bad_names, "{}; expected the same names", lists());
  ColumnOrder order;
  for (const std::string& name : expected) order.push_back(indices.at(name));
  return order;
}

}  // namespace mylos
