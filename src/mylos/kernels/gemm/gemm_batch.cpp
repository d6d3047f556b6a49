// Batched GEMMs for engines without batches: one GEMM after the other.
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"

namespace mylos {
namespace {

std::int64_t stride_bytes(std::int64_t elements, DType type) {
  return elements * static_cast<std::int64_t>(size_of(type));
}

}  // namespace

GemmBatch batch_of(const GemmProblem& one, std::int64_t count) {
  return {one, count, one.m * one.k, one.k * one.n, one.m * one.n};
}

void check_gemm_batch(const GemmBatch& batch) {
  const GemmProblem& one = batch.one;
  check_gemm_problem(one);
  if (batch.count < 1) fail_run(errors::internal, "a batch of {} GEMMs; expected at least 1", batch.count);
  if (one.accumulate || one.bias || one.relu || one.row_sums || one.gelu_derivative)
    fail_run(errors::internal,
             "a batch of GEMMs cannot have a bias, old values, an activation or sums of rows");
}

void GemmEngine::run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                             void* workspace) {
  check_gemm_batch(batch);
  const GemmProblem& one = batch.one;
  for (std::int64_t i = 0; i < batch.count; ++i) {
    run(execution, one,
        {static_cast<const std::byte*>(first.a) + i * stride_bytes(batch.stride_a, one.a),
         static_cast<const std::byte*>(first.b) + i * stride_bytes(batch.stride_b, one.b),
         static_cast<std::byte*>(first.c) + i * stride_bytes(batch.stride_c, one.c)},
        workspace);
  }
}

}  // namespace mylos
