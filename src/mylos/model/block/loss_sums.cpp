#include "mylos/model/block/loss_sums.hpp"

#include "mylos/base/numbers/binary_tree.hpp"
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

void add_mean_by_tree(const Execution& exec, const LossSums* parts, int count, LossSums* to) {
  for_each_index(
      exec, "mean of boxes", 1, KOKKOS_LAMBDA(std::int64_t) {
        const double sum = sum_by_tree<double>(count, [&](int part) { return parts[part].loss; });
        to->loss += sum / count;
      });
}

}  // namespace mylos
