// Error ids of the machine and the build. docs/reference/errors.md explains each.
#pragma once

#include "mylos/base/error_id.hpp"

namespace mylos::errors {

/// This build is for devices, and the node shows none.
inline constexpr ErrorId no_device{"no-device"};
/// The device is of an older architecture than the build, or of another one (AMD).
inline constexpr ErrorId device_too_old{"device-too-old"};
/// Several ranks share a device or a GPU (MIG) and cannot exchange over NCCL.
inline constexpr ErrorId device_shared{"device-shared"};
/// A call of the device's runtime failed.
inline constexpr ErrorId device_failed{"device-failed"};
/// The program was built without the library or feature.
inline constexpr ErrorId not_in_build{"not-in-build"};
/// The processor, the build or oneDNN lacks instructions that the deck or the build asks for.
inline constexpr ErrorId no_instructions{"no-instructions"};
/// The process has two copies of Kokkos, the program's and that of Mylos, or the program was compiled with
/// another version of Kokkos than Mylos.
inline constexpr ErrorId kokkos_mismatch{"kokkos-mismatch"};
/// A library (HDF5, oneDNN, cuBLASLt, cuDNN) failed or has no routine for this case.
inline constexpr ErrorId library_failed{"library-failed"};
/// An exchange between ranks failed: MPI or NCCL reported an error, a rank did not answer, or a sum is wrong.
inline constexpr ErrorId communication_failed{"communication-failed"};
/// A call of the operating system failed.
inline constexpr ErrorId system_failed{"system-failed"};

}  // namespace mylos::errors
