// Access to the HDF5 library: the lock, handles that close themselves, its last error as text.
#pragma once

#include <hdf5.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::hdf5 {

/// A scope in which this thread alone may call HDF5, with HDF5's error printing disabled. Scopes may be
/// nested.
class LibraryScope {
 public:
  LibraryScope();
  ~LibraryScope();
  LibraryScope(const LibraryScope&) = delete;
  LibraryScope& operator=(const LibraryScope&) = delete;

 private:
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

/// Returns HDF5's message for the call that just failed, the innermost of its error stack, and clears the
/// stack.
[[nodiscard]] std::string last_error();

/// Throws Error (bad_input): `what` and HDF5's message for the call that just failed. Its cause is the file's
/// contents unless the message says otherwise.
[[noreturn]] void fail_to_read(std::string_view what);

[[noreturn]] void fail_to_read(const std::string& file, std::string_view what);

/// Throws Error (failed) with HDF5's message for the call that just failed.
[[noreturn]] void fail_in_library();
/// Throws Error (failed): the disk's cause if it had one, otherwise `what`, "dataset /x cannot be written",
/// and HDF5's message for the call that just failed.
[[noreturn]] void fail_to_write(const File::State& file, std::string_view what);
/// Throws Error (failed) if anything written so far did not reach the disk.
void require_written(const File::State& file);

// What HDF5 returned, checked: a negative return is an error, whatever the function asks. H5Lexists and
// H5Aexists return it for a disk that fails, too, and it must not be taken for "no". Objects that were read
// from a file or are written to it are named in the message.

template <class Returned>
Returned checked(Returned returned) {
  if (returned < 0) fail_in_library();
  return returned;
}
template <class Returned>
Returned checked_read(Returned returned, const std::string& file, std::string_view what) {
  if (returned < 0) fail_to_read(file, what);
  return returned;
}
template <class Returned>
Returned checked_write(Returned returned, const File::State& file, std::string_view what) {
  if (returned < 0) fail_to_write(file, std::string(what) + " cannot be written");
  return returned;
}

/// An HDF5 identifier, closed by the destructor. It must not outlive the LibraryScope in which it was
/// created.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(checked(id)), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t id() const { return id_; }
  /// Returns the identifier and releases its ownership.
  [[nodiscard]] hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  Close close_;
};

/// Returns HDF5's type of elements in memory.
[[nodiscard]] Handle type_in_memory(DType type);
/// Returns the type in files written by Mylos: the same, little-endian.
[[nodiscard]] Handle type_in_file(DType type);
/// Returns the DType of `type`; nothing for any other type a file may hold.
[[nodiscard]] std::optional<DType> dtype_of_numbers(hid_t type);
/// Returns "uint8", "float16", "bfloat16" or "compound", for messages.
[[nodiscard]] std::string type_text(hid_t type);
/// Returns a fixed-length UTF-8 string type of `bytes` bytes.
[[nodiscard]] Handle text_type(std::size_t bytes);

/// A filter of a dataset, the name that its writer gave it, and the first of its settings.
struct StoredFilter {
  H5Z_filter_t id = H5Z_FILTER_NONE;
  std::string name;
  unsigned setting = 0;
};
/// Returns the filters in a dataset's creation properties, in the order in which they were applied.
[[nodiscard]] std::vector<StoredFilter> filters_of(hid_t creation);

/// Returns the names of the attributes of an open object, sorted. Throws Error (bad_input) if there are more
/// than `most`.
[[nodiscard]] std::vector<std::string> attribute_names(hid_t object, const std::string& file,
                                                       const std::string& path, std::size_t most);

/// Returns the bytes that are stored of an open dataset.
[[nodiscard]] std::int64_t stored_bytes_of(hid_t dataset, const std::string& file, const std::string& path);

/// Opens the group or dataset at `path` after checking that its path consists of hard links only.
[[nodiscard]] Handle open_object(const File::State& file, const std::string& path);

/// Returns a text that lists what is where `missing` would be: in its group, or the nearest above that
/// exists.
[[nodiscard]] std::string contents_around(const File& file, const std::string& missing);

struct File::State {
  std::string path;
  hid_t id = -1;
  bool writable = false;
  std::int64_t opened_bytes = 0;  // its length when it was opened for reading, else 0
  int write_error = 0;            // the number of the first error of the disk (write_driver.hpp)

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
};

/// Throws Error if the file has become shorter since it was opened: HDF5 reads zeros after the end of a file.
void require_not_truncated(const File::State& file);

class ChunkReader;

struct Dataset::State {
  std::shared_ptr<File::State> file;
  std::string path;
  hid_t id = -1;
  std::optional<DType> type;
  bool is_text = false;
  std::string type_text;
  std::size_t element_bytes = 0;
  std::vector<std::int64_t> dims;
  std::int64_t size = 1;
  std::unique_ptr<ChunkReader> chunks;  // nothing: HDF5 reads them

  State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  /// Reads type and shape of the open dataset, and makes the checks listed at the head of hdf5.hpp.
  void describe();
  void read_chunks(std::int64_t first, std::int64_t count, std::byte* destination) const;
};

}  // namespace mylos::hdf5
