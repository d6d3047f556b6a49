/* infer MODEL INPUTS.bin OUTPUTS.bin ROWS AVERAGE.bin TYPE: the outputs of rows of floats by every kind of array, which must have
 * the bits of OUTPUTS.bin, what `mylos predict` computes; of the average of the weights, those of AVERAGE.bin. TYPE: a number of
 * mylos_type. Prints "ok". */
#include <math.h>
#include <string.h>

#include "support.h"

static void require_same(const float* expected, double found, size_t i, const char* what) {
  if ((double)expected[i] == found) return;
  fprintf(stderr, "%s: output %zu is %.9g, not %.9g\n", what, i, found, (double)expected[i]);
  exit(1);
}

static void rows_of_floats(mylos_model* model, const float* inputs, const float* expected, int64_t rows) {
  float* y = malloc((size_t)(rows * OUTPUTS) * sizeof *y);
  const mylos_const_array from = mylos_read_f32(inputs, rows, INPUTS);
  const mylos_array to = mylos_write_f32(y, rows, OUTPUTS);
  require(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK, "rows of floats");
  require(memcmp(y, expected, (size_t)(rows * OUTPUTS) * sizeof *y) == 0, "rows of floats: bits");
  free(y);
}

/* Column by column, doubles, in a section of larger arrays that it leaves alone. */
static void columns_of_doubles(mylos_model* model, const float* inputs, const float* expected, int64_t rows) {
  const int64_t x_stride = rows + 5, y_stride = rows + 3;
  double* x = calloc((size_t)(x_stride * INPUTS), sizeof *x);
  double* y = malloc((size_t)(y_stride * OUTPUTS) * sizeof *y);
  mylos_const_array from = mylos_read_f64(x, rows, INPUTS);
  mylos_array to = mylos_write_f64(y, rows, OUTPUTS);
  int64_t i, j;
  for (i = 0; i < rows; ++i)
    for (j = 0; j < INPUTS; ++j) x[i + j * x_stride] = inputs[i * INPUTS + j];
  for (i = 0; i < y_stride * OUTPUTS; ++i) y[i] = -7;
  from.strides[0] = 1;
  from.strides[1] = x_stride;
  to.strides[0] = 1;
  to.strides[1] = y_stride;
  require(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK, "columns of doubles");
  for (j = 0; j < OUTPUTS; ++j) {
    for (i = 0; i < rows; ++i)
      require_same(expected, y[i + j * y_stride], (size_t)(i * OUTPUTS + j), "columns of doubles");
    for (i = rows; i < y_stride; ++i) require(y[i + j * y_stride] == -7, "columns of doubles: what lies beside");
  }
  free(x);
  free(y);
}

/* [rows / 5, 5, 6]: samples of two dimensions. */
static void three_dimensions(mylos_model* model, const float* inputs, const float* expected, int64_t rows) {
  double* y = malloc((size_t)(rows * OUTPUTS) * sizeof *y);
  mylos_const_array from = mylos_read_f32(inputs, rows, INPUTS);
  mylos_array to = mylos_write_f64(y, rows, OUTPUTS);
  int64_t i;
  from.rank = to.rank = 3;
  from.extents[0] = to.extents[0] = rows / 5;
  from.extents[1] = to.extents[1] = 5;
  from.extents[2] = INPUTS;
  to.extents[2] = OUTPUTS;
  from.strides[0] = 5 * INPUTS;
  from.strides[1] = INPUTS;
  from.strides[2] = to.strides[2] = 1;
  to.strides[0] = 5 * OUTPUTS;
  to.strides[1] = OUTPUTS;
  require(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK, "three dimensions");
  for (i = 0; i < rows / 5 * 5 * OUTPUTS; ++i) require_same(expected, y[i], (size_t)i, "three dimensions");
  free(y);
}

static int of_halves = 0; /* whether differences of outputs are too coarse */

/* dx of one sample is the Jacobian's columns with dy, and the Jacobian that of differences. */
static void derivatives(const char* path, const float* inputs) {
  mylos_model *model, *plain;
  double x[INPUTS], dx[INPUTS], above[OUTPUTS], below[OUTPUTS], j[OUTPUTS][INPUTS];
  const double dy[OUTPUTS] = {0.5, -1, 2};
  const double step = 1e-3;
  const mylos_const_array from = mylos_read_f64(x, 1, INPUTS), seed = mylos_read_f64(dy, 1, OUTPUTS);
  const mylos_array to_x = mylos_write_f64(dx, 1, INPUTS), to_j = mylos_write_f64(&j[0][0], 1, OUTPUTS * INPUTS);
  const mylos_array up = mylos_write_f64(above, 1, OUTPUTS), down = mylos_write_f64(below, 1, OUTPUTS);
  int i, o;
  for (i = 0; i < INPUTS; ++i) x[i] = inputs[i];
  require(mylos_model_load(path, &plain) == MYLOS_OK, "load without derivatives");
  require(mylos_model_vjp(plain, &from, &seed, &to_x, MYLOS_DATA_UNITS) == MYLOS_BAD_INPUT, "no derivatives");
  require(strcmp(mylos_last_error_id(), "bad-call") == 0, "their cause");
  require(mylos_model_load_with_derivatives(path, NULL, &model) == MYLOS_OK, "load with derivatives");
  require(mylos_model_vjp(model, &from, &seed, &to_x, MYLOS_DATA_UNITS) == MYLOS_OK, "vjp");
  require(mylos_model_jacobian(model, &from, &to_j, MYLOS_DATA_UNITS) == MYLOS_OK, "jacobian");
  for (i = 0; i < INPUTS; ++i) {
    const double at = x[i];
    double sum = 0;
    for (o = 0; o < OUTPUTS; ++o) sum += dy[o] * j[o][i];
    require(fabs(dx[i] - sum) <= 1e-5 * (fabs(sum) + 1), "a product with the Jacobian");
    x[i] = at + step;
    require(mylos_model_infer(plain, &from, &up, MYLOS_DATA_UNITS) == MYLOS_OK, "above");
    x[i] = at - step;
    require(mylos_model_infer(plain, &from, &down, MYLOS_DATA_UNITS) == MYLOS_OK, "below");
    x[i] = at;
    for (o = 0; o < OUTPUTS; ++o) 
      require(fabs((above[o] - below[o]) / (2 * step) - j[o][i]) <= 0.02 * (fabs(j[o][i]) + 1) || of_halves,
              "a difference");
  }
  require(mylos_model_destroy(plain) == MYLOS_OK && mylos_model_destroy(model) == MYLOS_OK, "destroy both");
}

/* In double, outputs are those in float but for its rounding, and jvp is the Jacobian's product within that of double. */
static void in_double(const char* path, const float* inputs) {
  mylos_model *model, *plain;
  mylos_model_info info;
  double x[INPUTS], y[OUTPUTS], in_float[OUTPUTS], dx[INPUTS], dy[OUTPUTS], j[OUTPUTS][INPUTS];
  const mylos_const_array from = mylos_read_f64(x, 1, INPUTS), along = mylos_read_f64(dx, 1, INPUTS);
  const mylos_array to_y = mylos_write_f64(y, 1, OUTPUTS), to_dy = mylos_write_f64(dy, 1, OUTPUTS);
  const mylos_array to_float = mylos_write_f64(in_float, 1, OUTPUTS);
  const mylos_array to_j = mylos_write_f64(&j[0][0], 1, OUTPUTS * INPUTS);
  int i, o;
  for (i = 0; i < INPUTS; ++i) {
    x[i] = inputs[i];
    dx[i] = 0.1 * i - 0.2;
  }
  require(mylos_model_load(path, &plain) == MYLOS_OK, "load in float");
  require(mylos_model_load_in_double(path, NULL, 1, &model) == MYLOS_OK, "load in double");
  require(mylos_model_get_info(model, &info) == MYLOS_OK && info.type == MYLOS_FP64, "its type");
  require(mylos_model_infer(model, &from, &to_y, MYLOS_DATA_UNITS) == MYLOS_OK, "infer in double");
  require(mylos_model_infer(plain, &from, &to_float, MYLOS_DATA_UNITS) == MYLOS_OK, "infer in float");
  require(mylos_model_jvp(model, &from, &along, &to_dy, MYLOS_DATA_UNITS) == MYLOS_OK, "jvp in double");
  require(mylos_model_jacobian(model, &from, &to_j, MYLOS_DATA_UNITS) == MYLOS_OK, "jacobian in double");
  for (o = 0; o < OUTPUTS; ++o) {
    double sum = 0, largest = 0;
    for (i = 0; i < INPUTS; ++i) {
      sum += j[o][i] * dx[i];
      largest += fabs(j[o][i] * dx[i]);
    }
    require(fabs(dy[o] - sum) <= 1e-14 * largest, "a product with the Jacobian in double");
    require(fabs(y[o] - in_float[o]) <= (of_halves ? 0.1 : 1e-4) * (fabs(y[o]) + 1), "outputs near those in float");
    require(y[o] != (double)(float)y[o], "an output in double");
  }
  require(mylos_model_destroy(model) == MYLOS_OK && mylos_model_destroy(plain) == MYLOS_OK, "destroy the double one");
  require(mylos_model_load_in_double(path, NULL, 2, &model) == MYLOS_BAD_INPUT && model == NULL, "a flag of 2");
}

int main(int count, char** texts) {
  mylos_model *model, *clone;
  mylos_model_info info;
  mylos_bytes bytes;
  int64_t rows;
  float *inputs, *expected;
  float* of_average;
  const mylos_load_options average = {1, 0, 0};
  require(count == 7, "six arguments");
  rows = atol(texts[4]);
  inputs = read_floats(texts[2], (size_t)(rows * INPUTS));
  expected = read_floats(texts[3], (size_t)(rows * OUTPUTS));
  require(mylos_abi_version() == MYLOS_ABI_VERSION && strlen(mylos_version()) > 0, "versions");
  require(mylos_model_memory_of(texts[1], NULL, &bytes) == MYLOS_OK && bytes.weights > 0, "memory_of");
  require(mylos_model_load(texts[1], &model) == MYLOS_OK, "load");
  require(mylos_model_get_info(model, &info) == MYLOS_OK, "info");
  require(info.inputs == INPUTS && info.outputs == OUTPUTS && info.input_rank == 1 && info.input_shape[0] == INPUTS,
          "sizes");
  require(info.type == atoi(texts[6]), "the type of the first layer");
  require(info.bytes.weights == bytes.weights && info.bytes.workspace == bytes.workspace, "stated bytes");
  require(info.input_names == INPUTS && strcmp(mylos_model_name(model, MYLOS_INPUT_NAMES, 5), "x5") == 0, "input names");
  require(info.target_names == OUTPUTS && strcmp(mylos_model_name(model, MYLOS_TARGET_NAMES, 0), "y0") == 0,
          "target names");
  require(mylos_model_name(model, MYLOS_INPUT_NAMES, INPUTS) == NULL, "no more names");
  require(mylos_model_name(model, MYLOS_INPUT_NAMES, -1) == NULL, "no name before the first");

  rows_of_floats(model, inputs, expected, rows);
  columns_of_doubles(model, inputs, expected, rows);
  three_dimensions(model, inputs, expected, rows);
  rows_of_floats(model, inputs, expected, 1);
  rows_of_floats(model, inputs, expected, 0);
  of_halves = info.type != MYLOS_FP32;
  derivatives(texts[1], inputs);
  in_double(texts[1], inputs);
  require(mylos_model_clone(model, &clone) == MYLOS_OK, "clone");
  require(mylos_model_destroy(model) == MYLOS_OK, "destroy");
  rows_of_floats(clone, inputs, expected, rows);
  require(mylos_model_destroy(clone) == MYLOS_OK, "destroy the clone");
  of_average = read_floats(texts[5], (size_t)(rows * OUTPUTS));
  require(memcmp(of_average, expected, (size_t)(rows * OUTPUTS) * sizeof *expected) != 0, "the average is another network");
  require(mylos_model_load_with(texts[1], &average, &model) == MYLOS_OK, "load the average");
  rows_of_floats(model, inputs, of_average, rows);
  require(mylos_model_destroy(model) == MYLOS_OK, "destroy the average");
  free(of_average);
  free(inputs);
  free(expected);
  puts("ok");
  return 0;
}
