// GEMMs by oneDNN: float on every processor, bfloat16 if the processor multiplies it natively (AVX512-BF16,
// AMX).
//
// oneDNN uses the same OpenMP pool as Kokkos. On hosts it has no GEMM for half, and without those
// instructions its bfloat16 takes more than twice the time of float; gemm_tiles.cpp computes both. The
// processor's bfloat16 instructions flush subnormal inputs to zero.
//
// An engine has one scratch buffer for all GEMMs, which grows when one is created. The memory that a GEMM
// needs is not monotonic in its rows (bfloat16, 784 to 1024: 235 kB for 600 rows, 264 kB for 256), so
// workspace_bytes() cannot state it. The buffer that oneDNN would manage belongs to the thread that creates a
// GEMM, and another thread could not run it.
#include <dnnl.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/gemm_epilogue.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"
#include "mylos/kernels/vendor/host/host_engines.hpp"
#include "mylos/kernels/vendor/host/onednn_versions.hpp"

namespace mylos {
namespace {

using Format = dnnl::memory::format_tag;

dnnl::memory::data_type data_type(DType type) {
  return type == DType::fp32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

/// Memory for oneDNN's use while a primitive runs.
class ScratchBuffer {
 public:
  [[nodiscard]] void* data() const { return data_.get(); }
  void grow_to(std::size_t bytes) {
    if (bytes <= bytes_) return;
    data_.reset();
    data_.reset(::operator new(bytes, alignment));
    bytes_ = bytes;
  }

 private:
  static constexpr std::align_val_t alignment{4096};  // as oneDNN allocates it
  struct Release {
    void operator()(void* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<void, Release> data_;
  std::size_t bytes_ = 0;
};

/// A primitive with its arguments, created once per problem and number of threads: its code divides the work
/// for that number.
struct PreparedGemm {
  GemmProblem problem;
  int threads = 1;
  dnnl::matmul primitive;
  dnnl::memory a;
  dnnl::memory b;
  dnnl::memory c;
  dnnl::memory bias;
  dnnl::memory scratch;
  std::vector<dnnl_exec_arg_t> arguments;
};

PreparedGemm prepare(const dnnl::engine& engine, const GemmProblem& problem) {
  const dnnl::memory::desc a({problem.m, problem.k}, data_type(problem.a),
                             problem.transpose_a ? Format::ba : Format::ab);
  const dnnl::memory::desc b({problem.k, problem.n}, data_type(problem.b),
                             problem.transpose_b ? Format::ba : Format::ab);
  const dnnl::memory::desc c({problem.m, problem.n}, data_type(problem.c), Format::ab);
  const dnnl::memory::desc bias({1, problem.n}, data_type(problem.bias_type), Format::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  const auto descriptor = problem.bias
                              ? onednn::describe_forward<dnnl::matmul>(engine, attributes, a, b, bias, c)
                              : onednn::describe_forward<dnnl::matmul>(engine, attributes, a, b, c);

  PreparedGemm gemm;
  gemm.problem = problem;
  gemm.threads = library_threads();
  gemm.primitive = dnnl::matmul(descriptor);
  gemm.a = dnnl::memory(a, engine, DNNL_MEMORY_NONE);
  gemm.b = dnnl::memory(b, engine, DNNL_MEMORY_NONE);
  gemm.c = dnnl::memory(c, engine, DNNL_MEMORY_NONE);
  gemm.scratch = dnnl::memory(descriptor.scratchpad_desc(), engine, DNNL_MEMORY_NONE);
  gemm.arguments = {{DNNL_ARG_SRC, gemm.a.get()},
                    {DNNL_ARG_WEIGHTS, gemm.b.get()},
                    {DNNL_ARG_DST, gemm.c.get()},
                    {DNNL_ARG_SCRATCHPAD, gemm.scratch.get()}};
  if (problem.bias) {
    gemm.bias = dnnl::memory(bias, engine, DNNL_MEMORY_NONE);
    gemm.arguments.push_back({DNNL_ARG_BIAS, gemm.bias.get()});
  }
  return gemm;
}

class OneDnnGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "onednn"; }

  [[nodiscard]] std::string_view engine_of(const GemmProblem& problem) const override {
    return by_tiles(problem) ? tiles_->name() : name();
  }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return by_tiles(problem) && tiles_->sums_rows(problem);
  }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return by_tiles(problem) ? tiles_->workspace_bytes(problem) : 0;
  }

  [[nodiscard]] std::size_t packed_bytes(const GemmProblem& problem) const override {
    return by_tiles(problem) ? tiles_->packed_bytes(problem) : 0;
  }
  void pack(const Execution& execution, const GemmProblem& problem, const void* b, void* packed) override {
    if (by_tiles(problem)) tiles_->pack(execution, problem, b, packed);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    if (by_tiles(problem)) return tiles_->run(execution, problem, operands, workspace);
    try {
      PreparedGemm& chosen = gemm(problem);
      chosen.a.set_data_handle(const_cast<void*>(operands.a));  // oneDNN's handles are not const
      chosen.b.set_data_handle(const_cast<void*>(operands.b));
      chosen.c.set_data_handle(operands.c);
      if (problem.bias) chosen.bias.set_data_handle(const_cast<void*>(operands.bias));
      chosen.scratch.set_data_handle(scratch_.data());
      // Uses the C function because its C++ wrapper allocates at every call.
      dnnl::error::wrap_c_api(
          dnnl_primitive_execute(chosen.primitive.get(), stream_.get(),
                                 static_cast<int>(chosen.arguments.size()), chosen.arguments.data()),
          "could not run a GEMM");
    } catch (const dnnl::error& error) {
      fail_run(errors::library_failed, "oneDNN: {}", error.what());
    }
    if (problem.relu) apply_relu(execution, problem, operands.c);
  }

  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    return batch.together ? tiles_->batch_workspace_bytes(batch) : workspace_bytes(batch.one);
  }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    if (batch.together) return tiles_->run_batched(execution, batch, first, workspace);
    GemmEngine::run_batched(execution, batch, first, workspace);
  }

 private:
  [[nodiscard]] bool by_tiles(const GemmProblem& problem) const {
    return problem.a == DType::fp16 || (problem.a == DType::bf16 && !native_bfloat16_);
  }

  [[nodiscard]] PreparedGemm& gemm(const GemmProblem& problem) {
    const int threads = library_threads();
    const auto found = std::find_if(gemms_.begin(), gemms_.end(), [&](const PreparedGemm& gemm) {
      return gemm.threads == threads && gemm.problem == problem;
    });
    if (found != gemms_.end()) return *found;
    check_gemm_problem(problem);
    try {
      PreparedGemm& made = gemms_.emplace_back(prepare(engine_, problem));
      scratch_.grow_to(made.scratch.get_desc().get_size());
      return made;
    } catch (const dnnl::error& error) {
      fail_run(errors::library_failed, "oneDNN cannot compute the GEMM {} x {} by {} x {} of {}: {}",
               problem.m, problem.k, problem.k, problem.n, mylos::name_of(problem.a), error.what());
    }
  }

  bool native_bfloat16_ = onednn::multiplies_bfloat16();
  std::unique_ptr<GemmEngine> tiles_ = tiled_gemm()();
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<PreparedGemm> gemms_;  // created at first use
  ScratchBuffer scratch_;
};

}  // namespace

std::unique_ptr<GemmEngine> make_onednn_gemm() {
  return std::make_unique<OneDnnGemm>();
}

}  // namespace mylos
