// toml++ for libmylos.so, which brings it instead of loading a shared one.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
