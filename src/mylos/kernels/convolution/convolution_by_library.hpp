// A convolution's passes by a library of convolutions, where the engine has one that is faster than products:
// a vendor's, or on hosts also minimal filtering of our own.
//
// Such a library knows zeros beyond the edges alone: where something else lies there, hosts copy the grid
// with it, and of the adjoint fold such a grid back, in float. What the library does not multiply (on hosts
// half, and bfloat16 where the processor does not) becomes floats, and so do results that are not the
// library's to round: each is rounded once, with its bias. All of that lies in the workspace, as many samples
// at a time as fit into convolution_gathered_bytes. Sums over samples are added up part by part, in their
// order.
//
// A device's library may refuse a pass when it is to run. Then products compute all of it.
#pragma once

#include <optional>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convolution/gathered_product.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos {

class ConvolutionByLibrary {
 public:
  /// Nothing where the pass is left to products.
  [[nodiscard]] static std::optional<ConvolutionByLibrary> find(const GemmEngine& engine,
                                                                const ConvolutionShape& shape,
                                                                ConvolutionPass pass, DType type);

  /// Enough for so many samples, and for fewer.
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t samples) const;

  /// Adds the passes of the library that a run of so many samples makes, and that are not in `passes` yet.
  void note_passes(std::int64_t samples, std::vector<LibraryPass>& passes) const;

  /// Whether sums over samples are the same for any number of threads.
  [[nodiscard]] bool has_same_sums_by_any_threads() const;

  /// Of a sample: the definition's, which has `by_definition`, or fewer by Winograd convolution, the products
  /// alone.
  [[nodiscard]] double multiplied_flops(double by_definition) const;

  /// Whether products must be able to take the place of a run.
  [[nodiscard]] bool may_refuse() const;

  /// The map or its adjoint; with a bias where it leads forward. False where the library refuses.
  [[nodiscard]] bool run(const Execution& exec, const GatheredOperands& operands, std::int64_t samples,
                         void* workspace) const;

  /// d_weights (+)= sum over to's points of d_to and what they see of `from`. False where the library
  /// refuses: d_weights is as it was.
  [[nodiscard]] bool sum_weights(const Execution& exec, const Tensor& from, const Tensor& d_to,
                                 const Tensor& d_weights, bool accumulate, void* workspace) const;

 private:
  struct MapPieces;
  struct SumPieces;

  ConvolutionByLibrary(LibraryConvolution& library, const ConvolutionShape& shape, ConvolutionPass pass,
                       DType type);

  [[nodiscard]] LibraryPass pass_of(std::int64_t samples) const;
  /// Whether the library's input is the padded grid of ours.
  [[nodiscard]] bool pads() const { return pass_.map.from != map_.from; }
  /// Of the adjoint, it is what the library writes.
  [[nodiscard]] bool folds() const { return pads() && pass_.pass == ConvolutionPass::adjoint; }
  /// What the library reads is not ours as it is.
  [[nodiscard]] bool converts() const { return pass_.type != type_; }
  /// So is what it writes, but for the weights' gradient.
  [[nodiscard]] bool finishes() const { return pass_.result != type_ || folds(); }
  /// Samples of the map's input as the library reads them: in `place`, where there is one.
  [[nodiscard]] const void* input(const Execution& exec, const Tensor& from, std::byte* place) const;

  LibraryConvolution* library_;
  ConvolutionMap map_;  // ours
  LibraryPass pass_;    // of one sample
  DType type_;          // of our values
};

}  // namespace mylos
