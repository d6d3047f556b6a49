/* What infer.c and trust.c share: sizes of their network, the end of a failed test, arrays of raw files. */
#ifndef MYLOS_TESTS_BINDINGS_SUPPORT_H
#define MYLOS_TESTS_BINDINGS_SUPPORT_H

#include <mylos/mylos.h>
#include <stdio.h>
#include <stdlib.h>

enum { INPUTS = 6, OUTPUTS = 3 };

static void require(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "%s [%s: %s]\n", what, mylos_last_error_id(), mylos_last_error());
  exit(1);
}

static float* read_floats(const char* path, size_t count) {
  float* values = malloc(count * sizeof *values);
  FILE* file = fopen(path, "rb");
  require(file != NULL && fread(values, sizeof *values, count, file) == count, path);
  fclose(file);
  return values;
}

#endif
