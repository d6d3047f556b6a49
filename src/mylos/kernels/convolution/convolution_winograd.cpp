#include "mylos/kernels/convolution/convolution_winograd.hpp"

#include "mylos/base/vector/vector_targets.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/convolution/convolution_winograd.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/convolution/winograd_map-inl.hpp"
#include "mylos/kernels/convolution/winograd_sums-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

std::size_t winograd_bytes(const LibraryPass& pass) {
  if (pass.pass == ConvolutionPass::weights) return WinogradSums(pass, nullptr).workspace_bytes();
  return WinogradMap(pass, nullptr).workspace_bytes();
}

void run_winograd(const Execution& exec, const LibraryPass& pass, const LibraryOperands& operands,
                  void* workspace) {
  if (pass.pass == ConvolutionPass::weights) return WinogradSums(pass, workspace).run(exec, operands);
  WinogradMap(pass, workspace).run(exec, operands);
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos {
namespace {

HWY_EXPORT(winograd_bytes);
HWY_EXPORT(run_winograd);

bool is_filter(const ConvolutionMap& map) {
  constexpr Extents ones = {1, 1, 1};
  if (map.kernel[1] != 3 || map.kernel[2] != 3 || map.groups != 1) return false;
  if (map.stride != ones || map.dilation != ones) return false;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (map.padding[axis] >= map.kernel[axis]) return false;
  }
  return true;
}

/// Uses the instructions that were in use when it was created.
class WinogradConvolution final : public LibraryConvolution {
 public:
  [[nodiscard]] bool multiplies(DType type) const override { return type == DType::fp32; }
  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType /*type*/) const override {
    return pass == ConvolutionPass::apply;
  }
  [[nodiscard]] bool accumulates() const override { return true; }
  [[nodiscard]] bool may_refuse() const override { return false; }
  [[nodiscard]] bool uses_winograd(const LibraryPass& pass) override {
    return multiplies(pass.type) && !pass.relu && is_filter(pass.map);
  }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    return uses_winograd(pass) ? pass.samples : 0;
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override { return bytes_(pass); }
  [[nodiscard]] bool run(const Execution& exec, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    run_(exec, pass, operands, workspace);
    return true;
  }

 private:
  decltype(HWY_DYNAMIC_POINTER(winograd_bytes)) bytes_ = HWY_DYNAMIC_POINTER(winograd_bytes);
  decltype(HWY_DYNAMIC_POINTER(run_winograd)) run_ = HWY_DYNAMIC_POINTER(run_winograd);
};

}  // namespace

std::unique_ptr<LibraryConvolution> make_winograd_convolution() {
  return std::make_unique<WinogradConvolution>();
}

}  // namespace mylos
#endif
