/* Preloaded into a command: it crashes at the place that CRASH_AT names.
 *   work      in the first communicator that it makes
 *   finalize  at the start of MPI_Finalize
 *   thread    in a thread of its own, while MPI_Finalize goes on
 *   abort     after MPI_Finalize, by abort()
 *   exit      in the exit handlers
 * Only in processes called CRASH_NAME: the launcher is none of them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char* program_invocation_short_name;

static int is_place(const char* name) {
  const char* place = getenv("CRASH_AT");
  const char* process = getenv("CRASH_NAME");
  return place != NULL && process != NULL && strcmp(place, name) == 0 && strcmp(process, program_invocation_short_name) == 0;
}

static void crash(void) {
  volatile char* const nobodys = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *nobodys = 1;  // a compiler may leave out a write to NULL
}

static void* crash_in_thread(void* unused) {
  crash();
  return unused;
}

int MPI_Comm_idup(void* communicator, void* copy, void* request) {
  if (is_place("work")) crash();
  int (*original)(void*, void*, void*) = (int (*)(void*, void*, void*))dlsym(RTLD_NEXT, "MPI_Comm_idup");
  return original(communicator, copy, request);
}

int MPI_Finalize(void) {
  int (*original)(void) = (int (*)(void))dlsym(RTLD_NEXT, "MPI_Finalize");
  pthread_t thread;
  if (is_place("finalize")) crash();
  if (is_place("thread") && pthread_create(&thread, NULL, crash_in_thread, NULL) == 0) usleep(200000);
  const int code = original();
  if (is_place("abort")) abort();
  return code;
}

__attribute__((destructor)) static void at_exit(void) {
  if (is_place("exit")) crash();
}
