// The JSON documents of a run's folder, of which this version knows one version each.
#pragma once

#include <cstddef>
#include <string>

#include "report_json.hpp"

namespace mylos::app {

/// A JSON document of a run, as this version knows it. Larger files are not from Mylos.
struct KnownDocument {
  const char* file;
  const char* format;
  double version;
  std::size_t max_bytes;
};

/// The longest text of a document that the page shows.
inline constexpr std::size_t max_shown_bytes = 200;

/// Returns the document; null if there is no such file, or, with a note, if it is no JSON object. Members
/// with the names of this version are shown from any version, with a note.
[[nodiscard]] ordered_json read_object(const std::string& folder, const KnownDocument& known,
                                       ordered_json& notes);

}  // namespace mylos::app
