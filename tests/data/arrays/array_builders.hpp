// Files of arrays in which every number encodes its position, written by h5py.
#pragma once

#include <string>
#include <vector>

#include "io/support.hpp"
#include "mylos/data/arrays/array_store.hpp"

namespace mylos::testing_support {

/// Writes `path`; the lines use `f` (the file), `n` (numpy) and code(extent, ...): an array in which the
/// element [i, j, k] is (i * 100 + j) * 100 + k.
inline std::string write_arrays(const std::string& path, const std::string& lines) {
  python(
      "import h5py, numpy as n\n"
      "def code(*extents):\n"
      "  return sum(i * 100.0 ** (len(extents) - 1 - k) for k, i in enumerate(n.indices(extents)))\n"
      "f = h5py.File('" +
      path + "', 'w')\n" + lines + "\nf.close()\n");
  return path;
}

/// What write_arrays() stores in [time, y, x].
inline float coded(std::int64_t time, std::int64_t y, std::int64_t x) {
  return static_cast<float>((time * 100 + y) * 100 + x);
}

inline ArrayOptions one_array(const std::string& array, std::vector<std::string> axes) {
  ArrayOptions options;
  options.inputs = {array};
  options.targets = {array};
  options.axes = std::move(axes);
  return options;
}

inline std::vector<float> inputs_of(const SampleStore& store, std::int64_t first, std::int64_t count = 1) {
  std::vector<float> values(static_cast<std::size_t>(count * store.features()));
  store.read_inputs(first, count, values.data());
  return values;
}

inline std::vector<float> targets_of(const SampleStore& store, std::int64_t first, std::int64_t count = 1) {
  std::vector<float> values(static_cast<std::size_t>(count * store.outputs()));
  store.read_targets(first, count, values.data());
  return values;
}

}  // namespace mylos::testing_support
