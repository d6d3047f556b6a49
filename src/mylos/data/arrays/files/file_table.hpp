// FileTable: the files of a store, of which a few are open at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mylos/data/array_options.hpp"
#include "mylos/data/arrays/files/open_array.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

/// By what a change of a file is noticed.
struct FileStamp {
  std::int64_t bytes = 0;
  std::int64_t changed_ns = 0;  // time of the last change
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// An open file with its arrays, in the order of FileTable::arrays().
struct OpenArrayFile {
  OpenArrayFile(const std::string& path, const std::vector<std::string>& arrays, const ArrayOptions& options,
                const ReadGrid& grid);

  hdf5::File file;
  std::vector<OpenArray> arrays;
};

/// Returns the options, without targets if the file lacks one of these arrays and ground truth is optional.
/// Throws Error (bad_input) if ground truth is required and the options name no targets.
[[nodiscard]] ArrayOptions with_available_targets(const std::string& file, ArrayOptions options,
                                                  GroundTruth truth);

class FileTable {
 public:
  static constexpr std::size_t max_open = 8;

  /// `arrays`: the paths that every file has. No file is opened.
  FileTable(std::vector<std::string> paths, std::vector<std::string> arrays, const ArrayOptions& options,
            ReadGrid grid);
  /// The same files, as far as they are known, of whose grid a part is read.
  FileTable(const FileTable& whole, const GridPart& part);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  [[nodiscard]] const std::vector<std::string>& arrays() const { return arrays_; }
  [[nodiscard]] const ReadGrid& grid() const { return grid_; }
  [[nodiscard]] const FileStamp& stamp(std::int64_t file) const {
    return stamps_[static_cast<std::size_t>(file)];
  }

  /// Returns an open file, valid until max_open others have been opened. Throws Error (bad_input) if it
  /// cannot be opened or has changed since it was opened first. Not for concurrent calls.
  [[nodiscard]] const OpenArrayFile& open(std::int64_t file);
  /// Throws Error (bad_input) if the file has changed since it was opened first.
  void require_unchanged(std::int64_t file) const;

  /// Returns an estimate of the memory for the open files and the table, in bytes.
  [[nodiscard]] std::int64_t memory_bytes() const;

 private:
  struct Entry {
    std::int64_t file = -1;
    std::uint64_t used = 0;
    std::unique_ptr<OpenArrayFile> open;
  };
  std::vector<std::string> paths_;
  std::vector<std::string> arrays_;
  ArrayOptions options_;
  ReadGrid grid_;
  std::vector<FileStamp> stamps_;  // bytes = 0: not opened yet
  std::vector<Entry> open_;
  std::uint64_t clock_ = 0;
};

}  // namespace mylos
