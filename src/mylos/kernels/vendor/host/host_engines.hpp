// What the libraries of hosts provide: oneDNN and Kokkos Kernels. no_onednn.cpp and no_kokkoskernels.cpp
// replace them in builds without them.
#pragma once

#include <memory>

#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

/// Returns the maker of the set of oneDNN; null if the build lacks it. If the set is not selected by its
/// name, oneDNN or the tiles compute each GEMM: according to gemm_table.hpp, or, with `measured`, according
/// to measurements as soon as there are some.
[[nodiscard]] MakeEngines onednn_engines();

/// Only in builds for hosts with oneDNN.
[[nodiscard]] std::unique_ptr<GemmEngine> make_onednn_gemm();
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_onednn_convolution();

/// Returns a library that computes each pass by Winograd convolution or by oneDNN, by a fixed rule. Only in
/// builds for hosts with oneDNN.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_host_convolution();

}  // namespace mylos
