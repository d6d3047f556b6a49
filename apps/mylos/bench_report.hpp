// What the benchmarks of `mylos bench` share: a CSV file for programs beside the lines for people, and the
// check that they find room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/comm/rank_group.hpp"
#include "mylos/io/atomic_publish.hpp"

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

/// All ranks call this. Throws Error (does_not_fit) on all of them where a node has less memory than `bytes`
/// for each of its ranks, or a device less than that. `what` takes it: "messages of 2 GiB".
void require_room(RankGroup& ranks, std::int64_t bytes, std::string_view what);

/// All ranks call this: the largest of what they bring, the time of the slowest.
[[nodiscard]] double largest_of(RankGroup& ranks, double own);

/// "3.5 s", "12.1 ms".
[[nodiscard]] std::string format_seconds(double seconds);

/// The type of this name, which the command line was checked to have: "fp32", "bf16", "fp16".
[[nodiscard]] DType type_named(std::string_view name);

}  // namespace mylos::app
