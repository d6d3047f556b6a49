// toml++ for libmylos.so, which brings it instead of loading a shared one: the functions that its headers
// declare where they are not all inline.
#ifndef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 0
#endif
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
