// Data files as `mylos prepare` writes them, with digests of several blocks, and ways to change them.
#pragma once

#include <string>

#include "data/builders.hpp"
#include "data/token_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/data/tokens/stamp.hpp"
#include "support/said.hpp"

namespace mylos::testing_support {

constexpr std::int64_t wide_features = 700;  // 93 rows in a block

inline std::string prepared_images(const std::string& path, std::int64_t samples = 1000) {
  write_images(path, samples, wide_features, 10);
  stamp(path);
  return path;
}

constexpr std::int64_t counted_tokens = 50'000;  // uint16: 32768 in a block

inline std::string prepared_tokens(const std::string& path) {
  write_counting_tokens(path, counted_tokens);
  stamp(path);
  return path;
}

/// 70,000 characters, three different ones.
inline std::string prepared_characters(const std::string& path) {
  std::vector<std::uint8_t> tokens(70'000);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::uint8_t>(i % 3);
  write_tokens(path, tokens, 3);
  python("import h5py, numpy\nf = h5py.File('" + path + "', 'r+')\nf['vocabulary'] = numpy.bytes_(b'abc')\n");
  stamp(path);
  return path;
}

/// Edits a file as a user does with h5py; `f` is the file.
inline void edit(const std::string& path, const std::string& lines) {
  python("import h5py, numpy as n\nwith h5py.File('" + path + "', 'r+') as f:\n    " + lines + "\n");
}

/// Succeeds if `said`, of an Error, states that `what` of the file was changed.
[[nodiscard]] inline ::testing::AssertionResult says_changed(const std::string& said, const std::string& path,
                                                             const std::string& what) {
  return test::says(said, errors::damaged, {path + ": " + what, "`mylos prepare stamp " + path + "`"});
}

}  // namespace mylos::testing_support
