// BenchFile: what `mylos bench` measured, as a CSV file for programs beside the lines for people.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {

/// A CSV file, which appears when all of it is there. All ranks make one and publish it; rank 0 writes.
class BenchFile {
 public:
  /// `path`: "" for no file. Throws Error on all ranks at once where it cannot be written: not only after
  /// minutes. `ranks` must outlive this object.
  BenchFile(RankGroup& ranks, const std::string& path, const std::vector<std::string>& columns);

  /// Cells without commas and quotes.
  void add(const std::vector<std::string>& cells);
  void publish();

 private:
  RankGroup& ranks_;
  std::optional<PendingFile> file_;
  std::string text_;
};

}  // namespace mylos::app
