// Loader: the micro-batches of this rank, read and normalised in the background before the step needs them.
//
// One thread fills a ring of buffers. shuffle = "samples" stores all training samples in memory, in their
// stored type. shuffle = "blocks" stores two windows of blocks: the current one and the next, of which the
// thread reads a part whenever the ring is full. Each rank reads only the samples of a window that it will
// use. In the steady state nothing is allocated.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/feed/sampler.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

struct LoaderOptions {
  DType type = DType::fp32;      // of Batch::inputs
  std::int64_t micro_batch = 0;  // maximum samples per batch; 0 = the rank's complete local batch
  int rank = 0;
  int ranks = 1;
  std::int64_t first_position = 0;      // samples already consumed; a multiple of the sampler's batch
  AugmentOptions augment = {};          // with the sampler's seed
  std::vector<std::int64_t> grid = {};  // of a sample, for `augment`: extents, then channels
};

class Loader final : public BatchReader {
 public:
  /// Loads the samples of `split` of `store`, which must outlive the loader; the sampler's index 0 is the
  /// first of them. Throws Error (bad_input) if there are more ranks than samples in a batch. Whether
  /// memory_bytes() fit is decided by the plan of the run.
  Loader(const SampleStore& store, Split split, const Sampler& sampler, const Normalizer& normalizer,
         const LoaderOptions& options);
  ~Loader() override;

  /// Throws Error (bad_input) with file, row and column if a value is not finite or exceeds `type`, or if a
  /// label is not a class.
  [[nodiscard]] const Batch& next() override;
  void keep_until_read(const Execution& copies) override;
  void seek(std::int64_t position) override;

  /// Returns the host memory of such a loader in bytes, without that of the store.
  [[nodiscard]] static std::int64_t memory_bytes(const DatasetShape& shape, Split split,
                                                 const Sampler& sampler, const LoaderOptions& options);

 private:
  class Maker;
  std::unique_ptr<Maker> maker_;
};

}  // namespace mylos
