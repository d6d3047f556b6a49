// Reads the files of a run's folder without trusting them: they may be incomplete, of another version, or
// untrusted. Skipped, damaged and missing data are added to `notes`, a JSON array.
#pragma once

#include <cstddef>
#include <string>

#include "mylos/io/tables/csv_rows.hpp"
#include "report_json.hpp"

namespace mylos::app {

/// Returns the folder of a run, given its path or that of its checkpoints. Throws Error (bad_input) with the
/// missing files if it is not a run.
[[nodiscard]] std::string open_run_folder(const std::string& path);

/// Returns the last name of a folder's path.
[[nodiscard]] std::string last_name(const std::string& folder);

struct SmallFile {
  bool exists = false;
  std::string text;     // empty where there is a problem
  std::string problem;  // "is larger than 4 MiB", for people
};
[[nodiscard]] SmallFile read_small_file(const std::string& path, std::size_t max_bytes);

/// The longest text of a document that the page shows.
inline constexpr std::size_t max_shown_bytes = 200;

/// A JSON document of a run: `what` it is, and the most that is read. Larger files are not from Mylos.
struct DocumentFile {
  std::string name;
  const char* what;
  std::size_t max_bytes;
};

/// Returns the document; null if there is no such file, or, with a note, if it is not sound.
[[nodiscard]] ordered_json read_document(const std::string& folder, const DocumentFile& file,
                                         const Requirement& is_sound, ordered_json& notes);

/// A JSON document of which this version knows one version.
struct KnownDocument {
  const char* file;
  const char* format;
  double version;
  std::size_t max_bytes;
};

/// The same of any JSON object. Members with the names of this version are shown from any version, with a
/// note.
[[nodiscard]] ordered_json read_object(const std::string& folder, const KnownDocument& known,
                                       ordered_json& notes);

/// Passes the rows of folder/name to `rows`, and adds skipped rows to `notes`, except an incomplete row at
/// the end of a table that is being written. The first column of `rows` is the step. Returns false if there
/// is no such file.
bool read_table(const std::string& folder, const std::string& name, CsvRows& rows, bool runs_on,
                ordered_json& notes);

/// Adds "FILE: 3 damaged rows left out" if there are any.
void note_damaged(const std::string& file, std::int64_t count, const char* what, ordered_json& notes);

}  // namespace mylos::app
