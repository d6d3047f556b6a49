// Configuration of Kokkos Kernels 5.0.2 used by its headers alone: no third-party library, nothing instantiated
// beforehand, so every template is compiled where it is used. scripts/setup installs it beside the headers.
#ifndef KOKKOSKERNELS_CONFIG_H
#define KOKKOSKERNELS_CONFIG_H

#define KOKKOSKERNELS_VERSION 50002
#define KOKKOSKERNELS_VERSION_MAJOR 5
#define KOKKOSKERNELS_VERSION_MINOR 0
#define KOKKOSKERNELS_VERSION_PATCH 2

#define KOKKOSKERNELS_IMPL_COMPILE_LIBRARY false
#define KOKKOSKERNELS_ENABLE_COMPONENT_BLAS
#define KOKKOSKERNELS_ENABLE_COMPONENT_BATCHED

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL)
#define KOKKOSKERNELS_ENABLE_HOST_ONLY
#endif

#endif
