// `mylos prepare idx IMAGES [LABELS] --out FILE`: converts IDX files (as MNIST's), plain or gzip, to a
// dataset file.
//
// IDX: two zero bytes, a byte for the type (8: unsigned byte), a byte for the number of dimensions, each
// dimension as a big-endian 32-bit integer, then the elements, last dimension fastest
// (http://yann.lecun.com/exdb/mnist/).
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

struct PrepareIdx {
  std::string images;  // [samples, ...] unsigned bytes: a sample's further dimensions become its features
  std::string labels;  // [samples] unsigned bytes; "" = none, for predictions
  std::string out;     // the dataset file to make
  std::int64_t classes = 0;  // 0: largest label + 1
};

/// Throws Error: bad_input if the inputs are wrong, failed if `out` cannot be written.
void prepare(const PrepareIdx& job);

}  // namespace mylos
