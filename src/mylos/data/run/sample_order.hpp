// The order in which a run takes its training samples.
#pragma once

#include <cstdint>

#include "mylos/config/options.hpp"
#include "mylos/data/feed/sampler.hpp"
#include "mylos/data/files/sample_store.hpp"

namespace mylos {

/// Returns the order of `samples` of a store. Blocks of a store's own size may be large: fewer make up a
/// window then. Throws Error (too_little_data) if files that are one sample each are fewer than a batch.
[[nodiscard]] SamplerOptions order_of_samples(const SampleStore& store, std::int64_t samples,
                                              const Options& options);

}  // namespace mylos
