/* calls MODEL THREADS INPUTS.bin: after the first call of a kind, a call allocates nothing, whatever the number of threads, also inside a
 * parallel region. The program counts all allocations of the process, those of OpenMP's library too. Prints "ok". */
#include <errno.h>
#include <omp.h>
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

void* memalign(size_t alignment, size_t bytes) {
  count_one();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  count_one();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == NULL ? ENOMEM : 0;
}

/* Every thread of a region infers with its clone: there OpenMP's library would allocate for each region within. */
static void require_no_allocations_in_region(mylos_model* first, mylos_model* second) {
  int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
  {
    double x[INPUTS] = {0}, y[OUTPUTS];
    const mylos_const_array from = mylos_read_f64(x, 1, INPUTS);
    const mylos_array to = mylos_write_f64(y, 1, OUTPUTS);
    mylos_model* const own = omp_get_thread_num() == 0 ? first : second;
    int call;
    for (call = 0; call < 2 + CALLS; ++call) {
#pragma omp barrier
#pragma omp single
      is_counting = call >= 2;
      wrong += mylos_model_infer(own, &from, &to, MYLOS_DATA_UNITS) != MYLOS_OK;
    }
  }
  is_counting = 0;
  require(wrong == 0, "infer in a region");
  if (allocations != 0) fprintf(stderr, "in a region: %ld allocations in %d calls\n", allocations, 2 * CALLS);
  require(allocations == 0, "in a region");
}

static void require_no_allocations(mylos_model* model, const float* x, int64_t rows, const char* what) {
  static double y[ROWS * OUTPUTS];
  const mylos_const_array from = mylos_read_f32(x, rows, INPUTS);
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
  float* inputs;
  require(count == 4, "three arguments");
  inputs = read_floats(texts[3], ROWS * INPUTS);
  require(mylos_initialize(atoi(texts[2])) == MYLOS_OK, "initialize");
  require(mylos_model_load(texts[1], &model) == MYLOS_OK, "load");
  require(mylos_model_clone(model, &clone) == MYLOS_OK, "clone");
  require_no_allocations(model, inputs, 1, "one sample");
  require_no_allocations(clone, inputs, ROWS, "many samples");
  require_no_allocations(model, inputs, 1, "one sample again");
  require_no_allocations_in_region(model, clone);
  free(inputs);
  puts("ok");
  return 0;
}
