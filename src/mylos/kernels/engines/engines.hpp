// Engines: what computes the GEMMs, the attention and the convolutions of a network.
//
// A GEMM engine multiplies matrices. A vendor's library may compute attention or convolutions faster than
// GEMMs do. The set of the GEMM engine determines the libraries (engine_set.hpp).
#pragma once

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

class FusedAttention;
class LibraryConvolution;

/// The vendors' libraries of a machine. A pointer is null if there is no such library.
struct Libraries {
  FusedAttention* attention = nullptr;
  LibraryConvolution* convolution = nullptr;
};

/// A GEMM engine, and the libraries that may be used together with it. A cheap value that owns nothing. One
/// thread at a time may use it.
struct Engines {
  /// Without libraries, GEMMs compute everything.
  explicit Engines(GemmEngine& its_gemm, const Libraries& its_libraries = {})
      : gemm(its_gemm), libraries(its_libraries) {}

  GemmEngine& gemm;
  Libraries libraries;
};

}  // namespace mylos
