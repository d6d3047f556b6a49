// The passes of a convolution by a library of convolutions, if there is one that is faster than GEMMs:
// a vendor's library, or on hosts also our Winograd convolution.
//
// Such a library supports only zero padding. For other padding, hosts copy the grid with its padding; for the
// adjoint they fold such a grid back, in float. Types that the library does not multiply (on hosts half, and
// bfloat16 if the processor does not) are converted to float, and so are results that the library must not
// round: each is rounded once, with its bias. All copies are in the workspace, for the number of samples at a
// time that fits into convolution_gathered_bytes. Sums over samples are added in the order of these parts.
//
// A device's library may refuse a pass at run time. Then GEMMs compute the complete pass.
#pragma once

#include <optional>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convolution/gathered_gemm.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/engines/engines.hpp"

namespace mylos {

class ConvolutionByLibrary {
 public:
  /// Returns nothing if GEMMs compute the pass.
  [[nodiscard]] static std::optional<ConvolutionByLibrary> find(const Libraries& libraries,
                                                                const ConvolutionShape& shape,
                                                                ConvolutionPass pass, DType type);

  /// Returns the bytes that suffice for `samples` samples and for fewer.
  [[nodiscard]] std::size_t workspace_bytes(std::int64_t samples) const;

  /// Appends to `passes` the library passes of a run with `samples` samples that it does not contain yet.
  void note_passes(std::int64_t samples, std::vector<LibraryPass>& passes) const;

  /// Returns true if sums over samples have the same bits for any number of threads.
  [[nodiscard]] bool has_thread_independent_sums() const;

  /// Returns the operations per sample: `by_definition`, or fewer with Winograd convolution (its products
  /// only).
  [[nodiscard]] double multiplied_flops(double by_definition) const;

  /// Returns true if GEMMs must be able to replace a run.
  [[nodiscard]] bool may_refuse() const;

  /// Applies the map or its adjoint, with a bias in the forward pass. Returns false if the library refuses.
  [[nodiscard]] bool run(const Execution& exec, const GatheredOperands& operands, std::int64_t samples,
                         void* workspace) const;

  /// Computes d_weights (+)= sum over to's points of d_to and what they see of `from`. Returns false if the
  /// library refuses; then d_weights is unchanged.
  [[nodiscard]] bool sum_weights(const Execution& exec, const ConstTensor& from, const ConstTensor& d_to,
                                 const Tensor& d_weights, bool accumulate, void* workspace) const;

 private:
  struct MapPieces;
  struct SumPieces;

  ConvolutionByLibrary(LibraryConvolution& library, const ConvolutionShape& shape, ConvolutionPass pass,
                       DType type);

  [[nodiscard]] LibraryPass pass_of(std::int64_t samples) const;
  /// Returns true if the library's input is our padded grid.
  [[nodiscard]] bool pads() const { return pass_.map.from != map_.from; }
  /// Returns true if the library writes the padded grid (in the adjoint).
  [[nodiscard]] bool folds() const { return pads() && pass_.pass == ConvolutionPass::adjoint; }
  /// Returns true if the library reads another type than ours.
  [[nodiscard]] bool converts() const { return pass_.type != type_; }
  /// Returns true if the library writes something else than our result. Not used for the weights' gradient.
  [[nodiscard]] bool finishes() const { return pass_.result != type_ || folds(); }
  /// Returns samples of the map's input in the form that the library reads, in `memory` if it is not null.
  [[nodiscard]] const void* input(const Execution& exec, const ConstTensor& from, std::byte* memory) const;

  LibraryConvolution* library_;
  ConvolutionMap map_;  // the convolution's
  LibraryPass pass_;    // the library's, for one sample
  DType type_;          // of the convolution's values
};

}  // namespace mylos
