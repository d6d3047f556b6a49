// [communication]: how ranks exchange gradients and agree.
#pragma once

#include <cstdint>

namespace mylos {

enum class CommunicationBackend { automatic, mpi, nccl };
/// The type in which gradients travel. automatic: bfloat16 as bfloat16, half and float as float.
enum class ReduceType { automatic, compute, fp32 };

struct CommunicationOptions {
  CommunicationBackend backend = CommunicationBackend::automatic;
  std::int64_t bucket_bytes = std::int64_t{25} << 20;
  ReduceType reduce_type = ReduceType::automatic;
  double timeout_s = 300;

  bool operator==(const CommunicationOptions&) const = default;
};

}  // namespace mylos
