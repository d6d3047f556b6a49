// clash MODEL inside|around: a program with a Kokkos of its own (linked statically, all its symbols visible),
// that defines functions with the names of fmt's. Its Kokkos runs inside of the time in which libmylos.so
// does, which ends at exit, or around it. Prints "ok".
#include <mylos/mylos.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Another fmt: the names and arguments of fmt 9's, with functions that would put something else into every
// message.
namespace fmt {
inline namespace v9 {
class appender;
template <class Iterator, class Char>
class basic_format_context;
template <class Context>
struct basic_format_args {
  unsigned long long types;
  const void* values;
};
template <class Char>
struct basic_string_view {
  const Char* data;
  std::size_t size;
};
std::string vformat(basic_string_view<char>, basic_format_args<basic_format_context<appender, char>>) {
  return "hijacked";
}
namespace detail {
void throw_format_error(const char*) {
  std::abort();
}
}  // namespace detail
}  // namespace v9
}  // namespace fmt

namespace {

int sum_of_kokkos() {
  int sum = 0;
  Kokkos::parallel_reduce(
      "sum", 1000, KOKKOS_LAMBDA(int i, int& part) { part += i; }, sum);
  return sum;
}

bool infers(mylos_model* model) {
  const std::vector<double> x(4 * 6, 1.0);
  std::vector<double> y(4 * 3, 0.0);
  const mylos_const_array from = mylos_read_f64(x.data(), 4, 6);
  const mylos_array to = mylos_write_f64(y.data(), 4, 3);
  return mylos_model_infer(model, &from, &to, MYLOS_DATA_UNITS) == MYLOS_OK && y[0] != 0 && y[0] == y[9];
}

bool run(const char* path) {
  mylos_model* model = nullptr;
  if (mylos_model_load("nowhere.h5", &model) != MYLOS_BAD_INPUT) return false;
  if (std::strstr(mylos_last_error(), "nowhere.h5") == nullptr) return false;
  if (mylos_model_load(path, &model) != MYLOS_OK || !infers(model)) return false;
  {
    const Kokkos::ScopeGuard kokkos;
    if (sum_of_kokkos() != 499500 || !infers(model) || sum_of_kokkos() != 499500) return false;
  }
  return infers(model) && mylos_model_destroy(model) == MYLOS_OK;
}

bool run_around(const char* path) {
  const Kokkos::ScopeGuard kokkos;
  mylos_model* model = nullptr;
  if (sum_of_kokkos() != 499500 || mylos_model_load(path, &model) != MYLOS_OK || !infers(model)) return false;
  return mylos_model_destroy(model) == MYLOS_OK && mylos_finalize() == MYLOS_OK && sum_of_kokkos() == 499500;
}

}  // namespace

int main(int, char** texts) {
  const bool done = std::strcmp(texts[2], "around") == 0 ? run_around(texts[1]) : run(texts[1]);
  if (!done) {
    std::fprintf(stderr, "failed: %s\n", mylos_last_error());
    return 1;
  }
  std::puts("ok");
  return 0;
}
