// Being inside the HDF5 library: the lock, handles that close themselves, its last error as text.
#pragma once

#include <hdf5.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mylos/io/hdf5/hdf5.hpp"

namespace mylos::hdf5 {

/// While it lives, this thread alone is inside HDF5, whose error printing is silenced. May be nested.
class Turn {
 public:
  Turn();
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  H5E_auto2_t printer_ = nullptr;
  void* printer_data_ = nullptr;
};

/// An HDF5 identifier, closed at the end of its life. Lives within a Turn.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] bool ok() const { return id_ >= 0; }
  /// Gives the identifier away.
  [[nodiscard]] hid_t release() { return std::exchange(id_, -1); }

 private:
  hid_t id_;
  Close close_;
};

/// What HDF5 says about the call that just failed: the innermost message of its error stack, which is
/// cleared.
[[nodiscard]] std::string last_error();

/// HDF5's types for elements in memory, and in files that we write: little-endian.
struct StoredType {
  hid_t in_memory;
  hid_t in_file;
};
[[nodiscard]] StoredType stored_type(DType type);
/// Nothing for all else that a file may hold.
[[nodiscard]] std::optional<DType> dtype_of_numbers(hid_t type);
/// "uint8", "float16", "compound": for messages.
[[nodiscard]] std::string type_text(hid_t type);
/// A fixed-length UTF-8 string type of `bytes` bytes.
[[nodiscard]] Handle text_type(std::size_t bytes);

/// Opens the group or dataset at `path` after checking that it is reached by plain links only.
[[nodiscard]] Handle open_object(const File::State& file, const std::string& path);

struct File::State {
  std::string path;
  hid_t id = -1;
  bool writable = false;
  std::int64_t opened_bytes = 0;  // its length when it was opened to be read, else 0

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
};

/// Fails where the file has become shorter since it was opened: HDF5 reads zeros behind a file's end.
void require_not_cut(const File::State& file);

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

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();
  /// Reads what the open dataset is and checks what the head of hdf5.hpp promises.
  void describe();
};

}  // namespace mylos::hdf5
