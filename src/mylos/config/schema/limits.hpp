// The largest counts that a deck may give. A batch of the widest samples in bytes, and the samples of the
// longest run, fit in 63 bits.
#pragma once

#include <cstdint>

#include "mylos/model/layers/layer_kind.hpp"

namespace mylos {

constexpr std::int64_t max_count = 2147483647;         // steps, samples per batch
constexpr std::int64_t max_epochs = 1'000'000;         // this many times the samples of any data set fit
constexpr std::int64_t max_width = max_layer_width;    // of a hidden layer
constexpr std::int64_t max_features = 1 << 28;         // of a sample
constexpr std::int64_t max_layers = 1000;              // hidden, or of a transformer
constexpr std::int64_t max_context = 1 << 20;          // tokens
constexpr std::int64_t max_vocabulary = 1 << 24;       // tokens
constexpr std::int64_t max_history = 1000;             // levels in time of a sample
constexpr std::size_t max_files = 10'000;              // in a list of them; patterns may match more
constexpr std::int64_t max_seed = 0x7FFFFFFFFFFFFFFF;  // TOML's integers have a sign

}  // namespace mylos
