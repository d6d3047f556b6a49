// A convolution's passes by a library of convolutions, where the engine has one that is faster than products.
//
// Such a library knows zeros beyond the edges alone. It multiplies float, and bfloat16 where the processor
// does; other values become floats in the workspace, as many samples at a time as fit into
// convolution_gathered_bytes, and so do results that are not the library's to round: each is rounded once,
// with its bias. Sums over samples are added up part by part, in their order.
#pragma once

#include <optional>

#include "gathered_product.hpp"
#include "library_convolution.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

class ConvolutionByLibrary {
 public:
  /// Nothing where the pass is left to products.
  [[nodiscard]] static std::optional<ConvolutionByLibrary> find(const GemmEngine& engine,
                                                                const ConvolutionShape& shape,
                                                                ConvolutionPass pass, DType type);

  /// Enough for so many samples, and for fewer.
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t samples) const;

  /// The map or its adjoint; with a bias where it leads forward.
  void run(const Execution& exec, const GatheredOperands& operands, std::int64_t samples,
           void* workspace) const;

  /// d_weights (+)= sum over to's points of d_to and what they see of `from`.
  void sum_weights(const Execution& exec, const Tensor& from, const Tensor& d_to, const Tensor& d_weights,
                   bool accumulate, void* workspace) const;

 private:
  struct MapPieces;
  struct SumPieces;

  ConvolutionByLibrary(LibraryConvolution& library, const ConvolutionShape& shape, ConvolutionPass pass,
                       DType type);

  [[nodiscard]] LibraryPass pass_of(std::int64_t samples) const;
  /// What the library reads is not ours as it is.
  [[nodiscard]] bool converts() const { return pass_.type != type_; }
  /// So is what it writes, but for the weights' gradient.
  [[nodiscard]] bool finishes() const { return pass_.result != type_; }

  LibraryConvolution* library_;
  LibraryPass pass_;  // of one sample
  DType type_;        // of our values
};

}  // namespace mylos
