// Engines: what computes the GEMMs, the attention and the convolutions of a network.
//
// A GEMM engine multiplies matrices. A vendor's library may compute attention or convolutions faster than
// GEMMs do. The engines are Mylos' own types: a program's blocks only pass them on.
#pragma once

namespace mylos {

class FusedAttention;
class GemmEngine;
class LibraryConvolution;

/// The vendors' libraries of a machine. A pointer is null if there is no such library.
struct Libraries {
  FusedAttention* attention = nullptr;        ///< of attention
  LibraryConvolution* convolution = nullptr;  ///< of convolutions
};

/// A GEMM engine, and the libraries that may be used together with it. A cheap value that owns nothing. One
/// thread at a time may use it.
struct Engines {
  /// Without libraries, GEMMs compute everything.
  explicit Engines(GemmEngine& its_gemm, const Libraries& its_libraries = {})
      : gemm(its_gemm), libraries(its_libraries) {}

  GemmEngine& gemm;     ///< multiplies matrices
  Libraries libraries;  ///< null where there is none
};

}  // namespace mylos
