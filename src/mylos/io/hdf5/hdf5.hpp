// HDF5 files: the only interface of Mylos to the HDF5 library.
//
// Debian's parallel HDF5 is not thread-safe, so every call of the process takes one lock, which is granted in
// order of arrival. Long transfers release it after every piece of 4 MiB, so that a background reader and the
// foreground share the library fairly. Files from outside are checked when they are opened, before memory is
// allocated: hard links only (no external or soft links), no external or virtual storage, no filters but
// HDF5's own, no plugins, and at least as many stored bytes as the dimensions claim. Functions throw Error:
// bad_input when reading, failed when writing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mylos/base/dtype_of.hpp"

namespace mylos::hdf5 {

/// Returns the name and version of the library: "HDF5 1.10.8".
[[nodiscard]] std::string library_version();

/// Returns h5py's name of the type, "float32" or "uint8", for messages; of bf16, which h5py does not have,
/// "bfloat16".
[[nodiscard]] std::string_view name_in_files(DType type);

/// An open dataset. Copies share it; it is closed with the last copy or with its file.
class Dataset {
 public:
  /// Returns the absolute path in the file, "/model/hidden0/weight".
  [[nodiscard]] const std::string& path() const;
  /// Returns the type of its numbers; nothing if it holds text or any other type. 16-bit floats are fp16
  /// (IEEE binary16) or bf16.
  [[nodiscard]] std::optional<DType> type() const;
  [[nodiscard]] bool is_text() const;
  /// Returns h5py's name of the stored type: "float32", "text", "compound".
  [[nodiscard]] const std::string& type_name() const;
  /// Returns the extents; empty for a scalar.
  [[nodiscard]] const std::vector<std::int64_t>& dims() const;
  /// Returns the number of elements.
  [[nodiscard]] std::int64_t size() const;
  /// Returns the first extent, and the number of elements per index of it (1 and size() for a scalar).
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t row_size() const;

  /// Throws Error unless the dataset has one of these types and this number of dimensions; `shape` describes
  /// them in the message, "[samples, features]".
  void require(std::initializer_list<DType> types, std::size_t rank, std::string_view shape) const;

  /// Reads elements [first, first + count) in row-major order, converted to T if the file holds another type.
  template <class T>
  void read(std::int64_t first, std::int64_t count, T* destination) const {
    static_assert(std::is_arithmetic_v<T>, "16-bit floats are read unconverted");
    move(first, count, dtype_of<T>, destination, false);
  }
  /// Reads elements as numbers of type(), which are not converted, except to this machine's order of bytes.
  void read_unconverted(std::int64_t first, std::int64_t count, void* destination) const;
  template <class T>
  void write(std::int64_t first, std::int64_t count, const T* source) {
    static_assert(std::is_arithmetic_v<T>, "16-bit floats are written past HDF5");
    move(first, count, dtype_of<T>, const_cast<T*>(source), true);
  }

  /// Returns the value of a text scalar.
  [[nodiscard]] std::string read_text() const;
  /// Returns a list of texts, or one text, of fixed or variable length as h5py writes them; at most 64 MiB.
  [[nodiscard]] std::vector<std::string> read_texts() const;
  /// Writes a text that is at most as long as the dataset.
  void write_text(std::string_view text);

  /// Returns the offset in the file of its contiguous bytes. Only for datasets that this program created.
  [[nodiscard]] std::int64_t file_offset() const;

  struct State;  // of the functions of this folder
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  friend class File;
  explicit Dataset(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void require_rank(std::size_t rank, std::string_view shape) const;
  [[noreturn]] void refuse_type(std::string_view expected) const;
  void move(std::int64_t first, std::int64_t count, DType memory_type, void* memory, bool write) const;

  std::shared_ptr<State> state_;
};

enum class ObjectKind { group, dataset, other };  // other: includes groups with several links

struct Child {
  std::string name;
  ObjectKind kind;
};

struct CreateOptions {
  std::int64_t user_block = 0;  // bytes before the HDF5 data: 0 or a power of two >= 512
};

/// An open file. Movable. The destructor closes it; call close() to detect errors.
class File {
 public:
  /// Creates or replaces the file, in the format of HDF5 1.10 (checksummed metadata), without time stamps:
  /// the same calls write the same bytes.
  [[nodiscard]] static File create(const std::string& path, const CreateOptions& options = {});
  /// Opens the file read-only.
  [[nodiscard]] static File open(const std::string& path);
  /// Opens the file for reading and writing.
  [[nodiscard]] static File edit(const std::string& path);

  [[nodiscard]] const std::string& path() const;
  /// Writes all buffered data to the operating system.
  void flush();
  /// Reserves disk space for all that was created so far, and flushes it. Throws Error (failed) of
  /// reserve_space().
  void reserve();
  /// Returns the bytes of the flushed file, including the user block.
  [[nodiscard]] std::int64_t bytes() const;
  void close();

  /// Creates a contiguous dataset, allocated at once and not initialised: the caller must write every
  /// element. Without dims it is a scalar. Missing groups on the path are created too.
  [[nodiscard]] Dataset create_dataset(const std::string& path, DType type,
                                       const std::vector<std::int64_t>& dims);
  /// Creates a text scalar of `bytes` bytes (UTF-8, padded with zeros).
  [[nodiscard]] Dataset create_text(const std::string& path, std::int64_t bytes);
  [[nodiscard]] Dataset dataset(const std::string& path) const;
  /// Removes the link to a group or dataset. With its last link the object and its contents are deleted.
  void remove(const std::string& path);

  [[nodiscard]] bool exists(const std::string& path) const;
  /// Returns the members of a group, sorted by name.
  [[nodiscard]] std::vector<Child> children(const std::string& path) const;

  /// Writes an attribute of the group or dataset at `path`; an existing value is replaced.
  void write_attribute(const std::string& path, const std::string& name, std::string_view value);
  void write_attribute(const std::string& path, const std::string& name, const char* value);
  void write_attribute(const std::string& path, const std::string& name, std::int64_t value);
  [[nodiscard]] bool has_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] std::string text_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] std::int64_t integer_attribute(const std::string& path, const std::string& name) const;

  struct State;  // of the functions of this folder
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  friend class Array;
  explicit File(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace mylos::hdf5
