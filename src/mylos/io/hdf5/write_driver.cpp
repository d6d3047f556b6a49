#include "mylos/io/hdf5/write_driver.hpp"

#include <hdf5.h>
#if __has_include(<H5FDdevelop.h>)  // since 1.14
#include <H5FDdevelop.h>
#endif
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/io/files/output_file.hpp"
#include "mylos/io/hdf5/hdf5_library.hpp"
#include "mylos/io/hdf5/hdf5_versions.hpp"

namespace mylos::hdf5 {
namespace {

/// What the access properties hold.
struct Settings {
  int* error;
};

/// A write after the first that failed.
struct PendingWrite {
  haddr_t address;
  std::vector<std::byte> bytes;
};

struct OpenFile : H5FD_t {
  int descriptor = -1;
  int* error = nullptr;
  haddr_t allocated = 0;  // by HDF5
  haddr_t end = 0;        // of the file
  std::vector<PendingWrite> pending;
};

OpenFile& of(H5FD_t* file) {
  return *static_cast<OpenFile*>(file);
}
const OpenFile& of(const H5FD_t* file) {
  return *static_cast<const OpenFile*>(file);
}

/// Returns EFBIG if a file may not become as long: otherwise a signal would end the process.
int check_limit(haddr_t bytes) {
  struct rlimit limit {};
  const bool limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited && bytes > limit.rlim_cur ? EFBIG : 0;
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* settings = static_cast<const Settings*>(H5Pget_driver_info(access));
  if (settings == nullptr) return nullptr;
  int mode = (flags & H5F_ACC_RDWR) != 0 ? O_RDWR : O_RDONLY;
  if ((flags & H5F_ACC_TRUNC) != 0) mode |= O_TRUNC;
  if ((flags & H5F_ACC_CREAT) != 0) mode |= O_CREAT;
  if ((flags & H5F_ACC_EXCL) != 0) mode |= O_EXCL;
  const int descriptor = ::open(name, mode | O_CLOEXEC, 0666);
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    *settings->error = errno;
    if (descriptor >= 0) ::close(descriptor);
    return nullptr;
  }
  auto* file = new OpenFile{};
  file->descriptor = descriptor;
  file->error = settings->error;
  file->end = static_cast<haddr_t>(status.st_size);
  return file;
}

herr_t close_file(H5FD_t* base) {
  OpenFile& file = of(base);
  if (::close(file.descriptor) != 0 && *file.error == 0) *file.error = errno;
  delete &file;
  return 0;
}

herr_t query(const H5FD_t*, unsigned long* flags) {  // as HDF5's own driver for POSIX
  if (flags != nullptr) {
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_POSIX_COMPAT_HANDLE | H5FD_FEAT_SUPPORTS_SWMR_IO |
             H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  }
  return 0;
}

haddr_t allocated(const H5FD_t* file, H5FD_mem_t) {
  return of(file).allocated;
}

herr_t set_allocated(H5FD_t* file, H5FD_mem_t, haddr_t address) {
  of(file).allocated = address;
  return 0;
}

/// HDF5 subtracts the bytes before its data (the user block), which a new file does not have yet.
haddr_t end_of_file(const H5FD_t* file, H5FD_mem_t) {
  return std::max(of(file).end, file->base_addr);
}

herr_t handle(H5FD_t* file, hid_t, void** descriptor) {
  *descriptor = &of(file).descriptor;
  return 0;
}

/// Behind the end of the file there are zeros.
herr_t read(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, std::size_t bytes, void* data) {
  OpenFile& file = of(base);
  auto* const first = static_cast<std::byte*>(data);
  std::size_t done = 0;
  while (done < bytes) {
    const ::ssize_t count =
        ::pread(file.descriptor, first + done, bytes - done, static_cast<off_t>(address + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      H5Epush2(H5E_DEFAULT, __FILE__, "read", __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR,
               "file read failed: errno = %d, error message = '%s'", error, std::strerror(error));
      return -1;
    }
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  std::fill(first + done, first + bytes, std::byte{0});
  for (const PendingWrite& part : file.pending) {
    const haddr_t begin = std::max(address, part.address);
    const haddr_t end = std::min<haddr_t>(address + bytes, part.address + part.bytes.size());
    if (begin < end)
      std::memcpy(first + (begin - address), part.bytes.data() + (begin - part.address), end - begin);
  }
  return 0;
}

herr_t write(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, std::size_t bytes, const void* data) {
  OpenFile& file = of(base);
  if (*file.error == 0) *file.error = check_limit(address + bytes);
  if (*file.error == 0) {
    *file.error = write_all(file.descriptor, data, static_cast<std::int64_t>(bytes),
                            static_cast<std::int64_t>(address));
  }
  if (*file.error != 0) {
    try {
      const auto* first = static_cast<const std::byte*>(data);
      file.pending.push_back({address, {first, first + bytes}});
    } catch (const std::exception&) {
      return -1;
    }
  }
  file.end = std::max<haddr_t>(file.end, address + bytes);
  return 0;
}

/// Gives the file the length that HDF5 has allocated.
herr_t set_length(H5FD_t* base, hid_t, hbool_t) {
  OpenFile& file = of(base);
  if (file.end == file.allocated) return 0;
  if (*file.error == 0) *file.error = check_limit(file.allocated);
  if (*file.error == 0 && ::ftruncate(file.descriptor, static_cast<off_t>(file.allocated)) != 0)
    *file.error = errno;
  file.end = file.allocated;
  return 0;
}

H5FD_class_t driver_class() {
  H5FD_class_t driver{};
  set_version(driver);
  driver.name = "mylos";
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<off_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.fapl_size = sizeof(Settings);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = allocated;
  driver.set_eoa = set_allocated;
  driver.get_eof = end_of_file;
  driver.get_handle = handle;
  driver.read = read;
  driver.write = write;
  driver.truncate = set_length;
  const H5FD_mem_t dichotomy[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(dichotomy), std::end(dichotomy), driver.fl_map);
  return driver;
}

}  // namespace

void use_write_driver(hid_t access, int* error) {
  static const H5FD_class_t driver = driver_class();
  static hid_t registered = H5I_INVALID_HID;
  // Registered for as long as the library runs, which a program may close and open.
  if (H5Iget_type(registered) != H5I_VFL) registered = H5FDregister(&driver);
  const Settings settings{error};
  if (registered < 0 || H5Pset_driver(access, registered, &settings) < 0)
    fail_run(errors::library_failed, "HDF5 does not take a driver to write files: {}", last_error());
}

}  // namespace mylos::hdf5
