// Array: an N-dimensional array of numbers in a file from another program, read box by box in its stored
// type.
//
// More is accepted than of a Dataset, which Mylos wrote: any integer or float type of either byte order, any
// filter that this HDF5 library has built in (gzip, shuffle, szip, fletcher32, nbit, scaleoffset),
// extendible dimensions. The other checks at the head of hdf5.hpp hold. Functions throw Error (bad_input).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::hdf5 {

/// A type of stored numbers.
enum class NumberType { int8, uint8, int16, uint16, int32, uint32, int64, uint64, fp16, bf16, fp32, fp64 };

[[nodiscard]] std::int64_t size_of(NumberType type);
/// Returns NumPy's name of the type; "bfloat16" of bf16.
[[nodiscard]] std::string_view name_of(NumberType type);

struct ArrayFacts {
  NumberType type = NumberType::fp32;
  bool big_endian = false;
  std::vector<std::int64_t> dims;
  std::vector<bool> unlimited;       // [dims]: whether the dimension can grow
  std::vector<std::int64_t> chunk;   // extents of a chunk; empty: contiguous
  std::vector<std::string> filters;  // "gzip", "shuffle" ..., in the order in which they were applied
  std::int64_t stored_bytes = 0;
  std::optional<double> unwritten = {};  // what its writer chose for elements that are never written
};

/// An attribute: a text (or several), or numbers. Others, empty ones and long ones have neither.
struct Attribute {
  std::string name;
  bool is_text = false;
  std::string text;                    // several texts are joined by line breaks
  std::vector<double> numbers;         // rounded to double
  NumberType type = NumberType::fp64;  // of stored numbers

  [[nodiscard]] bool is_read() const { return is_text || !numbers.empty(); }
};

/// An open array. Copies share it; it is closed with the last copy or with its file.
class Array {
 public:
  /// Opens the array at `path`. Throws Error (bad_input) if it is missing, holds other than numbers, needs a
  /// filter that is not built in, or has fewer bytes stored than its dimensions need.
  Array(const File& file, const std::string& path);

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const std::string& file_path() const;
  [[nodiscard]] const ArrayFacts& facts() const;

  /// A box of elements: along dimension d the indices start[d] + i * step[d], i < count[d].
  struct Box {
    std::vector<std::int64_t> start;
    std::vector<std::int64_t> step;
    std::vector<std::int64_t> count;
  };
  /// Reads the box, row-major, as facts().type in this machine's byte order. The lock of the library is
  /// released after pieces of some MiB.
  void read(const Box& box, void* destination) const;

  /// Returns the attributes, sorted by name. Throws Error (bad_input) if there are more than 256; more than
  /// 64 KiB of one are not read.
  [[nodiscard]] std::vector<Attribute> attributes() const;
  /// Returns the path of the dimension scale of each dimension (HDF5's DIMENSION_LIST, which NetCDF-4
  /// writes); empty where there is none.
  [[nodiscard]] std::vector<std::string> scales() const;

 private:
  struct State;
  /// Returns HDF5's identifier (an hid_t).
  [[nodiscard]] std::int64_t id() const;
  std::shared_ptr<State> state_;
};

}  // namespace mylos::hdf5
