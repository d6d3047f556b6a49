// Small token files in which every token encodes its position.
#pragma once

#include <string>
#include <vector>

#include "io/support.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/tokens/token_dataset.hpp"
#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::testing_support {

/// As h5py writes it: no kind, no identity.
template <class T>
std::string write_tokens(const std::string& path, const std::vector<T>& tokens, std::int64_t vocabulary) {
  auto file = hdf5::File::create(path);
  const auto count = static_cast<std::int64_t>(tokens.size());
  file.create_dataset("/tokens", dtype_of<T>, {count}).write(0, count, tokens.data());
  file.write_attribute("/", "vocabulary", vocabulary);
  file.close();
  return path;
}

/// Token i is i: a window shows its position.
inline std::string write_counting_tokens(const std::string& path, std::int64_t count) {
  std::vector<std::uint16_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<std::uint16_t>(i));
  return write_tokens(path, tokens, count);
}

/// Returns the first token of each window of a batch, after checking that consecutive numbers follow it.
inline std::vector<std::int64_t> windows_of(const Batch& batch, std::int64_t context) {
  EXPECT_EQ(batch.type, DType::int32);
  EXPECT_EQ(batch.rows, batch.samples * context);
  EXPECT_EQ(batch.targets, nullptr);
  const auto* tokens = static_cast<const std::int32_t*>(batch.inputs);
  std::vector<std::int64_t> windows;
  for (std::int64_t i = 0; i < batch.samples; ++i) {
    windows.push_back(tokens[i * context]);
    for (std::int64_t j = 0; j < context; ++j) {
      EXPECT_EQ(tokens[i * context + j], windows.back() + j);
      EXPECT_EQ(batch.labels[i * context + j], windows.back() + j + 1);
    }
  }
  return windows;
}

}  // namespace mylos::testing_support
