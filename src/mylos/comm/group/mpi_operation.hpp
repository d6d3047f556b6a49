// MpiOperation: one collective over MPI, from its call to its end: what MPI exchanges, then perhaps the fold
// of what arrived.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mylos/base/execution.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

enum class MpiCall : std::uint8_t { allreduce, all_gather, all_to_all, broadcast };

/// What is to be done. Parts without memory are left out.
struct MpiPlan {
  const char* name = nullptr;  // null: nothing is to be done
  // First MPI moves `count` elements, in place where nothing is sent.
  MpiCall call = MpiCall::all_gather;
  DType type = DType::fp32;
  int count = 0;
  int root = 0;
  Reduction reduction = Reduction::sum;
  const std::byte* sent = nullptr;
  std::byte* arrived = nullptr;
  // Then the parts of all ranks are folded into `folded`, times `factor`, and that into another type.
  CommunicationBuffer folded{};
  float factor = 1;
  CommunicationBuffer converted{};
  // `staged` is where MPI reads and writes the result in place of the caller's memory.
  CommunicationBuffer result{};
  std::byte* staged = nullptr;
};

class MpiOperation {
 public:
  MpiOperation() = default;
  explicit MpiOperation(const MpiPlan& plan) : plan_(plan) {}

  [[nodiscard]] const char* name() const { return plan_.name; }
  [[nodiscard]] bool over() const { return stage_ == Stage::over; }
  /// Asks MPI to begin, on the communicator of these ranks. All begin their operations in the same order.
  void begin(const RankGroup& ranks, MPI_Comm mpi);
  [[nodiscard]] bool has_begun() const { return stage_ != Stage::planned; }
  /// Does what follows where MPI is done with what it was asked: its request is null. True where it is over
  /// by that. Folds the parts of `ranks` ranks by `kernels`, or where that is null by this thread.
  bool advance(int ranks, const Execution* kernels);
  /// What MPI is at; MPI_REQUEST_NULL: nothing. Who tests it puts the result back.
  [[nodiscard]] MPI_Request& request() { return request_; }

 private:
  enum class Stage : std::uint8_t { planned, exchanges, over };
  void fold(int ranks, const Execution* kernels) const;

  MpiPlan plan_;
  Stage stage_ = Stage::planned;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

/// The type by which MPI exchanges it. Throws Error where it does not.
[[nodiscard]] MPI_Datatype mpi_type(DType type);
/// MPI is not ordered with kernels. Host-only execution spaces finish a kernel before its launch returns.
void finish_kernels(const Execution& execution);

}  // namespace mylos
