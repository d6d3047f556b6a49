/* calls MODEL THREADS: after the first call of a kind, a call allocates nothing, whatever the number of threads. The program counts
 * all allocations of the process, those of OpenMP's library too. Prints "ok". */
#include <stddef.h>

#include "support.h"

enum { ROWS = 40, CALLS = 50 };

/* Those of glibc, which the functions below replace. */
extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* memory, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

static volatile int is_counting = 0;
static volatile long allocations = 0;

static void count_one(void) {
  if (is_counting) __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
}
void* malloc(size_t bytes) {
  count_one();
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  count_one();
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  count_one();
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count_one();
  return __libc_memalign(alignment, bytes);
}

static void require_no_allocations(mylos_model* model, int64_t rows, const char* what) {
  static double x[ROWS * INPUTS], y[ROWS * OUTPUTS];
  const mylos_const_array from = mylos_read_f64(x, rows, INPUTS);
  const mylos_array to = mylos_write_f64(y, rows, OUTPUTS);
  int call;
  for (call = 0; call < 2 + CALLS; ++call) {
    is_counting = call >= 2;
    require(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK, "infer");
  }
  is_counting = 0;
  if (allocations != 0) fprintf(stderr, "%s: %ld allocations in %d calls\n", what, allocations, CALLS);
  require(allocations == 0, what);
}

int main(int count, char** texts) {
  mylos_model *model, *clone;
  require(count == 3, "two arguments");
  require(mylos_initialize(atoi(texts[2])) == MYLOS_OK, "initialize");
  require(mylos_model_load(texts[1], &model) == MYLOS_OK, "load");
  require(mylos_model_clone(model, &clone) == MYLOS_OK, "clone");
  require_no_allocations(model, 1, "one sample");
  require_no_allocations(clone, ROWS, "many samples");
  require_no_allocations(model, 1, "one sample again");
  puts("ok");
  return 0;
}
