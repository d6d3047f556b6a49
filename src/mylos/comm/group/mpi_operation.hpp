// MpiOperation: one operation over MPI from start to completion: the MPI exchange, then optionally the fold
// of the received slices.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

enum class MpiCall : std::uint8_t { allreduce, all_gather, all_to_all, broadcast, messages };

/// The plan of one operation. Stages whose memory is null are skipped.
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
  // Or MPI exchanges messages.
  std::span<const RankMessage> messages{};
  // MPI reads and writes the result, or the messages (mpi_messages.hpp), in `staged` instead of the
  // caller's memory.
  CommunicationBuffer result{};
  std::byte* staged = nullptr;
};

class MpiOperation {
 public:
  MpiOperation() = default;
  /// `requests`: requests_of(plan.messages.size()) or more, all MPI_REQUEST_NULL, which must outlive the
  /// operation.
  MpiOperation(const MpiPlan& plan, std::span<MPI_Request> requests) : plan_(plan), requests_(requests) {}
  /// Returns the number of MPI requests of an operation of so many messages.
  [[nodiscard]] static std::size_t requests_of(std::size_t messages);

  [[nodiscard]] const char* name() const { return plan_.name; }
  [[nodiscard]] bool is_complete() const { return stage_ == Stage::complete; }
  /// Starts the MPI exchange on `mpi`, the communicator of these ranks. All ranks begin their operations in
  /// the same order.
  void begin(const RankGroup& ranks, MPI_Comm mpi);
  [[nodiscard]] bool has_begun() const { return stage_ != Stage::planned; }
  /// Called with the result of MPI for the completed request `index`. Throws Error if it failed or did not
  /// receive what was expected.
  void check_request(const RankGroup& ranks, std::size_t index, int code, const MPI_Status& status) const;
  /// Runs the remaining stages once MPI has completed, that is if all requests are null. Returns true if this
  /// completes the operation. Folds the slices of `ranks` ranks on `kernels`, or on this thread if `kernels`
  /// is null.
  bool advance(int ranks, const Execution* kernels);

 private:
  enum class Stage : std::uint8_t { planned, exchanges, complete };
  [[nodiscard]] bool is_pending() const;
  void fold(int ranks, const Execution* kernels) const;

  MpiPlan plan_;
  Stage stage_ = Stage::planned;
  std::span<MPI_Request> requests_;  // MPI_REQUEST_NULL: not pending
};

/// Returns the MPI type that exchanges `type`. Throws Error if there is none.
[[nodiscard]] MPI_Datatype mpi_type(DType type);

}  // namespace mylos
