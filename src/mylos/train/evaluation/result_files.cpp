#include "mylos/train/evaluation/result_files.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

using nlohmann::ordered_json;

/// Returns the document without its parts: `names` are those of the `count` things that `what` names.
ordered_json begin_document(const std::string& format, std::int64_t step, const char* what,
                            std::vector<std::string> names, std::size_t count) {
  for (std::size_t i = names.size(); i < count; ++i) names.push_back(std::to_string(i));
  return {{"format", format}, {"version", 1}, {"step", step}, {what, names}};
}

/// Names come from users' files and folders, whose bytes need not be UTF-8.
std::string text_of(const ordered_json& document) {
  return document.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// Writes the matrix as JSON, row by row: as a document in memory it would take several times its own bytes.
void write_matrix(OutputFile& file, const ClassMeasures& measures) {
  fmt::memory_buffer row;
  for (std::int64_t label = 0; label < measures.classes(); ++label) {
    row.clear();
    row.push_back(label == 0 ? '[' : ',');
    for (std::int64_t predicted = 0; predicted < measures.classes(); ++predicted)
      fmt::format_to(std::back_inserter(row), "{}{}", predicted == 0 ? "[" : ",",
                     measures.confused(label, predicted));
    row.push_back(']');
    file.append(std::string_view(row.data(), row.size()));
  }
  file.append("]");
}

}  // namespace

void write_confusion_file(const std::string& path, std::int64_t step, std::vector<std::string> class_names,
                          std::span<const std::pair<DataPart, const ClassMeasures*>> parts) {
  const std::int64_t classes = parts.front().second->classes();
  std::string head = text_of(begin_document("mylos-confusion", step, "classes", std::move(class_names),
                                            static_cast<std::size_t>(classes)));
  head.pop_back();  // the brace that ends the document
  PendingFile pending(path);
  pending.file().append(head + ",\"parts\":");
  for (const auto& [part, measures] : parts) {
    pending.file().append(fmt::format("{}\"{}\":", part == parts.front().first ? '{' : ',', name_of(part)));
    write_matrix(pending.file(), *measures);
  }
  pending.file().append("}}\n");
  pending.publish();
}

void write_target_file(const std::string& path, std::int64_t step, std::vector<std::string> names,
                       std::span<const std::pair<DataPart, std::vector<double>>> parts) {
  const std::size_t targets = parts.front().second.size();
  if (names.size() != targets) names.clear();  // they name a grid's channels, not its targets
  ordered_json document = begin_document("mylos-targets", step, "targets", std::move(names), targets);
  for (const auto& [part, r2] : parts) {
    ordered_json& row = document["parts"][name_of(part)];
    row = ordered_json::array();
    for (const double value : r2) row.push_back(std::isfinite(value) ? ordered_json(value) : ordered_json());
  }
  publish_text(path, text_of(document) + '\n');
}

}  // namespace mylos
