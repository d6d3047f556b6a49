// cuDNN's attention and convolutions for the rest of the program, which knows execution spaces, not streams.
// Apart from this file, the files of cuDNN do not use Kokkos (CMakeLists.txt).
#include <utility>

#include "mylos/base/execution.hpp"
#include "mylos/device/cuda/engines/attention_cudnn.hpp"
#include "mylos/device/cuda/engines/convolution_cudnn.hpp"
#include "mylos/device/cuda/engines/cudnn_library.hpp"
#include "mylos/device/cuda/engines/nvidia_engines.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos {
namespace {

class AttentionInStream final : public FusedAttention {
 public:
  explicit AttentionInStream(AttentionSums sums) : sums_(sums), cudnn_(make_cudnn_attention(sums)) {}

  [[nodiscard]] std::string description() const override { return describe_cudnn(); }
  [[nodiscard]] AttentionSums sums() const override { return sums_; }
  bool forward(const Execution& exec, const AttentionShape& shape, const FusedForward& operands,
               void* workspace) override {
    return cudnn_->forward(exec.cuda_stream(), shape, operands, workspace);
  }
  bool backward(const Execution& exec, const AttentionShape& shape, const FusedBackward& operands,
                void* workspace) override {
    return cudnn_->backward(exec.cuda_stream(), shape, operands, workspace);
  }
  [[nodiscard]] std::string take_refusals() override { return cudnn_->take_refusals(); }

 private:
  AttentionSums sums_;
  std::unique_ptr<CudnnAttention> cudnn_;
};

class ConvolutionInStream final : public LibraryConvolution {
 public:
  [[nodiscard]] bool multiplies(DType /*type*/) const override { return true; }
  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType type) const override {
    return cudnn_->adds_bias(pass, type);
  }
  [[nodiscard]] bool accumulates() const override { return false; }
  [[nodiscard]] bool may_refuse() const override { return true; }
  [[nodiscard]] bool uses_winograd(const LibraryPass& /*pass*/) override { return false; }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    return cudnn_->samples_at_a_time(pass);
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override {
    return cudnn_->workspace_bytes(pass);
  }
  [[nodiscard]] bool run(const Execution& exec, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    return cudnn_->run(exec.cuda_stream(), pass, operands, workspace);
  }
  [[nodiscard]] std::string take_refusals() override { return cudnn_->take_refusals(); }

 private:
  std::unique_ptr<CudnnConvolution> cudnn_ = make_cudnn_convolution();
};

}  // namespace

std::unique_ptr<FusedAttention> cudnn_attention(AttentionSums sums) {
  if (open_cudnn().handle == nullptr) return nullptr;
  return std::make_unique<AttentionInStream>(sums);
}

std::unique_ptr<LibraryConvolution> cudnn_convolution() {
  if (open_cudnn().handle == nullptr) return nullptr;
  return std::make_unique<ConvolutionInStream>();
}

std::string describe_cudnn() {
  const CudnnLibrary library = open_cudnn();
  return library.handle != nullptr ? "cuDNN " + cudnn_version_text(library.version) : library.missing;
}

}  // namespace mylos
