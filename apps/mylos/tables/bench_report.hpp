// BenchFile: the measurements of `mylos bench` as a CSV file for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {

/// A CSV file that appears when it is complete. All ranks create and publish it; rank 0 writes.
class BenchFile {
 public:
  /// `path`: "" for no file. Throws Error on all ranks at once if it cannot be written, before the
  /// measurement. `ranks` must outlive this object.
  BenchFile(RankGroup& ranks, const std::string& path, const std::vector<std::string>& columns);

  /// Cells must not contain commas and quotes.
  void add(const std::vector<std::string>& cells);
  void publish();

 private:
  RankGroup& ranks_;
  std::optional<PendingFile> file_;
  std::string text_;
};

}  // namespace mylos::app
