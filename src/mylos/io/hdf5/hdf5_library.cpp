#include "mylos/io/hdf5/hdf5_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "mylos/base/error.hpp"
#include "mylos/io/files/output_file.hpp"

namespace mylos::hdf5 {
namespace {

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
  H5Tset_fields(narrow.id(), 15, mantissa_bits, exponent_bits, 0, mantissa_bits);
  H5Tset_size(narrow.id(), 2);
  H5Tset_ebias(narrow.id(), exponent_bias);
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
  H5get_libversion(&major, &minor, &release);
  return fmt::format("HDF5 {}.{}.{}", major, minor, release);
}

std::string last_error() {
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

void require_written(const File::State& file) {
  if (file.write_error != 0) mylos::fail_to_write(file.path, file.write_error);
}

void fail_to_write(const File::State& file, std::string_view what) {
  const std::string reason = last_error();
  require_written(file);
  fail_run(ErrorId::cannot_write, "{}: {}: {}", file.path, what, reason);
}

void fail_to_read(std::string_view what) {
  const std::string reason = last_error();
  const auto says = [&](std::string_view part) { return reason.find(part) != std::string::npos; };
  const ErrorId id = says("truncated") ? ErrorId::truncated
                     : says("errno")   ? ErrorId::cannot_read
                                       : ErrorId::damaged;
  fail_input(id, "{}: {}", what, reason);
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
    if (bytes == 2 && H5Tequal(type, narrow_float(narrow).id()) > 0) return narrow;
  }
  if (bytes == 2) return std::nullopt;
  const Handle native(H5Tget_native_type(type, H5T_DIR_ASCEND), H5Tclose);
  if (native.ok() && H5Tequal(native.id(), H5T_NATIVE_FLOAT) > 0 && bytes == 4) return DType::fp32;
  if (native.ok() && H5Tequal(native.id(), H5T_NATIVE_DOUBLE) > 0 && bytes == 8) return DType::fp64;
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
  std::vector<StoredFilter> filters(static_cast<std::size_t>(std::max(0, H5Pget_nfilters(creation))));
  for (std::size_t i = 0; i < filters.size(); ++i) {
    unsigned flags = 0;
    unsigned settings = 0;
    std::size_t values = 0;
    std::array<char, 64> name{};
    filters[i].id = H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr,
                                   name.size() - 1, name.data(), &settings);
    filters[i].name = name.data();
  }
  return filters;
}

Handle text_type(std::size_t bytes) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), bytes > 0 ? bytes : 1);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  return type;
}

}  // namespace mylos::hdf5
