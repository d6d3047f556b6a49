#include "mylos/model/block/loss_sums.hpp"

#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

void clear_sums(const Execution& exec, LossSums* sums) {
  for_each_element(
      exec, "clear sums", 1, KOKKOS_LAMBDA(std::int64_t) { *sums = {}; });
}

void add_weighted(const Execution& exec, const LossSums* sums, float weight, LossSums* to) {
  for_each_element(
      exec, "weighted sum", 1,
      KOKKOS_LAMBDA(std::int64_t) { to->loss += static_cast<double>(weight) * sums->loss; });
}

}  // namespace mylos
