// HealthRows: the statistics of every parameter, one row per parameter and inspection. They are lines of
// `health.csv`; checkpoints store those of the last inspections, /history/health/<column> [inspections,
// parameters].
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/train/history/row_file.hpp"
#include "mylos/train/options.hpp"
#include "mylos/train/step/health_record.hpp"

namespace mylos {

class HealthRows {
 public:
  static constexpr std::array<std::string_view, 8> columns = {
      "gradient_norm",  "weight_norm", "update_ratio", "largest_gradient",
      "largest_weight", "zeros",       "subnormals",   "non_finite"};
  /// The number of inspections that a checkpoint stores.
  static constexpr std::size_t tail_length = 100;

  struct Look {
    std::uint64_t step = 0;
    std::vector<std::array<double, columns.size()>> parameters;
    bool operator==(const Look&) const = default;
  };

  /// `path`: of health.csv; "" (all ranks but rank 0): no file. `parameters`: the paths of all parameters.
  HealthRows(std::string path, std::vector<std::string> parameters);

  void add(const HealthRecord& record);
  /// Appends new rows to the file. Throws Error if it cannot be written; the next call writes the missing
  /// rows too.
  void write();
  [[nodiscard]] const std::deque<Look>& tail() const { return tail_; }
  /// Returns an upper bound of the memory for `parameters` parameters: the last inspections, and their copy
  /// in a checkpoint's layout.
  [[nodiscard]] static PartMemory memory(const HealthOptions& options, std::size_t parameters);

  /// Renames the file of an earlier run. Called when a run starts from scratch. Returns the new path, or ""
  /// if there was no file.
  std::string begin_anew() { return file_.begin_anew(); }
  /// Adds the last inspections to `state`, which then points into this object.
  void save(CheckpointState& state);
  /// Adds the checkpoint's entries to `state`, which is read before restore(). A checkpoint may have none.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Resumes the file with the inspections that were read (see RowFile::resume()).
  [[nodiscard]] std::string restore(std::uint64_t step);

 private:
  [[nodiscard]] std::string line_of(const Look& look, std::size_t parameter) const;

  std::vector<std::string> parameters_;
  RowFile file_;
  std::deque<Look> tail_;
  std::string new_lines_;
  // The last inspections in a checkpoint's layout.
  std::vector<std::uint64_t> stored_steps_;
  std::array<std::vector<double>, columns.size()> stored_;
};

}  // namespace mylos
