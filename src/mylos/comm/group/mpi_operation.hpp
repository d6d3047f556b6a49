// MpiOperation: one collective over MPI from start to completion: the MPI exchange, then optionally the fold
// of the received slices.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

enum class MpiCall : std::uint8_t { allreduce, all_gather, all_to_all, broadcast };

/// The plan of one collective. Stages whose memory is null are skipped.
struct MpiPlan {
  const char* name = nullptr;  // null: no operation
  // First MPI exchanges `count` elements, in place if `sent` is null.
  MpiCall call = MpiCall::all_gather;
  DType type = DType::fp32;
  int count = 0;
  int root = 0;
  Reduction reduction = Reduction::sum;
  const std::byte* sent = nullptr;
  std::byte* arrived = nullptr;
  // Then the slices of all ranks are folded into `folded`, multiplied by `factor`, and optionally converted
  // to another type.
  CommunicationBuffer folded{};
  float factor = 1;
  CommunicationBuffer converted{};
  // MPI reads and writes the result in `staged` instead of the caller's memory.
  CommunicationBuffer result{};
  std::byte* staged = nullptr;
};

class MpiOperation {
 public:
  MpiOperation() = default;
  explicit MpiOperation(const MpiPlan& plan) : plan_(plan) {}

  [[nodiscard]] const char* name() const { return plan_.name; }
  [[nodiscard]] bool is_complete() const { return stage_ == Stage::complete; }
  /// Starts the MPI exchange on `mpi`, the communicator of these ranks. All ranks begin their operations in
  /// the same order.
  void begin(const RankGroup& ranks, MPI_Comm mpi);
  [[nodiscard]] bool has_begun() const { return stage_ != Stage::planned; }
  /// Runs the remaining stages once MPI has completed, that is if the request is null. Returns true if this
  /// completes the operation. Folds the slices of `ranks` ranks on `kernels`, or on this thread if `kernels`
  /// is null.
  bool advance(int ranks, const Execution* kernels);
  /// Returns the MPI request; MPI_REQUEST_NULL: none pending. A caller that tests it stores the result back.
  [[nodiscard]] MPI_Request& request() { return request_; }

 private:
  enum class Stage : std::uint8_t { planned, exchanges, complete };
  void fold(int ranks, const Execution* kernels) const;

  MpiPlan plan_;
  Stage stage_ = Stage::planned;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// Returns the MPI type that exchanges `type`. Throws Error if there is none.
[[nodiscard]] MPI_Datatype mpi_type(DType type);
/// Waits for the kernels of `execution`: MPI calls are not ordered with kernels. Host-only execution spaces
/// finish a kernel before its launch returns.
void finish_kernels(const Execution& execution);

}  // namespace mylos
