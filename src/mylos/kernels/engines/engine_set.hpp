// EngineSet: a GEMM engine with the libraries that go with it, as the deck selects them. All sets are listed
// in vendor/engine_sets.cpp.
#pragma once

#include <memory>
#include <string>

#include "mylos/kernels/engines/engines.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos {

/// The owner of Engines.
class EngineSet {
 public:
  explicit EngineSet(std::unique_ptr<GemmEngine> gemm, std::shared_ptr<FusedAttention> attention = {},
                     std::shared_ptr<LibraryConvolution> convolution = {});

  [[nodiscard]] GemmEngine& gemm() const { return *gemm_; }
  [[nodiscard]] Libraries libraries() const { return {attention_.get(), convolution_.get()}; }
  operator Engines() const { return Engines(gemm(), libraries()); }  // NOLINT: converts

  /// Releases the GEMM engine; the set then has none.
  [[nodiscard]] std::unique_ptr<GemmEngine> take_gemm() { return std::move(gemm_); }

  /// Returns what the libraries have refused since the last call, with the reasons, in lines for users;
  /// usually empty.
  [[nodiscard]] std::string take_refusals();

 private:
  std::unique_ptr<GemmEngine> gemm_;
  std::shared_ptr<FusedAttention> attention_;
  std::shared_ptr<LibraryConvolution> convolution_;
};

/// How the deck selects a set: by its name, by "auto" or by "measure".
enum class EngineUse { named, automatic, measured };

using MakeEngines = std::unique_ptr<EngineSet> (*)(EngineUse use, AttentionSums sums);

/// Returns the set that the deck selects: the GEMM engine that make_gemm_engine() returns, with its
/// libraries. Has the same effects and throws as that.
[[nodiscard]] std::unique_ptr<EngineSet> make_engines(const KernelOptions& options);

/// Returns a text for --version: "cuDNN 9.19.0", or what is missing.
[[nodiscard]] std::string describe_fused_attention();

}  // namespace mylos
