// safetensors: the file format in which trained weights are exchanged.
//
//   8 bytes      length of the header, little-endian
//   the header   {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ..., "__metadata__":
//                {"KEY": "TEXT"}}, a JSON object
//   the rest     the tensors, each at its offsets, row by row, little-endian
// (https://github.com/huggingface/safetensors, "Format".)
//
// A file from outside is checked when it is opened, before memory is allocated for anything it claims: the
// header's length against the file's length and the format's limit, no duplicate names, known element types,
// extents that are not negative and do not overflow, and tensors that cover the rest of the file without gap
// or overlap. Functions throw Error: bad_input when reading, failed when writing.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::safetensors {

/// The format's word of complex numbers of two floats.
inline constexpr std::string_view complex_word = "C64";

struct Entry {
  std::string name;
  std::string type;                 // name of the type in the format: "F32", "BF16", "I64", "BOOL", ...
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::int64_t begin = 0;           // bytes [begin, end) after the header
  std::int64_t end = 0;

  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size() const;
};

/// Returns the format's name of a type: "F32", "F16", "BF16", "F64", "I32".
[[nodiscard]] std::string_view word_of(DType type);

class Reader {
 public:
  explicit Reader(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Returns the entries in file order.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Returns the entries of "__metadata__".
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Returns the entry of this name, or nullptr.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  /// Returns all elements as floats. Throws Error (bad_input) unless they are F32, F16 or BF16.
  [[nodiscard]] std::vector<float> read(const Entry& entry);
  /// Reads the elements from `first` on into `values`.
  void read(const Entry& entry, std::int64_t first, std::span<float> values);
  /// Returns all elements as floats, also those of F64, rounded, and of C64, each as its real and its
  /// imaginary part. Throws Error (bad_input) for other types and for a finite F64 beyond the range of float.
  [[nodiscard]] std::vector<float> read_rounded(const Entry& entry);
  /// Returns all elements of a tensor of F64 as they are. Throws Error (bad_input) for other types.
  [[nodiscard]] std::vector<double> read_doubles(const Entry& entry);
  /// Throws Error (bad_input) if read_rounded() would throw it for the type.
  void require_roundable(const Entry& entry) const;
  /// Throws Error (bad_input) if read() would throw it for the type.
  void require_readable(const Entry& entry) const { static_cast<void>(type_of(entry)); }

 private:
  [[nodiscard]] DType type_of(const Entry& entry) const;

  std::string path_;
  std::ifstream file_;
  std::int64_t data_start_ = 0;  // of the tensors, in bytes
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::size_t, std::less<>> index_by_name_;  // in entries_, by name
};

struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::optional<DType> type = {};  // none: the type of the file
};

/// A writer of a file whose tensors have one type, except those that specify their own. The file appears, or
/// replaces an older one, at close().
class Writer {
 public:
  /// Reserves the file's disk space. `metadata`: the entries of "__metadata__".
  Writer(const std::string& path, DType type, std::vector<NamedShape> tensors,
         const std::map<std::string, std::string>& metadata);

  /// Writes all elements of the next tensor, rounded to its type. Throws Error (bad_input) if a finite number
  /// exceeds the range of the type.
  void write(std::span<const float> values);
  /// Does the same for a tensor of fp64.
  void write_doubles(std::span<const double> values);
  /// Publishes the file after the last tensor.
  void close();

 private:
  template <class T>
  void write_as(std::span<const float> values);
  [[nodiscard]] DType next_type(std::size_t values) const;

  std::string path_;
  PendingFile pending_;
  DType type_;
  std::vector<NamedShape> tensors_;
  std::size_t next_ = 0;
};

}  // namespace mylos::safetensors
