#include "mylos/optim/gradients/batch_mean.hpp"

namespace mylos {

BatchMean::BatchMean(std::int64_t batch, std::int64_t micro_batch, std::int64_t rows_per_sample, int ranks,
                     std::int64_t boxes)
    : seed_factor_(static_cast<float>(boxes) * (1.0f / static_cast<float>(micro_batch * rows_per_sample))),
      divisor_(static_cast<float>(batch * boxes) / static_cast<float>(micro_batch)),
      planned_rows_(static_cast<double>(batch * rows_per_sample)),
      is_reduced_(ranks > 1) {}

BucketDivision BatchMean::division(DType gradients, DType wire) const {
  if (!is_reduced_ || (gradients == DType::fp32 && wire == DType::fp32)) return {.left = divisor_};
  if (wire != gradients && wire != DType::fp32) return {.into_wire = 1.0f / divisor_};
  return {.of_sum = 1.0f / divisor_};
}

}  // namespace mylos
