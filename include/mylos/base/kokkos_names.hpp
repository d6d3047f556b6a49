// What headers need of Kokkos that code without kernels reads too: the type of the execution space, the words
// for functions that kernels may call, and the functions that these call.
//
// Of a build for NVIDIA devices nvcc compiles what includes Kokkos, and the host's compiler all else, in less
// than half of the time (cmake/device-compiler). There, Kokkos' headers are errors; these names mean what
// they mean on hosts.
#pragma once

#if defined(MYLOS_TARGET_CUDA) && !defined(__CUDACC__)
#include <bit>
#include <cmath>
#include <numbers>

#define KOKKOS_FUNCTION
#define KOKKOS_INLINE_FUNCTION inline
#define KOKKOS_FORCEINLINE_FUNCTION inline

namespace Kokkos {
class Cuda;
using DefaultExecutionSpace = Cuda;
using std::bit_cast;
using std::cos;
using std::fmax;
using std::pow;
namespace numbers = std::numbers;
}  // namespace Kokkos
#else
#include <Kokkos_BitManipulation.hpp>
#include <Kokkos_Core_fwd.hpp>
#include <Kokkos_Macros.hpp>
#include <Kokkos_MathematicalConstants.hpp>
#include <Kokkos_MathematicalFunctions.hpp>
#endif
