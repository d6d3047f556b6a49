/* The C interface of Mylos: trained networks in programs of any language, and networks that programs train.
 *
 *   mylos_model* model;
 *   mylos_const_array x = mylos_read_f64(inputs, columns, 64);     // rows of 64 doubles
 *   mylos_array y = mylos_write_f64(outputs, columns, 32);
 *   if (mylos_model_load("closure.h5", &model) || mylos_model_infer(model, &x, &y, MYLOS_DATA_UNITS))
 *     fprintf(stderr, "%s\n", mylos_last_error());
 *   mylos_model_destroy(model);
 *
 * Link libmylos.so (pkg-config mylos, or Mylos::c of find_package(Mylos COMPONENTS C)). C99 and later, and
 * C++. docs/reference/c.md is the manual.
 *
 * Status: functions that return int32_t return a mylos_status. If it is not MYLOS_OK, mylos_last_error()
 * returns the message of the calling thread's last failure, and mylos_last_error_id() its cause by the name
 * in docs/reference/errors.md ("no-such-file"). A failed call sets the handle that it would have made to
 * NULL. The library prints nothing and never terminates the process.
 *
 * Handles: the program destroys every handle that it makes (load, clone, create). Calls with a null or
 * destroyed handle return MYLOS_BAD_INPUT ("bad-call").
 *
 * Threads: only one thread at a time may use a handle, except models: as many calls may compute with one at
 * the same time as mylos_load_options.threads says, each on its calling thread alone. A call that finds as
 * many running on the handle returns MYLOS_FAILED ("bad-call"). Threads may also each have a clone. These
 * calls may be made inside an OpenMP parallel region; all others, including the destroy functions, must be
 * made outside of parallel regions. After fork(), the child process cannot use a library that runs several
 * threads.
 *
 * Start and end: the library has a private copy of Kokkos, which the first call starts and exit() shuts down.
 * See mylos_initialize() and mylos_finalize(). Inference does not use MPI; the library never starts or ends
 * it.
 */
#ifndef MYLOS_MYLOS_H
#define MYLOS_MYLOS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when programs must be recompiled. Functions that take it as `abi` return MYLOS_BAD_INPUT
 * ("unknown-version") if it differs between header and library. */
#define MYLOS_ABI_VERSION 1

/* The exit codes of the `mylos` command. */
typedef enum mylos_status {
  MYLOS_OK = 0,
  MYLOS_FAILED = 1,       /* files that cannot be written, MPI, a library, calls in the wrong order */
  MYLOS_BAD_INPUT = 2,    /* the caller can correct it: file, deck, shapes, handles */
  MYLOS_DOES_NOT_FIT = 3, /* less memory than is needed; nothing was allocated */
  MYLOS_DIVERGED = 4      /* a trainer's gradients were not finite in too many steps */
} mylos_status;

/* The type of an array's elements. */
typedef enum mylos_type {
  MYLOS_FP32 = 0, /* float */
  MYLOS_FP64 = 1, /* double */
  MYLOS_FP16 = 2, /* IEEE binary16, 2 bytes */
  MYLOS_BF16 = 3  /* bfloat16, 2 bytes */
} mylos_type;

/* In which units inputs are read and outputs written. */
typedef enum mylos_units {
  MYLOS_DATA_UNITS = 0,   /* those of the training data, as in `mylos predict` */
  MYLOS_NETWORK_UNITS = 1 /* what the network reads and writes: scaled values, logits */
} mylos_units;

/* How a program counts the dimensions of an array. Messages count them in the same way. */
typedef enum mylos_order {
  MYLOS_C_ORDER = 0,       /* as this header does */
  MYLOS_FORTRAN_ORDER = 1, /* in reverse: the first dimension is the last entry of extents and strides */
  MYLOS_COLUMNS_FIRST = 2  /* in Fortran with columns_first: in the order of this header, from 1 on */
} mylos_order;

/* The largest number of dimensions of an array. */
#define MYLOS_MAX_RANK 5

/* Elements in memory that the caller owns. The element with indices i is at data + sum of i[d] * strides[d]
 * elements. The last dimensions are those of a sample: [features], or [height, width, channels] of a grid,
 * which may be flattened to one; the dimensions before them number the samples. Strides are at least 1. */
typedef struct mylos_array {
  void* data;                      /* of the element whose indices are 0 */
  int32_t type;                    /* mylos_type */
  int32_t rank;                    /* 1 to MYLOS_MAX_RANK; the entries of extents and strides that count */
  int64_t extents[MYLOS_MAX_RANK]; /* of each dimension */
  int64_t strides[MYLOS_MAX_RANK]; /* in elements; not used where the extent is 0 or 1 */
  int32_t on_device;               /* 0: memory of the host; 1: of the device, in a build for devices */
  int32_t order;                   /* mylos_order, for messages alone; 0 in C */
} mylos_array;

/* The same, read-only. */
typedef struct mylos_const_array {
  const void* data;                /* all members as in mylos_array */
  int32_t type;                    /* mylos_type */
  int32_t rank;                    /* 1 to MYLOS_MAX_RANK */
  int64_t extents[MYLOS_MAX_RANK]; /* of each dimension */
  int64_t strides[MYLOS_MAX_RANK]; /* in elements */
  int32_t on_device;               /* 0 or 1 */
  int32_t order;                   /* mylos_order */
} mylos_const_array;

/* ---- The library ---- */

/* The MYLOS_ABI_VERSION that the library was built with. */
int32_t mylos_abi_version(void);
/* "0.1.0 (commit 1a2b3c4)" */
const char* mylos_version(void);

/* The message of the last call that failed on this thread; "" if none has. The text is valid
 * until the next failing call of the thread. */
const char* mylos_last_error(void);
/* The cause alone, by its name in docs/reference/errors.md: "no-such-file". Valid as long as the message. */
const char* mylos_last_error_id(void);

/* Starts Kokkos with this number of threads, unless an earlier call has started it. If `threads` is 0, or
 * another function starts Kokkos, the number is OMP_NUM_THREADS if that is set, else 1 if MPI is running,
 * else one per processor that the program may use. The program's own OpenMP regions keep their number of
 * threads. Fails with MYLOS_BAD_INPUT if Kokkos runs with another number. */
int32_t mylos_initialize_abi(int32_t abi, int32_t threads);
/* The same for this header's version: call this one. */
static inline int32_t mylos_initialize(int32_t threads) {
  return mylos_initialize_abi(MYLOS_ABI_VERSION, threads);
}

/* Shuts down Kokkos and frees the memory of all models and trainers; exit() calls it too. Handles stay valid
 * for the destroy functions only; every other call returns MYLOS_FAILED ("bad-call"). No other call may be
 * running. MPI_Finalize, if it is called first, frees only the trainers. */
int32_t mylos_finalize(void);

/* ---- Models ---- */

/* A trained network: a handle that mylos_model_load() and mylos_model_clone() make. */
typedef struct mylos_model mylos_model;

/* How a model is loaded; all 0 is the default. */
typedef struct mylos_load_options {
  int32_t average; /* 1: the moving average of the weights */
  int32_t threads; /* calls at the same time, each in a workspace of its own; 0: one. Of an ensemble 0 or 1 */
  int64_t max_samples; /* computed at a time, which bounds the workspace; 0: chosen by their size */
} mylos_load_options;

/* The memory of a model. */
typedef struct mylos_bytes {
  int64_t weights;    /* shared by clones */
  int64_t statistics; /* of normalisation layers, scaling, constants; shared by clones */
  int64_t workspace;  /* of each clone: activations of the samples that are computed at a time */
} mylos_bytes;

/* What a model is. */
typedef struct mylos_model_info {
  int64_t inputs;                       /* values of a sample */
  int64_t outputs;                      /* likewise */
  int32_t input_rank;                   /* 1: a vector; more: points of a grid, then channels */
  int32_t output_rank;                  /* likewise */
  int64_t input_shape[MYLOS_MAX_RANK];  /* the extents of a sample; the first input_rank count */
  int64_t output_shape[MYLOS_MAX_RANK]; /* likewise */
  int64_t step;                         /* training step of the weights */
  int64_t samples_per_piece;            /* computed at a time */
  int64_t input_names;                  /* numbers of names, 0 if the training data had none */
  int64_t target_names;                 /* likewise */
  int64_t class_names;                  /* likewise */
  int32_t type;                         /* mylos_type that the first layer computes in */
  int32_t reserved;                     /* 0 */
  mylos_bytes bytes;                    /* that it takes */
} mylos_model_info;

/* Which names mylos_model_name() gives. */
typedef enum mylos_names { MYLOS_INPUT_NAMES = 0, MYLOS_TARGET_NAMES = 1, MYLOS_CLASS_NAMES = 2 } mylos_names;

/* Loads a model file or a checkpoint. `options` may be NULL. */
int32_t mylos_model_open(int32_t abi, const char* path, const mylos_load_options* options,
                         mylos_model** model);
/* Loads with the default options. */
static inline int32_t mylos_model_load(const char* path, mylos_model** model) {
  return mylos_model_open(MYLOS_ABI_VERSION, path, NULL, model);
}
/* Loads with these options. */
static inline int32_t mylos_model_load_with(const char* path, const mylos_load_options* options,
                                            mylos_model** model) {
  return mylos_model_open(MYLOS_ABI_VERSION, path, options, model);
}
/* Loads a model for samples on a different grid from that of training: `shape` has `rank` numbers, the
 * extents and then the channels. Fails with MYLOS_BAD_INPUT if a layer has weights for each point of its
 * grid. */
int32_t mylos_model_open_on_grid(int32_t abi, const char* path, const mylos_load_options* options,
                                 int32_t rank, const int64_t* shape, mylos_model** model);
/* The same for this header's version: call this one. */
static inline int32_t mylos_model_load_on_grid(const char* path, const mylos_load_options* options,
                                               int32_t rank, const int64_t* shape, mylos_model** model) {
  return mylos_model_open_on_grid(MYLOS_ABI_VERSION, path, options, rank, shape, model);
}
/* Loads a model that mylos_model_vjp(), mylos_model_jvp() and mylos_model_jacobian() may be called on: it
 * holds the network once more, in float. `rank` and `shape` as above; 0 and NULL: the grid of training. Its
 * memory is in mylos_model_info; mylos_model_memory_of() states that without derivatives. */
int32_t mylos_model_open_with_derivatives(int32_t abi, const char* path, const mylos_load_options* options,
                                          int32_t rank, const int64_t* shape, mylos_model** model);
/* The same for this header's version, on the grid of training. */
static inline int32_t mylos_model_load_with_derivatives(const char* path, const mylos_load_options* options,
                                                        mylos_model** model) {
  return mylos_model_open_with_derivatives(MYLOS_ABI_VERSION, path, options, 0, NULL, model);
}
/* Loads a model that computes in double from the weights in float, for arrays in host memory: doubles are not
 * rounded on entry, nor on exit. `derivatives`: 1: mylos_model_vjp() and its like may be called, and compute
 * in double too. `rank` and `shape` as above. Of networks of vectors of dense layers, activations, norms,
 * sums and concatenations; others fail with MYLOS_BAD_INPUT ("unsupported-feature"), and the message names
 * the layer. The type in mylos_model_info is MYLOS_FP64, and its bytes are those of this model. */
int32_t mylos_model_open_in_double(int32_t abi, const char* path, const mylos_load_options* options,
                                   int32_t derivatives, int32_t rank, const int64_t* shape,
                                   mylos_model** model);
/* The same for this header's version, on the grid of training. */
static inline int32_t mylos_model_load_in_double(const char* path, const mylos_load_options* options,
                                                 int32_t derivatives, mylos_model** model) {
  return mylos_model_open_in_double(MYLOS_ABI_VERSION, path, options, derivatives, 0, NULL, model);
}
/* Computes the memory that the model of this file would take. Reads the file without its weights. */
int32_t mylos_model_memory_of(const char* path, const mylos_load_options* options, mylos_bytes* bytes);
/* Makes a model that shares the weights, for another thread. */
int32_t mylos_model_clone(const mylos_model* model, mylos_model** clone);
/* Fills `info`. */
int32_t mylos_model_get_info(const mylos_model* model, mylos_model_info* info);
/* The name at `index`, from 0; it is valid until the model is destroyed. NULL if there is none, or after an
 * error, which mylos_last_error() then describes. */
const char* mylos_model_name(const mylos_model* model, int32_t names, int64_t index);
/* Computes y from x for any number of samples. The result is complete when the call returns. Doubles are
 * rounded to float once on entry; inf and NaN are treated like any other number. x and y may not overlap.
 * Calls after the first one of a size allocate nothing. After an error, y is unchanged. */
int32_t mylos_model_infer(const mylos_model* model, const mylos_const_array* x, const mylos_array* y,
                          int32_t units);
/* Computes dx = J^T dy, where J are the derivatives of the outputs, as mylos_model_infer() writes them, with
 * respect to the inputs at x: the gradient of any function of the outputs whose gradient is dy. dx is an
 * array like x, dy one like y. The network computes in float, whatever its type, or in double if it was
 * loaded so. Returns MYLOS_BAD_INPUT
 * ("bad-call") if the model was not loaded with derivatives. */
int32_t mylos_model_vjp(const mylos_model* model, const mylos_const_array* x, const mylos_const_array* dy,
                        const mylos_array* dx, int32_t units);
/* Computes dy = J dx, the derivatives along the direction dx, an array like x. In float it takes as long as
 * mylos_model_jacobian(), whose limit it has; in double as long as two calls of mylos_model_infer(). */
int32_t mylos_model_jvp(const mylos_model* model, const mylos_const_array* x, const mylos_const_array* dx,
                        const mylos_array* dy, int32_t units);
/* Computes J itself: the last dimensions of j are [outputs, inputs], or both flattened. Takes as long as
 * `outputs` calls of mylos_model_vjp(); at most 2^22 numbers a sample. */
int32_t mylos_model_jacobian(const mylos_model* model, const mylos_const_array* x, const mylos_array* j,
                             int32_t units);
/* Destroys the model; NULL is allowed. Fails and frees nothing inside an OpenMP parallel region or while a
 * call is using the model. */
int32_t mylos_model_destroy(mylos_model* model);

/* ---- How sure a model is ---- */

/* The bits of a flag. A sample that is not finite has all the bits that were requested. */
typedef enum mylos_input_flag {
  MYLOS_OUTSIDE_RANGE = 1, /* an input is outside of its range in training */
  MYLOS_FAR = 2,           /* the Mahalanobis distance is above the limit */
  MYLOS_NOT_FINITE = 4     /* an input is inf or NaN */
} mylos_input_flag;

/* What mylos_model_check_inputs() compares. */
typedef struct mylos_input_check {
  int32_t no_range;    /* 1: ranges are not compared */
  int32_t no_distance; /* 1: distances are not computed */
  double limit;        /* distances above it are far; 0: the quantile 0.999 of the training samples' */
} mylos_input_check;

/* What the file of a model contains for judging inputs and outputs. */
typedef struct mylos_trust_info {
  int32_t has_range;      /* of the training inputs */
  int32_t has_distance;   /* statistics of them: --input-statistics of `mylos export` or `calibrate` */
  int32_t has_deviations; /* the network predicts standard deviations */
  int32_t reserved;       /* 0 */
  double coverage;        /* of the intervals; 0: no calibration (`mylos calibrate`) */
  int64_t samples;        /* whose distances were measured; 0: none */
  double distances[3];    /* their quantiles 0.99 and 0.999, and the largest */
} mylos_trust_info;
/* Fills `info` with it. */
int32_t mylos_model_get_trust(const mylos_model* model, mylos_trust_info* info);

/* Checks whether each sample of x is like the training samples: sets flags[i] to 0 or a sum of
 * mylos_input_flag. `flags` is contiguous and lies in the same memory (host or device) as x; the last of the
 * dimensions that number the samples varies fastest. `distances`: an array of those dimensions, or NULL.
 * `check` may be NULL. Memory and errors are handled as in mylos_model_infer(). Returns MYLOS_BAD_INPUT
 * ("missing-dataset") if the file does not contain what is to be compared. */
int32_t mylos_model_check_inputs(const mylos_model* model, const mylos_const_array* x,
                                 const mylos_input_check* check, uint8_t* flags,
                                 const mylos_array* distances);
/* Computes outputs as mylos_model_infer() in data units does, with their standard deviations and the bounds
 * of their intervals. Each of the last three may be NULL, but not all of them. Returns MYLOS_BAD_INPUT
 * ("missing-dataset") if the model has none. */
int32_t mylos_model_infer_uncertain(const mylos_model* model, const mylos_const_array* x,
                                    const mylos_array* mean, const mylos_array* deviation,
                                    const mylos_array* lower, const mylos_array* upper);

/* Several models of the same inputs and outputs, and how far they agree. */
typedef struct mylos_ensemble mylos_ensemble;
/* Loads `count` files, two or more, each with `options`, which may be NULL. Returns MYLOS_BAD_INPUT if their
 * inputs or outputs ("model-mismatch") or their names ("bad-names") differ. */
int32_t mylos_ensemble_open(int32_t abi, const char* const* paths, int32_t count,
                            const mylos_load_options* options, mylos_ensemble** ensemble);
/* The same without options. */
static inline int32_t mylos_ensemble_load(const char* const* paths, int32_t count,
                                          mylos_ensemble** ensemble) {
  return mylos_ensemble_open(MYLOS_ABI_VERSION, paths, count, NULL, ensemble);
}
/* Loads an ensemble that mylos_ensemble_vjp() and its like may be called on: each member holds its network
 * once more, in float. */
int32_t mylos_ensemble_open_with_derivatives(int32_t abi, const char* const* paths, int32_t count,
                                             const mylos_load_options* options, mylos_ensemble** ensemble);
/* The same for this header's version. */
static inline int32_t mylos_ensemble_load_with_derivatives(const char* const* paths, int32_t count,
                                                           const mylos_load_options* options,
                                                           mylos_ensemble** ensemble) {
  return mylos_ensemble_open_with_derivatives(MYLOS_ABI_VERSION, paths, count, options, ensemble);
}
/* Computes the memory that the ensemble of these files would take. */
int32_t mylos_ensemble_memory_of(const char* const* paths, int32_t count, const mylos_load_options* options,
                                 mylos_bytes* bytes);
/* Makes an ensemble that shares the weights, for another thread. */
int32_t mylos_ensemble_clone(const mylos_ensemble* ensemble, mylos_ensemble** clone);
/* Fills `info` with that of the first member, and its `bytes` with those of the ensemble. */
int32_t mylos_ensemble_get_info(const mylos_ensemble* ensemble, mylos_model_info* info);
/* Computes mean and standard deviation (n - 1) of the members' outputs, each an array like y of
 * mylos_model_infer(). */
int32_t mylos_ensemble_infer(mylos_ensemble* ensemble, const mylos_const_array* x, const mylos_array* mean,
                             const mylos_array* deviation, int32_t units);
/* Compute derivatives of the ensemble's mean, as mylos_model_vjp(), mylos_model_jvp() and
 * mylos_model_jacobian() do of a model's outputs. */
int32_t mylos_ensemble_vjp(mylos_ensemble* ensemble, const mylos_const_array* x, const mylos_const_array* dy,
                           const mylos_array* dx, int32_t units);
int32_t mylos_ensemble_jvp(mylos_ensemble* ensemble, const mylos_const_array* x, const mylos_const_array* dx,
                           const mylos_array* dy, int32_t units);
int32_t mylos_ensemble_jacobian(mylos_ensemble* ensemble, const mylos_const_array* x, const mylos_array* j,
                                int32_t units);
/* Sets flags by the statistics of member `member`, from 0. */
int32_t mylos_ensemble_check_inputs(mylos_ensemble* ensemble, int32_t member, const mylos_const_array* x,
                                    const mylos_input_check* check, uint8_t* flags,
                                    const mylos_array* distances);
/* As mylos_model_destroy(). */
int32_t mylos_ensemble_destroy(mylos_ensemble* ensemble);

/* ---- Trainers: a network that the program trains. All need MPI. ---- */

/* A network that the program trains: a handle that mylos_trainer_create() and its like make. */
typedef struct mylos_trainer mylos_trainer;

/* What a trainer trains. */
typedef struct mylos_trainer_info {
  int64_t inputs;      /* values of a sample, or with mesh.space of this rank's box of it */
  int64_t outputs;     /* likewise */
  int64_t max_samples; /* of a rank in a step */
  int64_t parameters;  /* weight matrices and vectors */
} mylos_trainer_info;

/* Options for a program with its own loss or log; all 0 is the default. They must be the same on all
 * ranks. */
typedef struct mylos_trainer_options {
  int32_t input_gradients; /* 1: backward() can compute dL/dx */
  int32_t mean_loss; /* 1: L is the mean over all samples, and apply() divides by their number; 0: a sum */
  void (*message)(const char* text, void* context); /* receives the allocated sizes on rank 0; or NULL */
  void* context;                                    /* passed on to `message` */
} mylos_trainer_options;

/* The result of a step, the same on all ranks. */
typedef struct mylos_step_report {
  uint64_t step;         /* its number, from 1, including skipped steps */
  int64_t samples;       /* of all ranks */
  double loss;           /* mean over these samples, before the update */
  double gradient_norm;  /* of all ranks, before clipping */
  double lr;             /* of this step */
  double loss_scale;     /* that this step used */
  int32_t overflow_rank; /* rank whose gradients were not finite, which skips the step; -1: none */
  int32_t updated;       /* 0: weights are unchanged */
} mylos_step_report;

/* All ranks of the communicator must call create, step, apply, save, load, destroy, and the functions that
 * read and write parameters together; an error is returned on all of them. `communicator` is the integer that
 * MPI_Comm_c2f() returns for an MPI_Comm; the communicator is duplicated. `deck` is the name of a file or, if
 * deck_is_text is 1, the text of a deck. `options` may be NULL. */
int32_t mylos_trainer_open(int32_t abi, const char* deck, int32_t deck_is_text, int32_t communicator,
                           const mylos_trainer_options* options, mylos_trainer** trainer);
/* Creates a trainer from a deck file; the communicator is that of Fortran. */
static inline int32_t mylos_trainer_create_f(const char* deck_file, int32_t communicator,
                                             const mylos_trainer_options* options, mylos_trainer** trainer) {
  return mylos_trainer_open(MYLOS_ABI_VERSION, deck_file, 0, communicator, options, trainer);
}
/* Creates a trainer from the text of a deck; the communicator is that of Fortran. */
static inline int32_t mylos_trainer_create_text_f(const char* deck, int32_t communicator,
                                                  const mylos_trainer_options* options,
                                                  mylos_trainer** trainer) {
  return mylos_trainer_open(MYLOS_ABI_VERSION, deck, 1, communicator, options, trainer);
}
#ifdef MPI_VERSION /* mpi.h was included before this header */
/* Returns the integer of a communicator. Before MPI_Init and after MPI_Finalize, when MPI_Comm_c2f() would
 * end the process, it returns 0, which makes mylos_trainer_open() fail. */
static inline int32_t mylos_communicator_integer(MPI_Comm communicator) {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended ? (int32_t)MPI_Comm_c2f(communicator) : 0;
}
/* Creates a trainer from a deck file. */
static inline int32_t mylos_trainer_create(const char* deck_file, MPI_Comm communicator,
                                           const mylos_trainer_options* options, mylos_trainer** trainer) {
  return mylos_trainer_create_f(deck_file, mylos_communicator_integer(communicator), options, trainer);
}
/* Creates a trainer from the text of a deck. */
static inline int32_t mylos_trainer_create_text(const char* deck, MPI_Comm communicator,
                                                const mylos_trainer_options* options,
                                                mylos_trainer** trainer) {
  return mylos_trainer_create_text_f(deck, mylos_communicator_integer(communicator), options, trainer);
}
#endif
/* Fills `info`. */
int32_t mylos_trainer_get_info(const mylos_trainer* trainer, mylos_trainer_info* info);
/* Trains one step with this rank's samples: x [samples, inputs] and targets [samples, outputs], of any type
 * and strides; zero samples are allowed. `report` may be NULL. */
int32_t mylos_trainer_step(mylos_trainer* trainer, const mylos_const_array* x,
                           const mylos_const_array* targets, mylos_step_report* report);
/* The same with a class for each of the x->extents[0] samples, for model.loss = "cross_entropy". */
int32_t mylos_trainer_step_labels(mylos_trainer* trainer, const mylos_const_array* x, const int32_t* labels,
                                  mylos_step_report* report);
/* The three parts of a step, for programs with their own loss or loop. forward() runs this rank's samples and
 * writes the outputs (logits for a classifier) to y; backward() adds the gradients that follow from
 * dy = dL/dy, unscaled, and writes dL/dx to dx unless that is NULL; apply() sums the gradients of all ranks
 * and updates the weights or skips the step. Each rank calls any number of pairs of forward() and backward();
 * then all ranks call apply() once. x must stay unchanged until backward() returns. */
int32_t mylos_trainer_forward(mylos_trainer* trainer, const mylos_const_array* x, const mylos_array* y);
/* See mylos_trainer_forward(). */
int32_t mylos_trainer_backward(mylos_trainer* trainer, const mylos_const_array* dy, const mylos_array* dx);
/* The arguments that a program passes to apply(); all 0 is the default. */
typedef struct mylos_apply_options {
  int32_t has_lr;   /* 1: lr is the learning rate of this step; 0: the deck's learning-rate schedule */
  int32_t has_loss; /* 1: loss is this rank's part of L, which is only reported */
  double lr;        /* at least 0, the same on all ranks */
  double loss;      /* see has_loss */
} mylos_apply_options;
/* `options` and `report` may be NULL. */
int32_t mylos_trainer_apply(mylos_trainer* trainer, const mylos_apply_options* options,
                            mylos_step_report* report);

/* Weights, as in a checkpoint: row by row, in float. */
typedef struct mylos_parameter {
  const char* name; /* "head/weight"; valid until the trainer is destroyed */
  int64_t rows;     /* 1 of a vector */
  int64_t columns;  /* values of a row */
} mylos_parameter;
/* Describes the parameter at `index`, from 0 to mylos_trainer_info's parameters - 1. */
int32_t mylos_trainer_get_parameter(const mylos_trainer* trainer, int64_t index, mylos_parameter* parameter);
/* Copies a parameter to `values`. `count`: rows * columns. Every rank receives all values. */
int32_t mylos_trainer_read_parameter(mylos_trainer* trainer, const char* name, float* values, int64_t count);
/* Copies the gradient of L with respect to a parameter: the sum of all ranks' passes since the last apply(),
 * without the loss scale. For a program with its own optimizer, which calls it between backward() and
 * apply(). */
int32_t mylos_trainer_read_gradient(mylos_trainer* trainer, const char* name, float* values, int64_t count);
/* Replaces a parameter with the values of rank 0, which must be finite. */
int32_t mylos_trainer_write_parameter(mylos_trainer* trainer, const char* name, const float* values,
                                      int64_t count);

/* Computes predictions with the current weights. Any rank may call it at any time; with mesh.space the ranks
 * that share samples call it together. */
int32_t mylos_trainer_infer(mylos_trainer* trainer, const mylos_const_array* x, const mylos_array* y);
/* Writes a checkpoint, which mylos_model_load() reads too. */
int32_t mylos_trainer_save(mylos_trainer* trainer, const char* path);
/* Resumes from a checkpoint of such a network, on any number of ranks. */
int32_t mylos_trainer_load(mylos_trainer* trainer, const char* path);
/* As mylos_model_destroy(). */
int32_t mylos_trainer_destroy(mylos_trainer* trainer);

/* ---- Arrays of contiguous rows, one sample each ---- */

/* Describes an array of samples * values elements of this mylos_type, to be written. */
static inline mylos_array mylos_write_rows(void* data, int32_t type, int64_t samples, int64_t values) {
  mylos_array array = {NULL, 0, 0, {0}, {0}, 0, 0};
  array.data = data;
  array.type = type;
  array.rank = 2;
  array.extents[0] = samples;
  array.extents[1] = values;
  array.strides[0] = values;
  array.strides[1] = 1;
  return array;
}
/* The same, to be read. */
static inline mylos_const_array mylos_read_rows(const void* data, int32_t type, int64_t samples,
                                                int64_t values) {
  mylos_const_array array = {NULL, 0, 0, {0}, {0}, 0, 0};
  array.data = data;
  array.type = type;
  array.rank = 2;
  array.extents[0] = samples;
  array.extents[1] = values;
  array.strides[0] = values;
  array.strides[1] = 1;
  return array;
}
/* The same of floats, to be written. */
static inline mylos_array mylos_write_f32(float* data, int64_t samples, int64_t values) {
  return mylos_write_rows(data, MYLOS_FP32, samples, values);
}
/* The same of doubles, to be written. */
static inline mylos_array mylos_write_f64(double* data, int64_t samples, int64_t values) {
  return mylos_write_rows(data, MYLOS_FP64, samples, values);
}
/* The same of floats, to be read. */
static inline mylos_const_array mylos_read_f32(const float* data, int64_t samples, int64_t values) {
  return mylos_read_rows(data, MYLOS_FP32, samples, values);
}
/* The same of doubles, to be read. */
static inline mylos_const_array mylos_read_f64(const double* data, int64_t samples, int64_t values) {
  return mylos_read_rows(data, MYLOS_FP64, samples, values);
}

#ifdef __cplusplus
}
#endif

#endif
