/* Preloaded into a command: one operation on its files fails, as on a disk that breaks. In the environment:
 *
 * FAILING_DISK_KIND   read, write (also of a part of a file by the kernel), sync (fsync, fdatasync) or close
 * FAILING_DISK_AT     "7": the 7th operation fails; "7+": it and all that follow; absent or "0": none
 * FAILING_DISK_PATH   a part of the paths whose operations count; absent: those of all regular files
 * FAILING_DISK_ERRNO  the number of the error; absent: that of EIO
 * FAILING_DISK_LOG    a file that receives the path of each operation that counts, one a line; absent: none
 *
 * Each process counts by itself. What C streams (FILE*) do inside of the C library is not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void log_path(const char* path) {
  const char* name = getenv("FAILING_DISK_LOG");
  if (name == NULL) return;
  const int log = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) return;
  char line[4200];
  const int length = snprintf(line, sizeof line, "%s\n", path);
  syscall(SYS_write, log, line, (size_t)length);
  syscall(SYS_close, log);
}

/* Counts an operation; returns whether it fails, with errno set. */
static int fails(const char* kind, int descriptor) {
  static atomic_long operations;
  const char* wanted = getenv("FAILING_DISK_KIND");
  if (wanted == NULL || strcmp(wanted, kind) != 0) return 0;
  const int before = errno;
  struct stat status;
  char link[64];
  char path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  const int regular = length > 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  errno = before;
  const char* part = getenv("FAILING_DISK_PATH");
  if (!regular || (part != NULL && strstr(path, part) == NULL)) return 0;
  const long operation = 1 + atomic_fetch_add(&operations, 1);
  log_path(path);
  errno = before;
  const char* at = getenv("FAILING_DISK_AT");
  char* rest = NULL;
  const long chosen = at == NULL ? 0 : strtol(at, &rest, 10);
  if (chosen < 1 || operation < chosen || (operation > chosen && *rest != '+')) return 0;
  const char* number = getenv("FAILING_DISK_ERRNO");
  errno = number == NULL ? EIO : atoi(number);
  return 1;
}

/* FAILING(kind, result, name, parameters, arguments): `name` of the C library, whose first parameter is
 * called `descriptor`. */
#define FAILING(kind, result, name, parameters, arguments)                        \
  result name parameters {                                                        \
    if (fails(kind, descriptor)) return -1;                                       \
    result(*original) parameters = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
    return original arguments;                                                    \
  }

FAILING("read", ssize_t, read, (int descriptor, void* data, size_t bytes), (descriptor, data, bytes))
FAILING("read", ssize_t, pread, (int descriptor, void* data, size_t bytes, off_t at),
        (descriptor, data, bytes, at))
FAILING("read", ssize_t, pread64, (int descriptor, void* data, size_t bytes, off64_t at),
        (descriptor, data, bytes, at))
FAILING("read", ssize_t, readv, (int descriptor, const struct iovec* parts, int count),
        (descriptor, parts, count))
FAILING("write", ssize_t, write, (int descriptor, const void* data, size_t bytes), (descriptor, data, bytes))
FAILING("write", ssize_t, pwrite, (int descriptor, const void* data, size_t bytes, off_t at),
        (descriptor, data, bytes, at))
FAILING("write", ssize_t, pwrite64, (int descriptor, const void* data, size_t bytes, off64_t at),
        (descriptor, data, bytes, at))
FAILING("write", ssize_t, writev, (int descriptor, const struct iovec* parts, int count),
        (descriptor, parts, count))
FAILING("sync", int, fsync, (int descriptor), (descriptor))
FAILING("sync", int, fdatasync, (int descriptor), (descriptor))

/* A close that fails has closed the descriptor all the same. */
int close(int descriptor) {
  const int failed = fails("close", descriptor);
  const int number = errno;
  int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
  const int result = original(descriptor);
  if (failed) errno = number;
  return failed ? -1 : result;
}

/* Copies within the kernel read and write. */
#define FAILING_COPY(name, parameters, arguments)                                   \
  ssize_t name parameters {                                                         \
    if (fails("read", from) || fails("write", to)) return -1;                       \
    ssize_t(*original) parameters = (ssize_t(*) parameters)dlsym(RTLD_NEXT, #name); \
    return original arguments;                                                      \
  }

FAILING_COPY(sendfile, (int to, int from, off_t* at, size_t bytes), (to, from, at, bytes))
FAILING_COPY(sendfile64, (int to, int from, off64_t* at, size_t bytes), (to, from, at, bytes))
FAILING_COPY(copy_file_range,
             (int from, off64_t* from_at, int to, off64_t* to_at, size_t bytes, unsigned flags),
             (from, from_at, to, to_at, bytes, flags))
