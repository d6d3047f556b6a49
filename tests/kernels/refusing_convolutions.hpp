// The machine's engines with its library of convolutions, which takes two samples at a time, does not
// accumulate gradients, and refuses from its n-th run on, as a device's library may.
#pragma once

#include <algorithm>

#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos::test {

class RefusingLibrary final : public LibraryConvolution {
 public:
  RefusingLibrary(LibraryConvolution& library, int runs) : library_(library), runs_left_(runs) {}

  [[nodiscard]] bool multiplies(DType type) const override { return library_.multiplies(type); }
  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType type) const override {
    return library_.adds_bias(pass, type);
  }
  [[nodiscard]] bool accumulates() const override { return false; }
  [[nodiscard]] bool may_refuse() const override { return true; }
  [[nodiscard]] bool uses_winograd(const LibraryPass& pass) override { return library_.uses_winograd(pass); }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    LibraryPass two = pass;
    two.samples = std::min<std::int64_t>(pass.samples, 2);
    return library_.samples_at_a_time(two);
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override {
    return library_.workspace_bytes(pass);
  }
  [[nodiscard]] bool run(const Execution& exec, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    return runs_left_-- > 0 && library_.run(exec, pass, operands, workspace);
  }

 private:
  LibraryConvolution& library_;
  int runs_left_;
};

class RefusingEngines {
 public:
  explicit RefusingEngines(int runs) : library_(*own_->libraries().convolution, runs) {}

  operator Engines() { return Engines(own_->gemm(), {.convolution = &library_}); }

 private:
  std::unique_ptr<EngineSet> own_ = make_engines({});
  RefusingLibrary library_;
};

}  // namespace mylos::test
