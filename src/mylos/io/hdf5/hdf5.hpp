// HDF5 files: the one door of Mylos to the HDF5 library.
//
// Debian's parallel HDF5 is not thread-safe, so every call of the process goes through one lock that serves
// in order of arrival; long transfers take it anew for every piece of 4 MiB, so that a background reader and
// the foreground share it fairly. What comes from outside is checked when it is opened, before memory is
// taken: plain links only (no external, no soft ones), no external or virtual storage, no filters but HDF5's
// own, no plugins, and at least as many stored bytes as the dimensions claim. Throws Error: bad_input when
// reading, failed when writing.
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

/// "HDF5 1.10.8".
[[nodiscard]] std::string library_version();

/// As h5py says it, "float32", "uint8": for messages.
[[nodiscard]] std::string_view name_in_files(DType type);

/// An open dataset. Copies share it; it is closed with the last copy or with its file.
class Dataset {
 public:
  /// Absolute path in the file, "/model/hidden0/weight".
  [[nodiscard]] const std::string& path() const;
  /// Of its numbers; nothing where it holds text, 16-bit floats or what else a file may hold.
  [[nodiscard]] std::optional<DType> type() const;
  [[nodiscard]] bool is_text() const;
  /// Of whatever it holds, as h5py says it: "float32", "text", "compound".
  [[nodiscard]] const std::string& type_name() const;
  /// Empty for a scalar.
  [[nodiscard]] const std::vector<std::int64_t>& dims() const;
  /// All elements.
  [[nodiscard]] std::int64_t size() const;
  /// The first dimension, and the elements below one of its indices (1 and size() for a scalar).
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t row_size() const;

  /// Throws unless the dataset has one of these types and this many dimensions; `shape` says what they mean,
  /// "[samples, features]".
  void require(std::initializer_list<DType> types, std::size_t rank, std::string_view shape) const;

  /// Elements [first, first + count) in row-major order, converted to T where the file holds another type.
  template <class T>
  void read(std::int64_t first, std::int64_t count, T* destination) const {
    static_assert(std::is_arithmetic_v<T>, "files hold no 16-bit floats");
    move(first, count, dtype_of<T>, destination, false);
  }
  template <class T>
  void write(std::int64_t first, std::int64_t count, const T* source) {
    static_assert(std::is_arithmetic_v<T>, "files hold no 16-bit floats");
    move(first, count, dtype_of<T>, const_cast<T*>(source), true);
  }

  /// A scalar of type text.
  [[nodiscard]] std::string read_text() const;
  /// A list of texts, or one, of fixed or of variable length, as h5py writes them: 64 MiB at most.
  [[nodiscard]] std::vector<std::string> read_texts() const;
  /// As long as it was created, or shorter.
  void write_text(std::string_view text);

  /// Where in the file its bytes lie, one after the other as in memory: of one that this program created.
  [[nodiscard]] std::int64_t file_offset() const;

 private:
  friend class File;
  struct State;
  explicit Dataset(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void require_rank(std::size_t rank, std::string_view shape) const;
  [[noreturn]] void refuse_type(std::string_view expected) const;
  void move(std::int64_t first, std::int64_t count, DType memory_type, void* memory, bool write) const;

  std::shared_ptr<State> state_;
};

enum class ObjectKind { group, dataset, other };  // other: also a group that several links lead to

struct Child {
  std::string name;
  ObjectKind kind;
};

struct CreateOptions {
  std::int64_t user_block = 0;  // bytes before the HDF5 data: 0 or a power of two >= 512
};

/// A file that this process has open. Movable; closed at destruction (call close() to hear of errors).
class File {
 public:
  /// Makes or replaces the file, in the format of HDF5 1.10 (checksummed metadata), without time stamps: the
  /// same calls give the same bytes.
  [[nodiscard]] static File create(const std::string& path, const CreateOptions& options = {});
  /// Opens for reading only.
  [[nodiscard]] static File open(const std::string& path);
  /// Opens for reading and writing.
  [[nodiscard]] static File edit(const std::string& path);

  [[nodiscard]] const std::string& path() const;
  /// Everything down to the operating system.
  void flush();
  /// Bytes of the file once it is flushed, user block included.
  [[nodiscard]] std::int64_t bytes() const;
  void close();

  /// Contiguous, allocated at once, never filled: every element must be written. No dims: a scalar. Groups on
  /// the way are made too.
  [[nodiscard]] Dataset create_dataset(const std::string& path, DType type,
                                       const std::vector<std::int64_t>& dims);
  /// A scalar of type text with room for `bytes` bytes (UTF-8, padded with zeros).
  [[nodiscard]] Dataset create_text(const std::string& path, std::int64_t bytes);
  [[nodiscard]] Dataset dataset(const std::string& path) const;
  /// Takes the name of a group or dataset out of the file, and with its last name all that it holds.
  void remove(const std::string& path);

  [[nodiscard]] bool exists(const std::string& path) const;
  /// Sorted by name.
  [[nodiscard]] std::vector<Child> children(const std::string& path) const;

  /// Attributes of the group or dataset at `path`. Writing one that exists replaces its value.
  void write_attribute(const std::string& path, const std::string& name, std::string_view value);
  void write_attribute(const std::string& path, const std::string& name, const char* value);
  void write_attribute(const std::string& path, const std::string& name, std::int64_t value);
  [[nodiscard]] bool has_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] std::string text_attribute(const std::string& path, const std::string& name) const;
  [[nodiscard]] std::int64_t integer_attribute(const std::string& path, const std::string& name) const;

  struct State;

 private:
  explicit File(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace mylos::hdf5
