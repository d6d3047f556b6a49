/* refusals MODEL: every wrong call, with the status and the cause that it must have. Prints "ok". */
#include <mylos/mylos.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 6, OUTPUTS = 3, ROWS = 4 };

static void refused_(int line, int32_t status, int32_t expected, const char* id, const char* part) {
  if (status == expected && strcmp(mylos_last_error_id(), id) == 0 && strstr(mylos_last_error(), part) != NULL) return;
  fprintf(stderr, "line %d: status %d [%s] %s\n", line, (int)status, mylos_last_error_id(), mylos_last_error());
  exit(1);
}
#define refused(status, expected, id, part) refused_(__LINE__, status, expected, id, part)

static void accepted_(int line, int32_t status) {
  if (status == MYLOS_OK) return;
  fprintf(stderr, "line %d: status %d [%s] %s\n", line, (int)status, mylos_last_error_id(), mylos_last_error());
  exit(1);
}
#define accepted(status) accepted_(__LINE__, status)

static void wrong_loads(const char* path) {
  mylos_model* model = NULL;
  mylos_load_options options = {0, 0, -1}, seven = {7, 0, 0}, none = {0, -1, 0};
  const int64_t shape[3] = {2, 3, INPUTS};
  refused(mylos_model_open(MYLOS_ABI_VERSION + 1, path, NULL, &model), MYLOS_BAD_INPUT, "unknown-version", "ABI");
  refused(mylos_initialize_abi(0, 1), MYLOS_BAD_INPUT, "unknown-version", "ABI");
  refused(mylos_model_load("nowhere.h5", &model), MYLOS_BAD_INPUT, "no-such-file", "nowhere.h5");
  if (model != NULL) exit(2);
  refused(mylos_model_load(NULL, &model), MYLOS_BAD_INPUT, "bad-call", "path");
  refused(mylos_model_load(path, NULL), MYLOS_BAD_INPUT, "bad-call", "handle");
  refused(mylos_model_load_with(path, &options, &model), MYLOS_BAD_INPUT, "bad-call", "max_samples");
  refused(mylos_model_load_with(path, &seven, &model), MYLOS_BAD_INPUT, "bad-call", "average is 7");
  refused(mylos_model_load_with(path, &none, &model), MYLOS_BAD_INPUT, "bad-call", "threads is -1");
  refused(mylos_model_load_on_grid(path, NULL, 3, NULL, &model), MYLOS_BAD_INPUT, "bad-call", "shape");
  refused(mylos_model_load_on_grid(path, NULL, 1, shape, &model), MYLOS_BAD_INPUT, "bad-call", "rank is 1");
  refused(mylos_model_load_on_grid(path, NULL, 3, shape, &model), MYLOS_BAD_INPUT, "data-mismatch", "2 x 3 x 6");
  refused(mylos_model_memory_of("nowhere.h5", NULL, NULL), MYLOS_BAD_INPUT, "bad-call", "bytes");
  refused(mylos_initialize(-1), MYLOS_BAD_INPUT, "bad-call", "-1 threads");
  refused(mylos_initialize(100000), MYLOS_BAD_INPUT, "bad-call", "100000 threads");
}

static void wrong_handles(mylos_model* model) {
  double x[ROWS * INPUTS] = {0}, y[ROWS * OUTPUTS] = {0};
  const mylos_const_array from = mylos_read_f64(x, ROWS, INPUTS);
  const mylos_array to = mylos_write_f64(y, ROWS, OUTPUTS);
  mylos_model* clone = NULL;
  mylos_model_info info;
  refused(mylos_model_infer(NULL, &from, &to, 0), MYLOS_BAD_INPUT, "bad-call", "null");
  refused(mylos_model_get_info(NULL, &info), MYLOS_BAD_INPUT, "bad-call", "null");
  refused(mylos_model_clone(NULL, &clone), MYLOS_BAD_INPUT, "bad-call", "null");
  refused(mylos_model_get_info(model, NULL), MYLOS_BAD_INPUT, "bad-call", "info");
  refused(mylos_model_infer((mylos_model*)&info, &from, &to, 0), MYLOS_BAD_INPUT, "bad-call", "not one of");
  refused(mylos_trainer_save((mylos_trainer*)model, "x.h5"), MYLOS_BAD_INPUT, "bad-call", "not one of");
  if (mylos_model_name(NULL, MYLOS_INPUT_NAMES, 0) != NULL) exit(2);
  refused(MYLOS_BAD_INPUT, MYLOS_BAD_INPUT, "bad-call", "null");
  if (mylos_model_name(model, 9, 0) != NULL) exit(2);
  refused(MYLOS_BAD_INPUT, MYLOS_BAD_INPUT, "bad-call", "9");
  accepted(mylos_model_clone(model, &clone));
  accepted(mylos_model_destroy(clone));
  refused(mylos_model_destroy(clone), MYLOS_BAD_INPUT, "bad-call", "destroyed");
  refused(mylos_model_infer(clone, &from, &to, 0), MYLOS_BAD_INPUT, "bad-call", "destroyed");
  accepted(mylos_model_destroy(NULL));
}

static void wrong_arrays(mylos_model* model) {
  double x[ROWS * INPUTS + OUTPUTS] = {0}, y[ROWS * OUTPUTS];
  mylos_const_array from = mylos_read_f64(x, ROWS, INPUTS);
  mylos_array to = mylos_write_f64(y, ROWS, OUTPUTS);
  int i;
  for (i = 0; i < ROWS * OUTPUTS; ++i) y[i] = -7;
#define WRONG(change, back, part) \
  change;                         \
  refused(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS), MYLOS_BAD_INPUT, "bad-call", part); \
  back
  WRONG(from.data = NULL, from.data = x, "x: the data pointer is null");
  WRONG(to.data = NULL, to.data = y, "y: the data pointer is null");
  WRONG(from.rank = 0, from.rank = 2, "rank 0");
  WRONG(from.rank = 6, from.rank = 2, "rank 6");
  WRONG(from.type = 17, from.type = MYLOS_FP64, "17");
  WRONG(from.extents[0] = -1, from.extents[0] = ROWS, "extent -1");
  WRONG(from.extents[0] = INT64_MAX, from.extents[0] = ROWS, "extent");
  WRONG((from.rank = 4, from.extents[1] = from.extents[2] = INT64_C(1) << 40, from.extents[3] = INPUTS), /* 2^80 elements */
        (from.rank = 2, from.extents[1] = INPUTS), "extent 1099511627776 of dimension 2");
  WRONG((from.extents[0] = INT64_C(1) << 40, from.strides[0] = INT64_C(1) << 40),
        (from.extents[0] = ROWS, from.strides[0] = INPUTS), "stride 1099511627776 of dimension 0");
  WRONG(from.order = 3, from.order = 0, "mylos_order");
  WRONG((from.order = MYLOS_FORTRAN_ORDER, from.extents[0] = -1), (from.order = 0, from.extents[0] = ROWS), "of dimension 2");
  WRONG(from.strides[1] = 0, from.strides[1] = 1, "stride 0");
  WRONG(to.strides[0] = -3, to.strides[0] = OUTPUTS, "stride -3");
  WRONG(to.on_device = 1, to.on_device = 0, "device");
  WRONG(to.on_device = 5, to.on_device = 0, "on_device is 5");
#undef WRONG
  refused(mylos_model_infer(model, NULL, &to, 0), MYLOS_BAD_INPUT, "bad-call", "x");
  refused(mylos_model_infer(model, &from, NULL, 0), MYLOS_BAD_INPUT, "bad-call", "y");
  refused(mylos_model_infer(model, &from, &to, 5), MYLOS_BAD_INPUT, "bad-call", "units");
  from = mylos_read_f64(x, ROWS, INPUTS - 1); /* the names that the model has are listed */
  if (mylos_model_infer(model, &from, &to, 0) != MYLOS_BAD_INPUT || strstr(mylos_last_error(), "x5") == NULL) {
    fprintf(stderr, "wrong features: %s\n", mylos_last_error());
    exit(1);
  }
  from = mylos_read_f64(x, ROWS - 1, INPUTS);
  if (mylos_model_infer(model, &from, &to, 0) != MYLOS_BAD_INPUT) exit(3);
  from = mylos_read_f64(x, ROWS, INPUTS); /* arrays that overlap */
  to = mylos_write_f64(x + 2, ROWS, OUTPUTS);
  if (mylos_model_infer(model, &from, &to, 0) != MYLOS_BAD_INPUT) exit(4);
  for (i = 0; i < ROWS * OUTPUTS; ++i)
    if (y[i] != -7) exit(5); /* nothing is written */
}

static void wrong_trainers(void) {
  mylos_trainer* trainer = NULL;
  mylos_trainer_info info;
  refused(mylos_trainer_create_f("deck.toml", 0, NULL, &trainer), MYLOS_FAILED, "bad-call", "MPI is not running");
  refused(mylos_trainer_create_f("deck.toml", 0, NULL, NULL), MYLOS_BAD_INPUT, "bad-call", "handle");
  refused(mylos_trainer_open(7, "deck.toml", 0, 0, NULL, &trainer), MYLOS_BAD_INPUT, "unknown-version", "7");
  refused(mylos_trainer_get_info(NULL, &info), MYLOS_BAD_INPUT, "bad-call", "null");
  refused(mylos_trainer_apply(NULL, NULL, NULL), MYLOS_BAD_INPUT, "bad-call", "null");
  accepted(mylos_trainer_destroy(NULL));
}

int main(int count, char** texts) {
  mylos_model *model, *late;
  mylos_model_info info;
  if (count != 2 || strcmp(mylos_last_error(), "") != 0 || strcmp(mylos_last_error_id(), "") != 0) return 2;
  wrong_loads(texts[1]);
  accepted(mylos_model_load(texts[1], &model));
  wrong_handles(model);
  wrong_arrays(model);
  wrong_trainers();

  accepted(mylos_finalize());
  accepted(mylos_finalize());
  refused(mylos_model_get_info(model, &info), MYLOS_FAILED, "bad-call", "ended");
  refused(mylos_model_load(texts[1], &late), MYLOS_FAILED, "bad-call", "ended");
  refused(mylos_initialize(1), MYLOS_FAILED, "bad-call", "ended");
  accepted(mylos_model_destroy(model));
  puts("ok");
  return 0;
}
