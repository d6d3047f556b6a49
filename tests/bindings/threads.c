/* threads MODEL INPUTS.bin OUTPUTS.bin ROWS: a clone per thread of an OpenMP region, where each computes the bits of OUTPUTS.bin;
 * the program's own number of threads stays. Prints "ok". */
#include <mylos/mylos.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 6, OUTPUTS = 3, THREADS = 4 };

int main(int count, char** texts) {
  mylos_model *model, *clones[THREADS];
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
  puts("ok"); /* exit() frees the models */
  return 0;
}
