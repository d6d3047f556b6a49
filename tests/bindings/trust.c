/* trust INPUTS.bin EXPECTED.bin ROWS WITHOUT.h5 MODEL.h5 MODEL2.h5 MODEL3.h5: flags of MODEL.h5 and an ensemble of the last
 * three, by every kind of array. EXPECTED.bin, of floats: [rows] flags, [rows] distances, [rows, 3] means, [rows, 3] standard
 * deviations. WITHOUT.h5 has no statistics of inputs. Prints "ok". */
#include <math.h>
#include <string.h>

#include "support.h"

static void require_near(double found, double expected, const char* what, int64_t i) {
  if (fabs(found - expected) <= 2e-6 * fabs(expected) + 1e-9) return;
  fprintf(stderr, "%s %ld is %.9g, not %.9g\n", what, (long)i, found, expected);
  exit(1);
}

static void flags_of_rows(mylos_model* model, const float* inputs, const float* expected, int64_t rows) {
  const mylos_const_array x = mylos_read_f32(inputs, rows, INPUTS);
  uint8_t* flags = malloc((size_t)rows + 1);
  double* distances = malloc((size_t)rows * sizeof *distances);
  mylos_array far = mylos_write_f64(distances, rows, 1);
  int64_t i, flagged = 0;
  far.rank = 1; /* [rows] */
  flags[rows] = 77;
  require(mylos_model_check_inputs(model, &x, NULL, flags, &far) == MYLOS_OK, "flags");
  for (i = 0; i < rows; ++i) {
    require(flags[i] == (uint8_t)expected[i], "a flag");
    require_near(distances[i], expected[rows + i], "distance", i);
    flagged += flags[i] != 0;
  }
  require(flags[rows] == 77 && flagged > 0 && flagged < rows, "some flags");
  free(flags);
  free(distances);
}

/* [rows / 5, 5, 6], the first dimension fastest: the flags follow each other in the order of the last dimension. */
static void flags_of_columns(mylos_model* model, const float* inputs, const float* expected, int64_t rows) {
  const int64_t outer = rows / 5;
  double* x = malloc((size_t)(outer * 5 * INPUTS) * sizeof *x);
  uint8_t* flags = malloc((size_t)rows);
  mylos_input_check check = {0, 0, 0};
  mylos_const_array from = mylos_read_f64(x, rows, INPUTS);
  int64_t i, j;
  from.rank = 3;
  from.extents[0] = outer;
  from.extents[1] = 5;
  from.extents[2] = INPUTS;
  from.strides[0] = 1;
  from.strides[1] = outer;
  from.strides[2] = outer * 5;
  for (i = 0; i < outer * 5; ++i)
    for (j = 0; j < INPUTS; ++j) x[i / 5 + i % 5 * outer + j * outer * 5] = inputs[i * INPUTS + j];
  require(mylos_model_check_inputs(model, &from, &check, flags, NULL) == MYLOS_OK, "flags of columns");
  for (i = 0; i < outer * 5; ++i) require(flags[i] == (uint8_t)expected[i], "a flag of columns");
  check.no_distance = 1;
  require(mylos_model_check_inputs(model, &from, &check, flags, NULL) == MYLOS_OK, "ranges");
  for (i = 0; i < outer * 5; ++i) require(flags[i] == ((uint8_t)expected[i] & MYLOS_OUTSIDE_RANGE), "a range");
  check.no_distance = 0;
  check.limit = 2.5;
  require(mylos_model_check_inputs(model, &from, &check, flags, NULL) == MYLOS_OK, "a limit");
  for (i = 0; i < outer * 5; ++i) require(((flags[i] & MYLOS_FAR) != 0) == (expected[rows + i] > 2.5f), "a limit's flag");
  free(x);
  free(flags);
}

static void refused(int32_t status, const char* id, const char* what) {
  require(status == MYLOS_BAD_INPUT && strcmp(mylos_last_error_id(), id) == 0, what);
}

static void refusals(mylos_model* model, mylos_model* without, const float* inputs) {
  const mylos_const_array x = mylos_read_f32(inputs, 2, INPUTS);
  float y[6], bound[6];
  const mylos_array mean = mylos_write_f32(y, 2, OUTPUTS), lower = mylos_write_f32(bound, 2, OUTPUTS);
  uint8_t flags[2];
  mylos_trust_info info;
  refused(mylos_model_check_inputs(without, &x, NULL, flags, NULL), "missing-dataset", "no statistics");
  refused(mylos_model_check_inputs(model, &x, NULL, NULL, NULL), "bad-call", "no flags");
  refused(mylos_model_check_inputs(NULL, &x, NULL, flags, NULL), "bad-call", "no model");
  refused(mylos_model_infer_uncertain(model, &x, &mean, NULL, &lower, NULL), "missing-dataset", "no calibration");
  refused(mylos_model_infer_uncertain(model, &x, &mean, &lower, NULL, NULL), "missing-dataset", "no deviations");
  refused(mylos_model_infer_uncertain(model, &x, &mean, NULL, NULL, NULL), "bad-call", "nothing to compute");
  require(mylos_model_get_trust(model, &info) == MYLOS_OK, "trust");
  require(info.has_range == 1 && info.has_distance == 1 && info.has_deviations == 0 && info.coverage == 0, "trust");
  require(info.samples > 300 && info.distances[0] > 0 && info.distances[2] >= info.distances[1], "distances");
  require(mylos_model_get_trust(without, &info) == MYLOS_OK && info.has_distance == 0 && info.samples == 0, "no trust");
}

static void ensembles(char** files, const float* inputs, const float* expected, int64_t rows) {
  mylos_ensemble *ensemble, *clone;
  mylos_model_info info;
  mylos_bytes bytes;
  const char* twice[2];
  float* mean = malloc((size_t)(rows * OUTPUTS) * sizeof *mean);
  float* deviation = malloc((size_t)(rows * OUTPUTS) * sizeof *deviation);
  uint8_t* flags = malloc((size_t)rows);
  const mylos_const_array x = mylos_read_f32(inputs, rows, INPUTS);
  const mylos_array means = mylos_write_f32(mean, rows, OUTPUTS), deviations = mylos_write_f32(deviation, rows, OUTPUTS);
  const char* const paths[3] = {files[0], files[1], files[2]};
  int64_t i;
  require(mylos_ensemble_memory_of(paths, 3, NULL, &bytes) == MYLOS_OK, "memory of an ensemble");
  require(mylos_ensemble_load(paths, 3, &ensemble) == MYLOS_OK, "ensemble");
  require(mylos_ensemble_get_info(ensemble, &info) == MYLOS_OK && info.inputs == INPUTS && info.outputs == OUTPUTS, "info");
  require(info.bytes.weights == bytes.weights && info.bytes.workspace == bytes.workspace, "stated bytes");
  require(mylos_ensemble_clone(ensemble, &clone) == MYLOS_OK && mylos_ensemble_destroy(ensemble) == MYLOS_OK, "clone");
  require(mylos_ensemble_infer(clone, &x, &means, &deviations, MYLOS_DATA_UNITS) == MYLOS_OK, "infer");
  for (i = 0; i < rows * OUTPUTS; ++i) {
    require_near(mean[i], expected[2 * rows + i], "mean", i);
    require_near(deviation[i], expected[(2 + OUTPUTS) * rows + i], "deviation", i);
  }
  require(mylos_ensemble_check_inputs(clone, 0, &x, NULL, flags, NULL) == MYLOS_OK, "flags of a member");
  for (i = 0; i < rows; ++i) require(flags[i] == (uint8_t)expected[i], "a flag of a member");
  refused(mylos_ensemble_check_inputs(clone, 3, &x, NULL, flags, NULL), "bad-call", "no such member");
  refused(mylos_ensemble_check_inputs(clone, -1, &x, NULL, flags, NULL), "bad-call", "a negative member");
  require(strstr(mylos_last_error(), "member -1 ") != NULL, "the number of the member");
  require(mylos_ensemble_destroy(clone) == MYLOS_OK && mylos_ensemble_destroy(NULL) == MYLOS_OK, "destroy");
  twice[0] = twice[1] = files[0];
  refused(mylos_ensemble_load(twice, 2, &ensemble), "bad-call", "a file twice");
  require(ensemble == NULL, "no handle");
  refused(mylos_ensemble_load(paths, 1, &ensemble), "bad-call", "one member");
  free(mean);
  free(deviation);
  free(flags);
}

/* Of the mean: those of the members, averaged. */
static void derivatives_of_ensemble(char** files, const float* inputs) {
  mylos_ensemble* ensemble;
  mylos_model* member;
  const char* const paths[3] = {files[0], files[1], files[2]};
  float dx[INPUTS], of_member[INPUTS], along[INPUTS], dy[OUTPUTS], j[OUTPUTS * INPUTS];
  double mean[INPUTS] = {0};
  const float seed[OUTPUTS] = {0.5F, -1.0F, 2.0F};
  const mylos_const_array x = mylos_read_f32(inputs, 1, INPUTS), from = mylos_read_f32(seed, 1, OUTPUTS);
  const mylos_const_array direction = mylos_read_f32(along, 1, INPUTS);
  const mylos_array to = mylos_write_f32(dx, 1, INPUTS), to_member = mylos_write_f32(of_member, 1, INPUTS);
  const mylos_array to_dy = mylos_write_f32(dy, 1, OUTPUTS), to_j = mylos_write_f32(j, 1, OUTPUTS * INPUTS);
  int i, o, m;
  memcpy(along, inputs, sizeof along);
  require(mylos_ensemble_load(paths, 3, &ensemble) == MYLOS_OK, "an ensemble without derivatives");
  refused(mylos_ensemble_vjp(ensemble, &x, &from, &to, MYLOS_DATA_UNITS), "bad-call", "no derivatives");
  require(mylos_ensemble_destroy(ensemble) == MYLOS_OK, "destroy");
  require(mylos_ensemble_load_with_derivatives(paths, 3, NULL, &ensemble) == MYLOS_OK, "with derivatives");
  require(mylos_ensemble_vjp(ensemble, &x, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK, "vjp of an ensemble");
  require(mylos_ensemble_jacobian(ensemble, &x, &to_j, MYLOS_DATA_UNITS) == MYLOS_OK, "jacobian of an ensemble");
  require(mylos_ensemble_jvp(ensemble, &x, &direction, &to_dy, MYLOS_DATA_UNITS) == MYLOS_OK, "jvp of an ensemble");
  for (m = 0; m < 3; ++m) {
    require(mylos_model_load_with_derivatives(paths[m], NULL, &member) == MYLOS_OK, "a member");
    require(mylos_model_vjp(member, &x, &from, &to_member, MYLOS_DATA_UNITS) == MYLOS_OK, "vjp of a member");
    for (i = 0; i < INPUTS; ++i) mean[i] += (double)of_member[i] / 3;
    require(mylos_model_destroy(member) == MYLOS_OK, "destroy a member");
  }
  for (i = 0; i < INPUTS; ++i) {
    double sum = 0;
    for (o = 0; o < OUTPUTS; ++o) sum += seed[o] * j[o * INPUTS + i];
    require_near(dx[i], (float)mean[i], "a mean of derivatives", i);
    require_near(dx[i], (float)sum, "a product with the Jacobian", i);
  }
  for (o = 0; o < OUTPUTS; ++o) {
    double sum = 0;
    for (i = 0; i < INPUTS; ++i) sum += inputs[i] * j[o * INPUTS + i];
    require_near(dy[o], (float)sum, "a product of the Jacobian", o);
  }
  require(mylos_ensemble_destroy(ensemble) == MYLOS_OK, "destroy");
}

int main(int count, char** texts) {
  mylos_model *model, *without;
  int64_t rows;
  float *inputs, *expected;
  require(count == 8, "seven arguments");
  rows = atol(texts[3]);
  inputs = read_floats(texts[1], (size_t)(rows * INPUTS));
  expected = read_floats(texts[2], (size_t)(rows * (2 + 2 * OUTPUTS)));
  require(mylos_model_load(texts[4], &without) == MYLOS_OK, "load without statistics");
  require(mylos_model_load(texts[5], &model) == MYLOS_OK, "load");
  flags_of_rows(model, inputs, expected, rows);
  flags_of_columns(model, inputs, expected, rows);
  refusals(model, without, inputs);
  ensembles(texts + 5, inputs, expected, rows);
  derivatives_of_ensemble(texts + 5, inputs);
  require(mylos_model_destroy(model) == MYLOS_OK && mylos_model_destroy(without) == MYLOS_OK, "destroy");
  free(inputs);
  free(expected);
  puts("ok");
  return 0;
}
