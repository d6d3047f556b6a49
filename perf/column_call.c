/* How long a call for one column takes: mylos_model_infer() outside of and inside an OpenMP region, beside the source
 * that `mylos export` wrote of the same network. SOURCE names it.
 *
 *   column_call MODEL ROUNDS
 *
 * Doubles go in and out, on one thread. Prints the shortest times of the rounds in microseconds. */
#include <mylos/mylos.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include SOURCE

enum { inputs = 8, outputs = 3, calls = 1000 };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void require(int32_t status) {
  if (status == MYLOS_OK) return;
  fprintf(stderr, "%s\n", mylos_last_error());
  exit(status);
}

static void call_library(const mylos_model* model, const double* x, double* y) {
  const mylos_const_array in = {x, MYLOS_FP64, 2, {1, inputs}, {inputs, 1}, 0, MYLOS_C_ORDER};
  const mylos_array out = {y, MYLOS_FP64, 2, {1, outputs}, {outputs, 1}, 0, MYLOS_C_ORDER};
  require(mylos_model_infer(model, &in, &out, MYLOS_DATA_UNITS));
}

static void call_source(const mylos_model* model, const double* x, double* y) {
  float in[inputs], out[outputs];
  (void)model;
  for (int i = 0; i < inputs; ++i) in[i] = (float)x[i];
  network_evaluate(in, out);
  for (int i = 0; i < outputs; ++i) y[i] = out[i];
}

typedef void (*call_fn)(const mylos_model*, const double*, double*);

/* Makes the calls of a round, and lowers *best to the time of one if they were faster. */
static void time_calls(call_fn call, const mylos_model* model, double* y, double* best) {
  double x[inputs] = {0};
  const double start = seconds();
  for (int i = 0; i < calls; ++i) {
    x[i % inputs] = 1e-3 * i - 0.5;
    call(model, x, y);
  }
  const double microseconds = 1e6 * (seconds() - start) / calls;
  if (*best == 0 || microseconds < *best) *best = microseconds;
}

int main(int count, char** arguments) {
  double alone = 0, in_region = 0, source = 0, of_library[outputs], of_source[outputs];
  mylos_model* model;
  if (count != 3) return 2;
  require(mylos_initialize(1));
  require(mylos_model_load(arguments[1], &model));
  for (int round = 0; round < atoi(arguments[2]); ++round) {
    time_calls(call_library, model, of_library, &alone);
    time_calls(call_source, model, of_source, &source);
#pragma omp parallel num_threads(1)
    time_calls(call_library, model, of_library, &in_region);
  }
  for (int i = 0; i < outputs; ++i) {
    const double difference = of_library[i] - of_source[i];
    if (!(difference < 1e-4 && difference > -1e-4)) return 1;
  }
  printf("%.3f %.3f %.3f\n", alone, in_region, source);
  require(mylos_model_destroy(model));
  return 0;
}
