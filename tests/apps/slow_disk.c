/* Preloaded into a run: bringing a checkpoint to the disk takes SLOW_DISK_S seconds longer, such as 0.5. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsync(int descriptor) {
  char link[64];
  char path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  const char* seconds = getenv("SLOW_DISK_S");
  if (length > 0 && seconds != NULL && strstr(path, ".h5.tmp") != NULL) usleep((useconds_t)(1e6 * atof(seconds)));
  int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return original(descriptor);
}
