// HDF5 files that are not what a reader expects, made with the HDF5 API from a fuzz input.
//
// HDF5 1.10 itself does not survive mutated bytes, and its faults would hide ours: so every file here is one
// that HDF5 can write, and what varies is what the file holds. An input of zeros makes the file that the
// reader expects; each other byte leaves something out, or puts something else in its place.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>
#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mylos::fuzz {

struct ExpectedDataset {
  std::string path;
  hid_t type = -1;            // of HDF5's own, or text of `text_bytes` bytes
  std::vector<hsize_t> dims;  // empty: a scalar
  std::size_t text_bytes = 0;
  std::int64_t rows = 0;  // its attribute of that name; 0: none
};

struct ExpectedAttribute {
  std::string name;  // of "/"
  std::string text;  // empty: `value`, an integer
  std::int64_t value = 0;
};

struct ExpectedFile {
  hsize_t user_block = 0;
  bool with_crc = false;  // every dataset has the attribute crc32
  std::vector<ExpectedDataset> datasets;
  std::vector<ExpectedAttribute> attributes;
};

/// Some of the expected things otherwise, and up to four objects more.
void make_hostile_file(const std::string& path, const ExpectedFile& expected, FuzzedDataProvider& input);

}  // namespace mylos::fuzz
