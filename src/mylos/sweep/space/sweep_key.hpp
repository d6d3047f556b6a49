// SweepKey: a key of the deck that a sweep varies, as the command line gives it: key=a,b,c or
// key=low:high[:log].
#pragma once

#include <string>
#include <vector>

namespace mylos {

struct SweepKey {
  std::string key;                       // "optimizer.lr"
  std::vector<std::string> values = {};  // of a list, as they were typed; empty: a range
  double low = 0;
  double high = 0;
  bool is_logarithmic = false;
  bool is_integer = false;

  [[nodiscard]] bool is_range() const { return values.empty(); }
  bool operator==(const SweepKey&) const = default;
};

/// The words of a command line: keys with several values, and overrides that hold for all members.
struct SweepWords {
  std::vector<SweepKey> keys;
  std::vector<std::string> overrides;
};

/// Reads words of the form key=VALUES. Commas within brackets, braces and quotes belong to a value. Two
/// numbers with a colon between them are a range; other words with one value are overrides. Throws Error
/// (bad_input) that names the key: for empty and repeated values, ranges without extent, of keys that are no
/// numbers, or to 0 on a logarithmic scale, keys that are given twice, keys that a sweep sets itself, and if
/// no key varies.
[[nodiscard]] SweepWords read_sweep_words(const std::vector<std::string>& words);

}  // namespace mylos
