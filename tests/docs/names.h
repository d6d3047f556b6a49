/* What the blocks of C in docs/ use and do not declare themselves. */
#include <mylos/mylos.h>
#include <stdint.h>

extern mylos_model* model;
extern mylos_const_array x, targets;
extern mylos_array y, mean, deviation;
