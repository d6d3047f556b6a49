#include "known_document.hpp"

#include <fmt/format.h>

#include "run_folder.hpp"

namespace mylos::app {
namespace {

/// Members with the names of this version are shown, from any version.
void note_other_version(const ordered_json& document, const KnownDocument& known, ordered_json& notes) {
  const std::string format = text_member(document, "format");
  const double version = number_member(document, "version", known.version);
  if (format.empty() || (format == known.format && version == known.version)) return;
  notes.push_back(
      fmt::format("{}: is \"{}\", version {}, and this program knows \"{}\", version {}: shown as far as it "
                  "is understood",
                  known.file, format.substr(0, max_shown_bytes), version, known.format, known.version));
}

}  // namespace

ordered_json read_object(const std::string& folder, const KnownDocument& known, ordered_json& notes) {
  SmallFile file = read_small_file(folder + "/" + known.file, known.max_bytes);
  if (!file.exists) return nullptr;
  if (file.problem.empty()) {
    ordered_json document = ordered_json::parse(file.text, nullptr, false);
    if (document.is_object()) {
      note_other_version(document, known, notes);
      return document;
    }
    file.problem = "is not whole, or no JSON";
  }
  notes.push_back(fmt::format("{}: {}: left out", known.file, file.problem));
  return nullptr;
}

}  // namespace mylos::app
