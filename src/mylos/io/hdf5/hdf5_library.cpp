#include "mylos/io/hdf5/hdf5_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/io/files/output_file.hpp"

namespace mylos::hdf5 {
namespace {

constexpr std::size_t max_name_bytes = 400;  // in messages

/// A lock that is granted in order of arrival: with std::mutex a thread that reads piece after piece would
/// take the lock again before a waiting thread wakes up.
class FairLock {
 public:
  void lock() {
    std::unique_lock guard(mutex_);
    if (depth_ > 0 && owner_ == std::this_thread::get_id()) {
      ++depth_;
      return;
    }
    const auto ticket = next_ticket_++;
    turn_changed_.wait(guard, [&] { return now_serving_ == ticket; });
    owner_ = std::this_thread::get_id();
    depth_ = 1;
  }
  void unlock() {
    const std::lock_guard guard(mutex_);
    if (--depth_ > 0) return;
    ++now_serving_;
    turn_changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_changed_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t now_serving_ = 0;
  std::thread::id owner_;
  int depth_ = 0;
};

FairLock& library_lock() {
  static FairLock lock;
  return lock;
}

/// The predefined types of a DType; those of 16-bit floats exist in HDF5 2 only.
struct PredefinedTypes {
  hid_t in_memory;
  hid_t in_file;
};

PredefinedTypes predefined_types(DType type) {
  switch (type) {
    case DType::uint8:
      return {H5T_NATIVE_UINT8, H5T_STD_U8LE};
    case DType::uint16:
      return {H5T_NATIVE_UINT16, H5T_STD_U16LE};
    case DType::uint32:
      return {H5T_NATIVE_UINT32, H5T_STD_U32LE};
    case DType::uint64:
      return {H5T_NATIVE_UINT64, H5T_STD_U64LE};
    case DType::int32:
      return {H5T_NATIVE_INT32, H5T_STD_I32LE};
    case DType::int64:
      return {H5T_NATIVE_INT64, H5T_STD_I64LE};
    case DType::fp64:
      return {H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE};
    default:
      return {H5T_NATIVE_FLOAT, H5T_IEEE_F32LE};
  }
}

bool is_narrow_float(DType type) {
  return type == DType::fp16 || type == DType::bf16;
}

/// Returns a little-endian 16-bit float, as h5py makes its float16: sign, exponent and mantissa from the top.
Handle narrow_float(DType type) {
  const std::size_t mantissa_bits = type == DType::fp16 ? 10 : 7;
  const std::size_t exponent_bits = 15 - mantissa_bits;
  const std::size_t exponent_bias = type == DType::fp16 ? 15 : 127;
  Handle narrow(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  checked(H5Tset_fields(narrow.id(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits));
  checked(H5Tset_size(narrow.id(), 2));
  checked(H5Tset_ebias(narrow.id(), exponent_bias));
  return narrow;
}

}  // namespace

LibraryScope::LibraryScope() {
  library_lock().lock();
  H5PLset_loading_state(0);  // a file must not cause code to be loaded
  // The application that embeds Mylos may use HDF5 itself: its error printer is restored afterwards.
  H5Eget_auto2(H5E_DEFAULT, &printer_, &printer_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

LibraryScope::~LibraryScope() {
  H5Eset_auto2(H5E_DEFAULT, printer_, printer_data_);
  library_lock().unlock();
}

std::string library_version() {
  const LibraryScope scope;
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  checked(H5get_libversion(&major, &minor, &release));
  return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

namespace {

/// Returns the innermost message of HDF5's error stack, and clears the stack.
std::string innermost_message() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned, const H5E_error2_t* error, void* data) -> herr_t {
        if (error->desc != nullptr) *static_cast<std::string*>(data) = error->desc;
        return 1;  // the first message is the innermost: stop
      },
      &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "HDF5 gives no reason" : text;
}

/// Of "file read failed: time = ..., error message = 'Input/output error', buf = ..." what the system says.
std::string reason_in(const std::string& message) {
  constexpr std::string_view before = "error message = '";
  const std::size_t begin = message.find(before);
  if (begin == std::string::npos) return message;
  const std::size_t first = begin + before.size();
  return message.substr(first, message.find('\'', first) - first);
}

}  // namespace

std::string last_error() {
  return reason_in(innermost_message());
}

void fail_to_read(std::string_view what) {
  const std::string message = innermost_message();
  const auto says = [&](std::string_view part) { return message.find(part) != std::string::npos; };
  const ErrorId id = says("truncated") ? errors::truncated
                     : says("errno")   ? errors::cannot_read
                                       : errors::damaged;
  fail_input(id, "{}: {}", what, reason_in(message));
}

void fail_to_read(const std::string& file, std::string_view what) {
  fail_to_read(fmt::format("{}: {} cannot be read", file, printable(what, max_name_bytes)));
}

void fail_in_library() {
  fail_run(errors::library_failed, "HDF5: {}", last_error());
}

void require_written(const File::State& file) {
  if (file.write_error != 0) mylos::fail_to_write(file.path, file.write_error);
}

void fail_to_write(const File::State& file, std::string_view what) {
  const std::string reason = last_error();
  require_written(file);
  fail_run(errors::cannot_write, "{}: {}: {}", file.path, printable(what, max_name_bytes), reason);
}

std::string_view name_in_files(DType type) {
  switch (type) {
    case DType::fp32:
      return "float32";
    case DType::fp64:
      return "float64";
    case DType::fp16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    default:
      return name_of(type);
  }
}

Handle type_in_memory(DType type) {
  static_assert(std::endian::native == std::endian::little, "narrow_float() is little-endian");
  if (is_narrow_float(type)) return narrow_float(type);
  return {H5Tcopy(predefined_types(type).in_memory), H5Tclose};
}

Handle type_in_file(DType type) {
  if (is_narrow_float(type)) return narrow_float(type);
  return {H5Tcopy(predefined_types(type).in_file), H5Tclose};
}

std::optional<DType> dtype_of_numbers(hid_t type) {
  const auto bytes = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || H5Tget_precision(type) != 8 * bytes) return std::nullopt;
  if (kind == H5T_INTEGER) {
    const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
    if (bytes == 1 && !is_signed) return DType::uint8;
    if (bytes == 2 && !is_signed) return DType::uint16;
    if (bytes == 4) return is_signed ? DType::int32 : DType::uint32;
    if (bytes == 8) return is_signed ? DType::int64 : DType::uint64;
    return std::nullopt;
  }
  for (const DType narrow : {DType::fp16, DType::bf16}) {
    if (bytes == 2 && checked(H5Tequal(type, narrow_float(narrow).id())) > 0) return narrow;
  }
  if (bytes == 2) return std::nullopt;
  const Handle native(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose);
  if (checked(H5Tequal(native.id(), H5T_NATIVE_FLOAT)) > 0 && bytes == 4) return DType::fp32;
  if (checked(H5Tequal(native.id(), H5T_NATIVE_DOUBLE)) > 0 && bytes == 8) return DType::fp64;
  return std::nullopt;
}

std::string type_text(hid_t type) {
  const auto bits = 8 * H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}int{}", H5Tget_sign(type) == H5T_SGN_2 ? "" : "u", bits);
    case H5T_FLOAT:
      return fmt::format("{}{}", dtype_of_numbers(type) == DType::bf16 ? "bfloat" : "float", bits);
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "compound";
    case H5T_ENUM:
      return "enum";
    case H5T_VLEN:
      return "variable-length";
    case H5T_ARRAY:
      return "array";
    case H5T_REFERENCE:
      return "reference";
    default:
      return "opaque";
  }
}

std::vector<StoredFilter> filters_of(hid_t creation) {
  std::vector<StoredFilter> filters(static_cast<std::size_t>(checked(H5Pget_nfilters(creation))));
  for (std::size_t i = 0; i < filters.size(); ++i) {
    unsigned flags = 0;
    unsigned config = 0;
    std::size_t settings = 1;
    std::array<char, 64> name{};
    filters[i].id = checked(H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &settings,
                                           &filters[i].setting, name.size() - 1, name.data(), &config));
    filters[i].name = name.data();
  }
  return filters;
}

std::vector<std::string> attribute_names(hid_t object, const std::string& file, const std::string& path,
                                         std::size_t most) {
  struct Names {
    std::vector<std::string> found;
    std::size_t most;
  } names{{}, most};
  const auto add = [](hid_t, const char* name, const H5A_info_t*, void* data) -> herr_t {
    auto& all = *static_cast<Names*>(data);
    all.found.emplace_back(name);
    return all.found.size() > all.most ? 1 : 0;  // 1 ends the iteration
  };
  hsize_t index = 0;
  checked_read(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &index, add, &names), file, path);
  if (names.found.size() > most)
    fail_input(errors::too_large, "{}: {} has more than {} attributes", file, path, most);
  std::sort(names.found.begin(), names.found.end());
  return std::move(names.found);
}

std::int64_t stored_bytes_of(hid_t dataset, const std::string& file, const std::string& path) {
  H5Eclear2(H5E_DEFAULT);
  const hsize_t bytes = H5Dget_storage_size(dataset);
  if (bytes == 0) checked_read(H5Eget_num(H5E_DEFAULT) > 0 ? -1 : 0, file, path);  // its 0 may be a failure
  return static_cast<std::int64_t>(bytes);
}

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  checked(H5Tset_size(type.id(), bytes > 0 ? bytes : 1));
  checked(H5Tset_strpad(type.id(), H5T_STR_NULLPAD));
  checked(H5Tset_cset(type.id(), H5T_CSET_UTF8));
  return type;
}

}  // namespace mylos::hdf5
