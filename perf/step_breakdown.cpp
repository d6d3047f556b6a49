#include "step_breakdown.hpp"

#include <fmt/format.h>

#include <utility>

#include "mylos/base/device/timing.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {
namespace {

namespace tools = Kokkos::Tools::Experimental;

/// Kokkos' callbacks carry no state of their own.
struct Books {
  Breakdown* open = nullptr;
  std::string kernel;
  std::chrono::steady_clock::time_point start;
};

Books& books() {
  static Books instance;
  return instance;
}

void begin_kernel(const char* name, std::uint32_t, std::uint64_t*) {
  books().kernel = name;
  books().start = std::chrono::steady_clock::now();
}

void end_kernel(std::uint64_t) {
  Books& now = books();
  if (now.open == nullptr) return;
  const auto time = std::chrono::steady_clock::now() - now.start;
  (*now.open)["kernel " + now.kernel] += std::chrono::duration<double, std::milli>(time).count();
}

class TimedConvolution final : public LibraryConvolution {
 public:
  explicit TimedConvolution(std::shared_ptr<EngineSet> engines)
      : engines_(std::move(engines)), library_(*engines_->libraries().convolution) {}

  [[nodiscard]] bool multiplies(DType type) const override { return library_.multiplies(type); }
  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType type) const override {
    return library_.adds_bias(pass, type);
  }
  [[nodiscard]] bool accumulates() const override { return library_.accumulates(); }
  [[nodiscard]] bool may_refuse() const override { return library_.may_refuse(); }
  [[nodiscard]] bool uses_winograd(const LibraryPass& pass) override { return library_.uses_winograd(pass); }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    return library_.samples_at_a_time(pass);
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override {
    return library_.workspace_bytes(pass);
  }
  [[nodiscard]] bool run(const Execution& exec, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    Breakdown* const book = std::exchange(books().open, nullptr);  // not the kernels inside the pass
    if (book == nullptr) return library_.run(exec, pass, operands, workspace);
    constexpr const char* names[] = {"y", "dx", "dW"};
    bool runs = false;
    (*book)[fmt::format("convolution {} to {} points of {}, {}", pass.map.from.channels, pass.map.to.points(),
                        pass.map.to.channels, names[static_cast<std::size_t>(pass.pass)])] +=
        milliseconds([&] { runs = library_.run(exec, pass, operands, workspace); });
    books().open = book;
    return runs;
  }

 private:
  std::shared_ptr<EngineSet> engines_;
  LibraryConvolution& library_;
};

class TimedGemm final : public GemmEngine {
 public:
  explicit TimedGemm(std::shared_ptr<EngineSet> engines) : engines_(std::move(engines)) {}

  [[nodiscard]] std::string_view name() const override { return engine_.name(); }
  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_.sums_rows(problem);
  }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_.workspace_bytes(problem);
  }
  void run(const Execution& exec, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    Breakdown* const book = std::exchange(books().open, nullptr);  // not the kernels inside the GEMM
    if (book == nullptr) return engine_.run(exec, problem, operands, workspace);
    (*book)[fmt::format("GEMM {} x {} x {}", problem.m, problem.n, problem.k)] +=
        milliseconds([&] { engine_.run(exec, problem, operands, workspace); });
    books().open = book;
  }
  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    return engine_.batch_workspace_bytes(batch);
  }
  void run_batched(const Execution& exec, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    Breakdown* const book = std::exchange(books().open, nullptr);
    if (book == nullptr) return engine_.run_batched(exec, batch, first, workspace);
    (*book)[fmt::format("{} GEMMs {} x {} x {}", batch.count, batch.one.m, batch.one.n, batch.one.k)] +=
        milliseconds([&] { engine_.run_batched(exec, batch, first, workspace); });
    books().open = book;
  }

 private:
  std::shared_ptr<EngineSet> engines_;
  GemmEngine& engine_ = engines_->gemm();
};

}  // namespace

std::unique_ptr<EngineSet> make_timed_engines() {
  const std::shared_ptr<EngineSet> engines = make_engines({});
  std::shared_ptr<LibraryConvolution> convolution;
  if (engines->libraries().convolution != nullptr) convolution = std::make_shared<TimedConvolution>(engines);
  return std::make_unique<EngineSet>(std::make_unique<TimedGemm>(engines), nullptr, std::move(convolution));
}

Booking::Booking(Breakdown& book) {
  books().open = &book;
  tools::set_begin_parallel_for_callback(begin_kernel);
  tools::set_end_parallel_for_callback(end_kernel);
}

Booking::~Booking() {
  tools::set_begin_parallel_for_callback(nullptr);
  tools::set_end_parallel_for_callback(nullptr);
  books().open = nullptr;
}

}  // namespace mylos
