// ConcatenatedStore: the samples of several prepared files, one file after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

class ConcatenatedStore final : public SampleStore {
 public:
  /// Opens the files, at least one. `name`: of all of them in messages. Throws Error (bad_input) if there are
  /// more than `max_files`, or if a file has samples of another shape, type or meaning than the first; its
  /// columns are read by name in the order of the first.
  ConcatenatedStore(const std::vector<std::string>& paths, std::string name, GroundTruth truth);

  /// All files stay open.
  static constexpr std::size_t max_files = 256;

  [[nodiscard]] const std::string& path() const override { return name_; }
  [[nodiscard]] const DatasetShape& shape() const override { return shape_; }
  [[nodiscard]] const std::vector<std::int64_t>& grid() const override { return first().grid(); }
  [[nodiscard]] std::vector<std::string> class_names() const override { return first().class_names(); }
  [[nodiscard]] const std::vector<std::string>& input_names() const override { return first().input_names(); }
  [[nodiscard]] const std::vector<std::string>& target_names() const override {
    return first().target_names();
  }
  void reorder(const ColumnOrder& inputs, const ColumnOrder& targets) override;
  [[nodiscard]] std::string location_of_input(std::int64_t sample, std::int64_t column) const override;
  [[nodiscard]] std::string location_of_target(std::int64_t sample, std::int64_t column) const override;

  void read_inputs(std::int64_t first, std::int64_t count, void* destination) const override;
  void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const override;
  void read_targets(std::int64_t first, std::int64_t count, float* destination) const override;

  /// Combined from those of the files, in their order.
  [[nodiscard]] ColumnStatistics input_statistics(Split part) const override;
  [[nodiscard]] ColumnStatistics target_statistics(Split part) const override;
  [[nodiscard]] std::optional<ColumnStatistics> prepared_input_statistics() const override;
  /// A digest of the identities of the files, in their order.
  [[nodiscard]] std::string identity() const override;
  [[nodiscard]] std::int64_t reading_bytes() const override;
  void require_valid_values() const override;
  void require_label(std::int64_t row, std::int32_t label) const override;
  /// Returns remarks on columns that are read in another order than the file's, one per line.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  /// A range of samples of one file.
  struct Piece {
    const Dataset* file;
    Split part;            // in the file
    std::int64_t skipped;  // samples of the range that earlier pieces have
  };
  [[nodiscard]] const Dataset& first() const { return *files_.front(); }
  /// Returns the piece of samples [first, first + count) that begins `skipped` samples after `first`.
  [[nodiscard]] Piece piece(std::int64_t first, std::int64_t count, std::int64_t skipped) const;
  template <class Read>
  void for_each_piece(std::int64_t first, std::int64_t count, const Read& read) const;
  template <class StatisticsOf>
  [[nodiscard]] ColumnStatistics statistics_of(Split part, const StatisticsOf& of_file) const;

  std::string name_;
  std::vector<std::unique_ptr<Dataset>> files_;
  std::vector<std::int64_t> first_samples_;  // of each file, then the number of all samples
  std::vector<std::string> notes_;
  DatasetShape shape_;
};

/// Returns the statistics of several tables of the same columns; `rows`: of each.
[[nodiscard]] ColumnStatistics combined(const std::vector<ColumnStatistics>& parts,
                                        const std::vector<std::int64_t>& rows);

}  // namespace mylos
