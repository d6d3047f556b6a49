// HealthRows: what was seen of every parameter, a row for each at each look: lines of `health.csv`, and the
// last looks in checkpoints, /history/health/<column> [looks, parameters].
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/state.hpp"
#include "mylos/train/history/row_file.hpp"
#include "mylos/train/step/health_record.hpp"

namespace mylos {

class HealthRows {
 public:
  static constexpr std::array<std::string_view, 8> columns = {
      "gradient_norm",  "weight_norm", "update_ratio", "largest_gradient",
      "largest_weight", "zeros",       "subnormals",   "non_finite"};
  /// Looks that a checkpoint keeps.
  static constexpr std::size_t tail_length = 100;

  struct Look {
    std::uint64_t step = 0;
    std::vector<std::array<double, columns.size()>> parameters;
    bool operator==(const Look&) const = default;
  };

  /// `path`: of health.csv; "": no file (ranks but the first). `parameters`: the paths of all.
  HealthRows(std::string path, std::vector<std::string> parameters);

  void add(const HealthRecord& record);
  /// Brings the file up to date. Throws Error where it cannot be written; what it lacks comes with the next
  /// rows.
  void write();
  [[nodiscard]] const std::deque<Look>& tail() const { return tail_; }
  /// That so many parameters take at most: the last looks, and as a checkpoint holds them.
  [[nodiscard]] static constexpr std::size_t memory_bytes(std::size_t parameters) {
    return 2 * tail_length * parameters * columns.size() * sizeof(double);
  }

  /// Of a run that starts afresh: sets aside the file of an earlier one. Returns its new path; "": there was
  /// none.
  std::string begin_anew() { return file_.begin_anew(); }
  /// Adds the last looks to what a checkpoint is to hold; `state` points into this object then.
  void save(CheckpointState& state);
  /// Adds room for what save() wrote; nothing where the checkpoint has none.
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// After that was read: RowFile::resume().
  [[nodiscard]] std::string restore(std::uint64_t step);

 private:
  [[nodiscard]] std::string line_of(const Look& look, std::size_t parameter) const;

  std::vector<std::string> parameters_;
  RowFile file_;
  std::deque<Look> tail_;
  std::string new_lines_;
  // As a checkpoint holds them.
  std::vector<std::uint64_t> stored_steps_;
  std::array<std::vector<double>, columns.size()> stored_;
};

}  // namespace mylos
