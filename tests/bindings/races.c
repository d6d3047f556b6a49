/* races MODEL THREADS CALLS: pthreads call one model at the same time, and clones of it: values, gradients and Jacobians, each with the
 * bits of a call alone. For race detectors that know pthreads but no OpenMP: each call computes on its calling thread. Prints "ok". */
#include <mylos/mylos.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Work {
  const mylos_model* model;
  int64_t inputs, outputs;
  const float *x, *expected; /* of values, gradient and Jacobian, one after the other */
  int calls, wrong;
} Work;

static size_t length(const Work* work) { return (size_t)(work->outputs + work->inputs + work->outputs * work->inputs); }

/* Writes the values, the gradient of their sum and the Jacobian of one sample. */
static int compute(const Work* work, float* results) {
  const mylos_const_array x = mylos_read_f32(work->x, 1, work->inputs);
  float* const gradient = results + work->outputs;
  const mylos_array y = mylos_write_f32(results, 1, work->outputs);
  const mylos_array dx = mylos_write_f32(gradient, 1, work->inputs);
  const mylos_array j = mylos_write_f32(gradient + work->inputs, 1, work->outputs * work->inputs);
  float* ones = malloc((size_t)work->outputs * sizeof *ones);
  int64_t o;
  int failed;
  for (o = 0; o < work->outputs; ++o) ones[o] = 1;
  {
    const mylos_const_array dy = mylos_read_f32(ones, 1, work->outputs);
    failed = mylos_model_infer(work->model, &x, &y, MYLOS_DATA_UNITS) != MYLOS_OK ||
             mylos_model_vjp(work->model, &x, &dy, &dx, MYLOS_DATA_UNITS) != MYLOS_OK ||
             mylos_model_jacobian(work->model, &x, &j, MYLOS_DATA_UNITS) != MYLOS_OK;
  }
  free(ones);
  return failed;
}

static void* call(void* argument) {
  Work* const work = argument;
  const size_t bytes = length(work) * sizeof(float);
  float* results = malloc(bytes);
  int i;
  for (i = 0; i < work->calls; ++i) {
    memset(results, 0, bytes);
    work->wrong += compute(work, results) || memcmp(results, work->expected, bytes) != 0;
  }
  free(results);
  return NULL;
}

int main(int count, char** texts) {
  const int threads = count == 4 ? atoi(texts[2]) : 0;
  mylos_load_options options = {0};
  mylos_model *model, *clone;
  mylos_model_info info;
  pthread_t* started;
  Work *works, first = {0};
  float *x, *expected;
  int i, wrong = 0;
  if (threads < 1) return 2;
  options.threads = threads;
  if (mylos_initialize(1) || mylos_model_load_with_derivatives(texts[1], &options, &model)) return 3;
  if (mylos_model_clone(model, &clone) || mylos_model_get_info(model, &info)) return 4;
  first.model = model;
  first.inputs = info.inputs;
  first.outputs = info.outputs;
  first.calls = atoi(texts[3]);
  x = malloc((size_t)info.inputs * sizeof *x);
  for (i = 0; i < info.inputs; ++i) x[i] = (float)(0.1 * i + 0.05);
  expected = calloc(length(&first), sizeof *expected);
  first.x = x;
  if (compute(&first, expected)) {
    fprintf(stderr, "%s\n", mylos_last_error());
    return 5;
  }
  first.expected = expected;
  started = malloc((size_t)threads * sizeof *started);
  works = malloc((size_t)threads * sizeof *works);
  for (i = 0; i < threads; ++i) {
    works[i] = first;
    works[i].model = i % 4 == 3 ? clone : model;
    if (pthread_create(&started[i], NULL, call, &works[i])) return 6;
  }
  for (i = 0; i < threads; ++i) {
    pthread_join(started[i], NULL);
    wrong += works[i].wrong;
  }
  free(started);
  free(works);
  free(expected);
  free(x);
  if (mylos_model_destroy(clone) || mylos_model_destroy(model)) return 7;
  if (wrong != 0) {
    fprintf(stderr, "%d wrong calls\n", wrong);
    return 8;
  }
  puts("ok");
  return 0;
}
