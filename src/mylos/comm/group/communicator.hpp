// Communicator: collectives on buffers in device memory, over MPI or NCCL.
//
// An operation is started on an execution instance after whose work it runs, and is over for later work on
// that instance once wait() returned. Several may be in flight, each in a slot of its own; all ranks start
// the same ones in the same order. No operation allocates: reserve() sizes the slots' staging memory
// beforehand. With one rank nothing is exchanged.
//
// Operations go on while the caller computes: NCCL's on the device; MPI's by a thread of the communicator,
// which alone calls MPI as long as one is in flight. That takes MPI_THREAD_SERIALIZED and buffers in host
// memory. Without them MPI's operations go on in wait().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mylos/base/dtype.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

/// `count` elements in device memory: fp32, fp16, bf16, fp64 or int32; uint8, which have neither sum nor
/// maximum.
struct CommunicationBuffer {
  void* data = nullptr;
  std::size_t count = 0;
  DType type = DType::fp32;
  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

enum class Reduction : std::uint8_t { sum, max };

/// An operation that was started. wait() for it before its buffer is read.
struct Request {
  int slot = -1;  // -1: nothing is left to wait for
};

class Communicator {
 public:
  Communicator(MPI_Comm parent, double timeout_s) : ranks_(parent, timeout_s) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return ranks_.rank(); }
  [[nodiscard]] int size() const { return ranks_.size(); }
  /// The same ranks for exchanges of host memory: only when every operation was waited for, else they throw
  /// Error. Where collectives run on the device: only after synchronize(), MPI and NCCL traffic must not be
  /// in flight together.
  [[nodiscard]] RankGroup& ranks() { return ranks_; }
  /// Whether collectives are work of the device, for which the host does not wait in wait() (NCCL).
  [[nodiscard]] virtual bool runs_on_device() const = 0;
  /// Whether reductions sum in float by the binary tree over ranks and round once (MPI); else they round at
  /// each hop.
  [[nodiscard]] virtual bool sums_in_rank_order() const = 0;

  /// Makes room for slot_bytes.size() operations in flight: the one in slot s exchanges up to slot_bytes[s]
  /// bytes (an allreduce of floats counts size() times its bytes). Before it there is one slot, for what
  /// needs no staging: nothing, where MPI does not take the memory of a device. Nothing may be in flight.
  virtual void reserve(std::span<const std::size_t> slot_bytes) = 0;
  /// What reserve allocated beside the callers' buffers.
  [[nodiscard]] virtual std::size_t staging_bytes() const = 0;

  /// Every element becomes its sum or maximum over ranks, with the same bits everywhere. For small things:
  /// gradients take reduce-scatter and all-gather. A maximum of floats drops NaN. Here and below: `slot` is
  /// free, as no operation was started in it that was not waited for.
  virtual Request start_allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction,
                                  std::size_t slot = 0) = 0;
  /// `buffer` is size() slices of equal length. `sum`, of one such length, is in the buffer the slice of this
  /// rank, or elsewhere and perhaps of another type. It becomes factor × the sum of this rank's slice over
  /// ranks: over MPI summed in float by the binary tree over ranks and rounded once to the buffer's type
  /// (NCCL rounds at each hop), then to its own. The buffer's contents are lost. Types fp32, fp16, bf16.
  virtual Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                       CommunicationBuffer sum, float factor = 1, std::size_t slot = 0) = 0;
  /// The sum takes the place of this rank's slice.
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor = 1,
                               std::size_t slot = 0) {
    return start_reduce_scatter(execution, buffer, own_slice(buffer), factor, slot);
  }
  /// `buffer` is size() slices of equal length, of which this rank has filled its own; all arrive everywhere.
  virtual Request start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                                   std::size_t slot = 0) = 0;
  virtual Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                                  std::size_t slot = 0) = 0;
  /// Ends an operation. Throws Error when it failed or, naming operation and rank, did not end within the
  /// timeout: of this wait, however long ago it was started.
  virtual void wait(const Execution& execution, Request& request) = 0;

  /// Before the memory of what is in flight goes, where no wait() will come: nothing can follow.
  virtual void abandon() = 0;

  /// The step's agreement (agreement.hpp), when nothing else is in flight. Loss scales that differ are in its
  /// result: check_scales() says whose.
  virtual void agree(const Execution& execution, AgreementBuffer& buffer) = 0;

  /// Waits for all work of `execution`, collectives included, and finds those that hang: call it instead of
  /// fence().
  virtual void synchronize(const Execution& execution) = 0;
  /// synchronize, then a barrier of all ranks.
  void barrier(const Execution& execution);

  void allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction);
  void reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor = 1);
  void all_gather(const Execution& execution, CommunicationBuffer buffer);
  void broadcast(const Execution& execution, CommunicationBuffer buffer, int root);

 protected:
  /// Elements of each rank's slice. Throws Error, naming `operation`, where they are not equally many.
  [[nodiscard]] std::size_t slice_count(const CommunicationBuffer& buffer, const char* operation) const;
  /// This rank's.
  [[nodiscard]] CommunicationBuffer own_slice(const CommunicationBuffer& buffer) const;

  RankGroup ranks_;
};

/// The communicator that the deck asks for; automatic: NCCL where it is built, memory is a device's and there
/// are several ranks, else MPI. All ranks of `parent` call this; `parent` is duplicated. Throws Error
/// (bad_input) when the deck asks for a backend that this build has not, or ranks run different code
/// (same_code.hpp).
[[nodiscard]] std::unique_ptr<Communicator> make_communicator(MPI_Comm parent,
                                                              const CommunicationOptions& options);

/// What a communicator of `ranks` ranks made with these options takes after reserve(slot_bytes).
[[nodiscard]] std::size_t staging_bytes(const CommunicationOptions& options, int ranks,
                                        std::span<const std::size_t> slot_bytes);

}  // namespace mylos
