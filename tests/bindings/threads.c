/* threads MODEL INPUTS.bin OUTPUTS.bin ROWS: a clone per thread of an OpenMP region, where each computes the bits of OUTPUTS.bin, and
 * one handle for all of them; the program's own number of threads stays. A handle of one thread that several use, one that is destroyed in a region or during a
 * call, and a library of several threads after fork() are errors, and end nothing. Prints "ok". */
#define _POSIX_C_SOURCE 200809L
#include <mylos/mylos.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INPUTS = 6, OUTPUTS = 3, THREADS = 4 };

static int is_refused(int32_t status, const char* part) {
  return status == MYLOS_FAILED && strcmp(mylos_last_error_id(), "bad-call") == 0 && strstr(mylos_last_error(), part) != NULL;
}

/* Threads share one handle: a call returns the bits, or may be refused. Returns the number of calls that did neither. */
static int calls_of_one_handle(const mylos_model* model, int may_be_refused, const float* x, const float* expected) {
  int thread, wrong = 0;
#pragma omp parallel for reduction(+ : wrong) schedule(static, 1)
  for (thread = 0; thread < THREADS; ++thread) {
    const mylos_const_array from = mylos_read_f32(x + thread * INPUTS, 1, INPUTS);
    int call;
    for (call = 0; call < 1000; ++call) {
      float y[OUTPUTS] = {0};
      const mylos_array to = mylos_write_f32(y, 1, OUTPUTS);
      if (mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK)
        wrong += memcmp(y, expected + thread * OUTPUTS, sizeof y) != 0;
      else
        wrong += !may_be_refused || !is_refused(MYLOS_FAILED, "another call");
    }
  }
  return wrong;
}

/* Returns whether the child of fork() is refused, and does not hang. */
static int child_is_refused(mylos_model* model, const float* x, int64_t rows) {
  const pid_t child = fork();
  int status = -1;
  if (child == 0) {
    float* y = malloc((size_t)(rows * OUTPUTS) * sizeof *y);
    const mylos_const_array from = mylos_read_f32(x, rows, INPUTS);
    const mylos_array to = mylos_write_f32(y, rows, OUTPUTS);
    alarm(20);
    _exit(is_refused(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS), "fork") ? 0 : 1);
  }
  return waitpid(child, &status, 0) == child && status == 0;
}

int main(int count, char** texts) {
  mylos_model *model, *shared, *clones[THREADS];
  const mylos_load_options of_four = {.threads = THREADS};
  const int64_t rows = count == 5 ? atol(texts[4]) : 0;
  float* x = malloc((size_t)(rows * INPUTS) * sizeof *x);
  float* expected = malloc((size_t)(rows * OUTPUTS) * sizeof *expected);
  FILE* inputs = fopen(texts[2], "rb");
  FILE* outputs = fopen(texts[3], "rb");
  int i, wrong = 0;
  omp_set_num_threads(THREADS);
  if (fread(x, sizeof *x, (size_t)(rows * INPUTS), inputs) != (size_t)(rows * INPUTS)) return 2;
  if (fread(expected, sizeof *expected, (size_t)(rows * OUTPUTS), outputs) != (size_t)(rows * OUTPUTS)) return 2;
  if (mylos_initialize(2) || mylos_model_load(texts[1], &model)) return 3;
  if (mylos_initialize(3) != MYLOS_BAD_INPUT || omp_get_max_threads() != THREADS) return 4;
  for (i = 0; i < THREADS; ++i)
    if (mylos_model_clone(model, &clones[i])) return 5;
#pragma omp parallel for reduction(+ : wrong)
  for (i = 0; i < THREADS; ++i) {
    float* y = malloc((size_t)(rows * OUTPUTS) * sizeof *y);
    const mylos_const_array from = mylos_read_f32(x, rows, INPUTS);
    const mylos_array to = mylos_write_f32(y, rows, OUTPUTS);
    int call;
    for (call = 0; call < 20; ++call) {
      memset(y, 0, (size_t)(rows * OUTPUTS) * sizeof *y);
      wrong += mylos_model_infer(clones[i], &from, &to, MYLOS_DATA_UNITS) != MYLOS_OK;
      wrong += memcmp(y, expected, (size_t)(rows * OUTPUTS) * sizeof *y) != 0;
    }
    free(y);
  }
  if (wrong != 0) {
    fprintf(stderr, "%d wrong calls: %s\n", wrong, mylos_last_error());
    return 6;
  }
  if (omp_get_max_threads() != THREADS) return 7;
#pragma omp parallel for reduction(+ : wrong)
  for (i = 0; i < THREADS; ++i) wrong += !is_refused(mylos_model_destroy(clones[i]), "parallel region");
  if (wrong != 0) return 8;
  for (i = 1; i < THREADS; ++i)
    if (mylos_model_destroy(clones[i])) return 9;
  wrong = calls_of_one_handle(model, 1, x, expected);
  if (wrong != 0) {
    fprintf(stderr, "%d calls of a handle in use were neither right nor refused\n", wrong);
    return 10;
  }
  if (mylos_model_load_with(texts[1], &of_four, &shared)) return 12;
  wrong = calls_of_one_handle(shared, 0, x, expected);
  if (wrong != 0) {
    fprintf(stderr, "%d calls of a handle of four threads were not right: %s\n", wrong, mylos_last_error());
    return 13;
  }
  if (mylos_model_destroy(shared)) return 14;
  if (!child_is_refused(model, x, rows)) return 11;
  puts("ok"); /* exit() frees the models */
  return 0;
}
