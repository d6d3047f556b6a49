// SampleStore: samples that can be read by their number, whatever the files are that hold them.
//
// The loader, the evaluation reader and the normalizer use nothing else. Dataset reads one prepared file.
// Samples are numbered from 0 in the order of the files. A store checks its files when it is opened, before
// memory is taken, and is immutable afterwards, apart from reorder().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/data/coordinates/grid_axes.hpp"
#include "mylos/data/coordinates/level_step.hpp"
#include "mylos/data/coordinates/sample_mask.hpp"
#include "mylos/data/files/dataset_format.hpp"
#include "mylos/data/files/meaning/column_names.hpp"
#include "mylos/data/files/scaling/statistics.hpp"

namespace mylos {

struct GridPart;

/// A range of samples of a store.
struct Split {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// The training part and the held-out part, at the end, of `samples` samples.
struct Splits {
  Split train;
  Split validation;
};
[[nodiscard]] Splits split_samples(std::int64_t samples, double validation_fraction);

/// Whether samples must have ground truth (labels or targets). Inputs alone suffice for prediction, but not
/// for training or evaluation.
enum class GroundTruth { required, optional };

/// Returns the name of the dataset with the ground truth, without its slash: "labels", "targets", "nothing".
[[nodiscard]] const char* name_of_truth(Task task);

class SampleStore {
 public:
  virtual ~SampleStore() = default;

  /// Returns the name of the store in messages: the path of its file, or the files as the deck names them.
  [[nodiscard]] virtual const std::string& path() const = 0;

  [[nodiscard]] virtual const DatasetShape& shape() const = 0;
  [[nodiscard]] Task task() const { return shape().task; }
  [[nodiscard]] std::int64_t samples() const { return shape().samples; }
  [[nodiscard]] std::int64_t features() const { return shape().features; }
  /// Returns the outputs of a network for these samples: classes, or targets per sample; 0 if not known.
  [[nodiscard]] std::int64_t outputs() const { return shape().outputs; }
  /// Returns the grid of a sample: its extents, then its channels; empty if it is not known.
  [[nodiscard]] virtual const std::vector<std::int64_t>& grid() const = 0;

  /// Returns the axes of the grid with their coordinates; empty if they are not known, or not to be compared.
  [[nodiscard]] virtual const GridAxes& axes() const;

  /// Returns how far apart the levels of arrays are in time, if that is known and to be compared.
  [[nodiscard]] virtual LevelStep level_step() const { return {}; }

  /// Returns which numbers of samples count, in reading order.
  [[nodiscard]] virtual SampleMask mask() const { return {}; }
  /// Returns whether numbers of samples may be missing.
  [[nodiscard]] virtual MissingNumbers missing() const { return {}; }
  /// Returns the masks of arrays that have one.
  [[nodiscard]] virtual std::vector<MaskSummary> masks() const { return {}; }

  /// Returns the names of the classes; empty if they are not known.
  [[nodiscard]] virtual std::vector<std::string> class_names() const { return {}; }
  /// Returns the names of the inputs and targets in reading order: of each column, or of each channel of
  /// samples on a grid. Empty if they are not known.
  [[nodiscard]] virtual const std::vector<std::string>& input_names() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& target_names() const = 0;
  /// Sets the order in which columns, their names and statistics are read from now on; identities keep the
  /// stored order. The orders have one entry per name (of columns or channels), or are empty.
  virtual void reorder(const ColumnOrder& inputs, const ColumnOrder& targets) = 0;

  /// Return where column `column`, in reading order, of a sample lies, for messages: "train.h5: /inputs row
  /// 3, column 5 (counted from 0)".
  [[nodiscard]] virtual std::string location_of_input(std::int64_t sample, std::int64_t column) const = 0;
  [[nodiscard]] virtual std::string location_of_target(std::int64_t sample, std::int64_t column) const = 0;

  /// Read samples [first, first + count), row-major: inputs [count, features] in the type of shape();
  /// labels [count]; targets [count, outputs]. Two threads may read at the same time (a loader's and that of
  /// an evaluation). They allocate nothing once the first samples have been read. Throw Error (bad_input)
  /// with file and array if the data cannot be read or have changed since they were first read.
  virtual void read_inputs(std::int64_t first, std::int64_t count, void* destination) const = 0;
  /// Called for classification only.
  virtual void read_labels(std::int64_t first, std::int64_t count, std::int32_t* destination) const = 0;
  /// Does nothing if there are no targets.
  virtual void read_targets(std::int64_t first, std::int64_t count, float* destination) const = 0;
  /// Reads the ground truth of the task: labels (int32), targets (float) or nothing.
  void read_truth(std::int64_t first, std::int64_t count, std::byte* destination) const {
    if (task() == Task::classification)
      read_labels(first, count, reinterpret_cast<std::int32_t*>(destination));
    if (task() == Task::regression) read_targets(first, count, reinterpret_cast<float*>(destination));
  }

  /// Returns whether statistics are of channels: entry i is that of every column whose number modulo the
  /// number of entries is i. Otherwise each column has an entry.
  [[nodiscard]] virtual bool has_channel_statistics() const { return false; }
  /// Return the statistics of these samples. They may take a pass over them. Throw Error (bad_input) for
  /// values that are not finite.
  [[nodiscard]] virtual ColumnStatistics input_statistics(Split part) const = 0;
  [[nodiscard]] virtual ColumnStatistics target_statistics(Split part) const = 0;
  /// Returns the statistics of all inputs if they are stored with them, without a pass.
  [[nodiscard]] virtual std::optional<ColumnStatistics> prepared_input_statistics() const {
    return std::nullopt;
  }

  /// Returns the digest of the contents: as stored, otherwise from a pass. A restart with other data is
  /// refused. It does not depend on the names of folders.
  [[nodiscard]] virtual std::string identity() const = 0;

  /// Checks every value, if a program other than ours wrote them. Throws Error (bad_input).
  virtual void require_valid_values() const = 0;
  /// Throws Error (bad_input) unless the label of sample `row` is a class.
  virtual void require_label(std::int64_t /*row*/, std::int32_t /*label*/) const {}

  /// Returns the host memory in bytes that reading takes besides the caller's: digests, cached chunks.
  [[nodiscard]] virtual std::int64_t reading_bytes() const = 0;
  /// Frees memory that reading takes for speed alone, and takes again when it is needed. Of the store of the
  /// whole samples, a store of boxes counts the rest in reading_bytes().
  virtual void release() const {}
  /// Returns the number of adjacent samples that are read together fastest, for shuffle = "blocks"; 0: as
  /// many as a piece of the file of usual size holds.
  [[nodiscard]] virtual std::int64_t block_samples() const { return 0; }

  /// Returns the store of the same samples, of each of which it reads the box alone: the same order, channels
  /// and names, fewer points. `grid`: of the samples, where the deck gives it; empty: grid(). `whole_truth`:
  /// labels and targets are those of the whole sample. This store must outlive it, keep its order of columns,
  /// and has the statistics, identity and checks of the samples. Throws Error (bad_value) that names
  /// mesh.space unless the boxes divide the grid, on which other targets lie too.
  [[nodiscard]] std::shared_ptr<SampleStore> part(const GridPart& part,
                                                  const std::vector<std::int64_t>& grid = {},
                                                  bool whole_truth = false) const;

 protected:
  /// Returns what part() promises, for a grid that the boxes divide.
  [[nodiscard]] virtual std::shared_ptr<SampleStore> boxes(const GridPart& part,
                                                           const std::vector<std::int64_t>& grid) const;

  SampleStore() = default;
  SampleStore(const SampleStore&) = default;
  SampleStore& operator=(const SampleStore&) = default;
};

}  // namespace mylos
