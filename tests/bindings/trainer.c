/* trainer DECK: under MPI. A step of own loss (mean squared error by forward, backward, apply) makes the weights of
 * mylos_trainer_step(), bit for bit; a checkpoint continues them; refusals come back on all ranks; boxes of fields train as
 * whole ones do. Rank 0 prints "ok". */
#include <mpi.h>
#include <mylos/mylos.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 6, OUTPUTS = 3, SAMPLES = 16, STEPS = 50, HEAD = OUTPUTS * 16 };

static void require_(int line, int condition) {
  if (condition) return;
  fprintf(stderr, "line %d [%s: %s]\n", line, mylos_last_error_id(), mylos_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define require(condition) require_(__LINE__, condition)

static double x[SAMPLES * INPUTS], t[SAMPLES * OUTPUTS];

static void make_samples(int rank, int step) {
  int i, j;
  srand((unsigned)(1000 * rank + step));
  for (i = 0; i < SAMPLES; ++i) {
    for (j = 0; j < INPUTS; ++j) x[i * INPUTS + j] = 2.0 * rand() / RAND_MAX - 1;
    for (j = 0; j < OUTPUTS; ++j) t[i * OUTPUTS + j] = x[i * INPUTS + j] * x[i * INPUTS + j + 1];
  }
}

/* Returns this rank's part of the loss: the sum of its samples' mean squared errors. */
static double own_step(mylos_trainer* trainer, mylos_step_report* report) {
  float y[SAMPLES * OUTPUTS], dy[SAMPLES * OUTPUTS], dx[SAMPLES * INPUTS];
  const mylos_const_array from = mylos_read_f64(x, SAMPLES, INPUTS);
  const mylos_array to = mylos_write_f32(y, SAMPLES, OUTPUTS);
  const mylos_const_array loss = mylos_read_f32(dy, SAMPLES, OUTPUTS);
  const mylos_array adjoints = mylos_write_f32(dx, SAMPLES, INPUTS);
  const float factor = 1.0f / OUTPUTS; /* of a mean over all samples */
  mylos_apply_options apply = {0, 1, 0, 0};
  float gradient[HEAD];
  double squares = 0;
  int i;
  require(mylos_trainer_forward(trainer, &from, &to) == MYLOS_OK);
  for (i = 0; i < SAMPLES * OUTPUTS; ++i) {
    dy[i] = factor * (2.0f * (y[i] - (float)t[i]));
    apply.loss += (y[i] - t[i]) * (y[i] - t[i]) / OUTPUTS;
  }
  require(mylos_trainer_backward(trainer, &loss, &adjoints) == MYLOS_OK);
  require(mylos_trainer_read_gradient(trainer, "head/weight", gradient, HEAD) == MYLOS_OK);
  for (i = 0; i < HEAD; ++i) squares += (double)gradient[i] * gradient[i];
  require(squares > 0);
  require(mylos_trainer_apply(trainer, &apply, report) == MYLOS_OK);
  return apply.loss;
}

static void require_same_head(mylos_trainer* a, mylos_trainer* b) {
  float first[HEAD], second[HEAD];
  require(mylos_trainer_read_parameter(a, "head/weight", first, HEAD) == MYLOS_OK);
  require(mylos_trainer_read_parameter(b, "head/weight", second, HEAD) == MYLOS_OK);
  require(memcmp(first, second, sizeof first) == 0);
}

static void refusals(mylos_trainer* trainer, int rank) {
  const mylos_const_array from = mylos_read_f64(x, SAMPLES, INPUTS);
  mylos_const_array targets = mylos_read_f64(t, SAMPLES, OUTPUTS);
  float head[HEAD];
  mylos_parameter parameter;
  mylos_apply_options apply = {0, 0, 0, 0};
  if (rank == 0) targets.strides[1] = 0; /* one rank's mistake is an error of all */
  require(mylos_trainer_step(trainer, &from, &targets, NULL) == MYLOS_BAD_INPUT);
  targets.strides[1] = -1;
  require(mylos_trainer_step(trainer, &from, &targets, NULL) == MYLOS_BAD_INPUT);
  targets.order = MYLOS_FORTRAN_ORDER;
  targets.strides[1] = 1;
  targets.extents[1] = OUTPUTS + 1;
  require(mylos_trainer_step(trainer, &from, &targets, NULL) == MYLOS_BAD_INPUT);
  require(strstr(mylos_last_error(), "targets is (4, 16)") != NULL && strstr(mylos_last_error(), "first dimension") != NULL);
  targets = mylos_read_f64(t, SAMPLES, OUTPUTS - 1);
  require(mylos_trainer_step(trainer, &from, &targets, NULL) == MYLOS_BAD_INPUT);
  require(mylos_trainer_step(trainer, &from, rank == 0 ? NULL : &targets, NULL) == MYLOS_BAD_INPUT);
  require(mylos_trainer_read_parameter(trainer, "no/weight", head, HEAD) == MYLOS_BAD_INPUT);
  require(strcmp(mylos_last_error_id(), "unknown-name") == 0 && strstr(mylos_last_error(), "head/weight") != NULL);
  require(mylos_trainer_read_parameter(trainer, "head/weight", head, HEAD - 1) == MYLOS_BAD_INPUT);
  require(mylos_trainer_write_parameter(trainer, "head/weight", NULL, HEAD) == MYLOS_BAD_INPUT);
  apply.has_lr = 2;
  require(mylos_trainer_apply(trainer, &apply, NULL) == MYLOS_BAD_INPUT && strstr(mylos_last_error(), "has_lr is 2") != NULL);
  require(mylos_trainer_read_gradient(trainer, "head/weight", head, HEAD) == MYLOS_BAD_INPUT);
  require(strstr(mylos_last_error(), "backward()") != NULL);
  require(mylos_trainer_get_parameter(trainer, 99, &parameter) == MYLOS_BAD_INPUT);
  require(mylos_trainer_get_parameter(trainer, -1, &parameter) == MYLOS_BAD_INPUT);
  require(mylos_trainer_load(trainer, "nowhere.h5") == MYLOS_BAD_INPUT);
  require(mylos_trainer_load(trainer, NULL) != MYLOS_OK);
  require(mylos_trainer_save(trainer, NULL) != MYLOS_OK);
}

/* An overflow of the last rank skips the step on all; its number is in the report. */
static void overflow(mylos_trainer* trainer, int rank, int ranks) {
  const mylos_const_array from = mylos_read_f64(x, SAMPLES, INPUTS);
  const mylos_const_array targets = mylos_read_f64(t, SAMPLES, OUTPUTS);
  const double before = t[0];
  mylos_step_report report;
  if (rank == ranks - 1) t[0] = 1e300; /* infinite as a float */
  require(mylos_trainer_step(trainer, &from, &targets, &report) == MYLOS_OK);
  require(report.updated == 0 && report.overflow_rank == ranks - 1);
  t[0] = before;
}

enum { HIGH = 12, WIDE = 4, FIELD = HIGH * WIDE, FIELDS = 2, WEIGHTS = 9 };

/* Each rank passes its box of fields (mesh.space): rows of them. One rank alone trains on whole fields. */
static void boxes(int rank, int ranks) {
  static const char text[] =
      "[model]\ntype = 'chain'\ninputs = 48\noutputs = 48\nloss = 'mse'\n[[model.layers]]\nkind = 'conv'\n"
      "name = 'only'\noutputs = 1\nkernel = 3\n[data]\nshape = [12, 4, 1]\nmicro_batch = 2\n[run]\nname = 'boxes'\n"
      "steps = 10\n[precision]\ncompute = 'fp32'\n[optimizer]\ntype = 'sgd'\nlr = 0.1\n";
  const int columns = FIELD / ranks;
  float whole_x[FIELDS * FIELD], box_x[FIELDS * FIELD], whole_y[FIELDS * FIELD], box_y[FIELDS * FIELD];
  float a[WEIGHTS], b[WEIGHTS];
  const mylos_const_array whole_from = mylos_read_f32(whole_x, FIELDS, FIELD);
  const mylos_array whole_to = mylos_write_f32(whole_y, FIELDS, FIELD);
  mylos_const_array from = mylos_read_f32(box_x, FIELDS, columns);
  const mylos_array to = mylos_write_f32(box_y, FIELDS, columns);
  mylos_trainer *whole, *divided;
  mylos_trainer_info info;
  mylos_step_report of_whole, of_boxes;
  char deck[sizeof text + 64];
  int i, j, step;
  sprintf(deck, "%s[mesh]\nspace = [%d, 1]\n", text, ranks);
  require(mylos_trainer_create_text(text, MPI_COMM_SELF, NULL, &whole) == MYLOS_OK);
  require(mylos_trainer_create_text(deck, MPI_COMM_WORLD, NULL, &divided) == MYLOS_OK);
  require(mylos_trainer_get_info(divided, &info) == MYLOS_OK);
  require(info.inputs == columns && info.outputs == columns && info.max_samples == 2);
  srand(7);
  for (i = 0; i < FIELDS * FIELD; ++i) whole_x[i] = 2.0f * (float)rand() / (float)RAND_MAX - 1;
  for (i = 0; i < FIELDS; ++i)
    for (j = 0; j < columns; ++j) box_x[i * columns + j] = whole_x[i * FIELD + rank * columns + j];
  for (step = 0; step < 4; ++step) {
    require(mylos_trainer_step(whole, &whole_from, &whole_from, &of_whole) == MYLOS_OK);
    require(mylos_trainer_step(divided, &from, &from, &of_boxes) == MYLOS_OK);
    require(of_boxes.samples == FIELDS && of_boxes.updated);
    require(of_boxes.loss > 0.9999 * of_whole.loss && of_boxes.loss < 1.0001 * of_whole.loss);
  }
  require(mylos_trainer_read_parameter(whole, "only/weight", a, WEIGHTS) == MYLOS_OK);
  require(mylos_trainer_read_parameter(divided, "only/weight", b, WEIGHTS) == MYLOS_OK);
  for (i = 0; i < WEIGHTS; ++i) require(a[i] - b[i] < 1e-5f && b[i] - a[i] < 1e-5f);
  require(mylos_trainer_infer(whole, &whole_from, &whole_to) == MYLOS_OK);
  require(mylos_trainer_infer(divided, &from, &to) == MYLOS_OK);
  for (i = 0; i < FIELDS; ++i) {
    for (j = 0; j < columns; ++j) {
      const float difference = box_y[i * columns + j] - whole_y[i * FIELD + rank * columns + j];
      require(difference < 1e-4f && difference > -1e-4f);
    }
  }
  if (rank == ranks - 1) from = mylos_read_f32(box_x, FIELDS, columns - 1); /* refused on all ranks */
  require(mylos_trainer_infer(divided, &from, &to) == MYLOS_BAD_INPUT);
  require(mylos_trainer_destroy(divided) == MYLOS_OK && mylos_trainer_destroy(whole) == MYLOS_OK);
}

static int lines = 0;
static void count_line(const char* text, void* context) {
  lines += text != NULL && context == &lines;
}

int main(int count, char** texts) {
  int rank, ranks, step;
  mylos_trainer *by_step, *by_parts, *wrong;
  mylos_trainer_options options = {1, 1, count_line, NULL};
  mylos_trainer_info info;
  mylos_step_report a, b;
  mylos_parameter parameter;
  float y[SAMPLES * OUTPUTS];
  const mylos_const_array from = mylos_read_f64(x, SAMPLES, INPUTS);
  const mylos_const_array targets = mylos_read_f64(t, SAMPLES, OUTPUTS);
  const mylos_array to = mylos_write_f32(y, SAMPLES, OUTPUTS);
  int provided;
  double loss;
  require(count == 2);
  require(mylos_trainer_create(texts[1], MPI_COMM_WORLD, NULL, &wrong) == MYLOS_FAILED && wrong == NULL);
  require(strcmp(mylos_last_error_id(), "bad-call") == 0 && strstr(mylos_last_error(), "MPI is not running") != NULL);
  MPI_Init_thread(&count, &texts, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  options.context = &lines;
  require(mylos_trainer_create("nowhere.toml", MPI_COMM_WORLD, NULL, &wrong) == MYLOS_BAD_INPUT && wrong == NULL);
  require(mylos_trainer_create_text("[model]\nwrong = 1\n", MPI_COMM_WORLD, NULL, &wrong) == MYLOS_BAD_INPUT);
  require(strcmp(mylos_last_error_id(), "unknown-key") == 0);
  require(mylos_trainer_create(texts[1], MPI_COMM_NULL, NULL, &wrong) == MYLOS_BAD_INPUT);
  require(mylos_trainer_create_f(texts[1], 12345, NULL, &wrong) == MYLOS_BAD_INPUT && wrong == NULL);
  require(strcmp(mylos_last_error_id(), "bad-call") == 0 && strstr(mylos_last_error(), "12345 is no communicator") != NULL);
  require(mylos_trainer_create_f(texts[1], -7, NULL, &wrong) == MYLOS_BAD_INPUT);
  require(mylos_trainer_create(texts[1], MPI_COMM_WORLD, NULL, &by_step) == MYLOS_OK);
  require(mylos_trainer_create(texts[1], MPI_COMM_WORLD, &options, &by_parts) == MYLOS_OK);
  require(lines > 0 || rank > 0);
  require(mylos_trainer_get_info(by_step, &info) == MYLOS_OK && info.inputs == INPUTS && info.outputs == OUTPUTS);
  require(info.max_samples == 32 && info.parameters == 6);
  require(mylos_trainer_get_parameter(by_step, 0, &parameter) == MYLOS_OK && strchr(parameter.name, '/') != NULL);

  for (step = 1; step <= STEPS; ++step) {
    make_samples(rank, step);
    require(mylos_trainer_step(by_step, &from, &targets, &a) == MYLOS_OK);
    loss = own_step(by_parts, &b);
    require(a.step == (uint64_t)step && a.samples == ranks * SAMPLES && a.updated == b.updated);
    require((a.overflow_rank == -1) == (a.updated == 1) && b.overflow_rank == a.overflow_rank);
    MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    loss /= ranks * SAMPLES;
    require(b.loss > 0.9999 * loss && b.loss < 1.0001 * loss);
  }
  require_same_head(by_step, by_parts);
  refusals(by_step, rank);
  overflow(by_step, rank, ranks);

  require(mylos_trainer_save(by_step, "trained.h5") == MYLOS_OK);
  require(mylos_trainer_load(by_parts, "trained.h5") == MYLOS_OK);
  require(mylos_trainer_step(by_step, &from, &targets, &a) == MYLOS_OK);
  require(mylos_trainer_step(by_parts, &from, &targets, &b) == MYLOS_OK);
  require(a.loss == b.loss && a.step == STEPS + 2);
  require_same_head(by_step, by_parts);
  require(mylos_trainer_infer(by_step, &from, &to) == MYLOS_OK);
  boxes(rank, ranks);

  require(mylos_trainer_destroy(by_parts) == MYLOS_OK);
  MPI_Finalize();
  require(mylos_trainer_create_text("", MPI_COMM_WORLD, NULL, &wrong) == MYLOS_FAILED && wrong == NULL);
  require(mylos_trainer_infer(by_step, &from, &to) == MYLOS_FAILED);
  require(strcmp(mylos_last_error_id(), "bad-call") == 0 && strstr(mylos_last_error(), "MPI") != NULL);
  require(mylos_trainer_destroy(by_step) == MYLOS_OK);
  if (rank == 0) puts("ok");
  return 0;
}
