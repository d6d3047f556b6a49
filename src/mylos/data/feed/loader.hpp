// Loader: the micro-batches of this rank, read and normalised in the background ahead of the step.
//
// One thread fills a ring of buffers. shuffle = "samples" keeps all training samples in memory, in their
// stored type. shuffle = "blocks" keeps two windows of blocks: the one that is being used and the next, of
// which a piece is read whenever the ring is full; of a window each rank reads only what it will use. Steady
// state allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/feed/sampler.hpp"
#include "mylos/data/files/dataset.hpp"
#include "mylos/data/files/normalizer.hpp"

namespace mylos {

struct LoaderOptions {
  DType type = DType::fp32;      // of Batch::inputs
  std::int64_t micro_batch = 0;  // most samples of a batch; 0 = the rank's whole share
  int rank = 0;
  int ranks = 1;
  int ranks_on_node = 1;                // that share this machine's memory
  std::int64_t first_position = 0;      // samples consumed before; a multiple of the sampler's batch
  AugmentOptions augment = {};          // by the sampler's seed
  std::vector<std::int64_t> grid = {};  // of a sample, where it is moved: extents, then channels
};

class Loader final : public BatchReader {
 public:
  /// The samples of `split`, which the sampler's samples count from its first. Throws Error (bad_input) when
  /// ranks exceed the batch, or when the samples of shuffle = "samples" take more than half the memory that
  /// is available.
  Loader(const Dataset& dataset, Split split, const Sampler& sampler, const Normalizer& normalizer,
         const LoaderOptions& options);
  ~Loader() override;

  /// Throws Error (bad_input) with file, row and column for a value that is not finite or does not fit
  /// `type`, or a label that is no class.
  [[nodiscard]] const Batch& next() override;
  void keep_until_read(const Execution& copies) override;
  void seek(std::int64_t position) override;

  /// Host memory that such a loader takes.
  [[nodiscard]] static std::int64_t memory_bytes(const DatasetShape& shape, Split split,
                                                 const Sampler& sampler, const LoaderOptions& options);

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

}  // namespace mylos
