/* hdf5_clash MODEL [LIBRARY]: a program with an HDF5 of its own, perhaps of another version than libmylos.so contains, which has a
 * file open while the library reads one, and closes HDF5 before the library does. LIBRARY, the C++ library, is loaded into the
 * same process. Prints "ok". */
#include <dlfcn.h>
#include <hdf5.h>
#include <mylos/mylos.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition) require(condition, #condition)

enum { ROWS = 4, INPUTS = 6, OUTPUTS = 3, VALUES = 100 };

static void require(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "%s [%s: %s]\n", what, mylos_last_error_id(), mylos_last_error());
  exit(1);
}

static void infer(const char* path) {
  double x[ROWS * INPUTS], y[ROWS * OUTPUTS] = {0};
  mylos_model* model;
  mylos_const_array from;
  mylos_array to;
  int i;
  for (i = 0; i < ROWS * INPUTS; ++i) x[i] = 1;
  REQUIRE(mylos_model_load(path, &model) == MYLOS_OK);
  from = mylos_read_f64(x, ROWS, INPUTS);
  to = mylos_write_f64(y, ROWS, OUTPUTS);
  REQUIRE(mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK);
  REQUIRE(y[0] != 0 && y[0] == y[OUTPUTS]);
  REQUIRE(mylos_model_destroy(model) == MYLOS_OK);
}

int main(int count, char** texts) {
  const hsize_t length = VALUES;
  unsigned major, minor, release;
  double written[VALUES], read[VALUES];
  hid_t file, space, data;
  int i;
  REQUIRE(count == 2 || dlopen(texts[2], RTLD_NOW | RTLD_GLOBAL) != NULL);
  REQUIRE(H5get_libversion(&major, &minor, &release) >= 0);
  REQUIRE(major == H5_VERS_MAJOR && minor == H5_VERS_MINOR && release == H5_VERS_RELEASE);
  for (i = 0; i < VALUES; ++i) written[i] = i;

  file = H5Fcreate("own.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  space = H5Screate_simple(1, &length, NULL);
  data = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  REQUIRE(file >= 0 && space >= 0 && data >= 0);
  infer(texts[1]);
  REQUIRE(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE) == 1);
  REQUIRE(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0);
  REQUIRE(H5Dclose(data) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
  REQUIRE(H5close() >= 0);
  infer(texts[1]);

  file = H5Fopen("own.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
  data = H5Dopen2(file, "data", H5P_DEFAULT);
  REQUIRE(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  for (i = 0; i < VALUES; ++i) REQUIRE(read[i] == i);
  REQUIRE(H5Dclose(data) >= 0 && H5Fclose(file) >= 0);
  puts("ok");
  return 0;
}
