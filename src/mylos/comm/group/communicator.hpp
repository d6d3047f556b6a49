// Communicator: collectives and messages on buffers in device memory, over MPI or NCCL.
//
// An operation starts after the work enqueued so far on an execution instance. After wait() returns, later
// work on that instance sees its result. Several operations may be in flight, each in its own slot; all ranks
// start the same operations in the same order (an exchange of messages: the ranks that take part). No
// operation allocates: reserve() allocates the memory of the slots beforehand. With one rank nothing is
// exchanged.
//
// Operations progress while the caller computes: NCCL's on the device, MPI's on a thread of the communicator,
// which alone calls MPI while an operation is in flight. The thread requires MPI_THREAD_SERIALIZED and
// buffers in host memory; otherwise MPI operations progress in wait().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mylos/base/device/work_recorder.hpp"
#include "mylos/base/dtype.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos {

class AgreementBuffer;

/// A buffer of `count` elements in device memory: fp32, fp16, bf16, fp64, int32 or uint8. uint8 supports
/// neither sum nor maximum.
struct CommunicationBuffer {
  void* data = nullptr;
  std::size_t count = 0;
  DType type = DType::fp32;
  [[nodiscard]] std::size_t bytes() const { return count * size_of(type); }
};

/// What a rank sends to another rank and receives from it; either may be empty. Tags distinguish the messages
/// of one exchange between the same two ranks: each is received with the tag with which it is sent.
struct RankMessage {
  int rank = 0;
  CommunicationBuffer sent{};  // only read
  CommunicationBuffer received{};
  int sent_tag = 0;
  int received_tag = 0;
};

/// The memory that an operation in flight needs.
struct SlotBytes {
  std::size_t exchanged = 0;  // of the largest buffer; an allreduce of floats counts size() times its bytes
  std::size_t summed_from_16_bits = 0;  // of the largest buffer of a reduce-scatter in a 16-bit type
  std::size_t messages = 0;             // of an exchange of messages, at most
  std::size_t message_bytes = 0;        // that they send and receive, at most
};

enum class Reduction : std::uint8_t { sum, max };

/// A started operation. Call wait() before you read its buffer.
struct Request {
  int slot = -1;  // -1: no operation to wait for
};

class Communicator {
 public:
  Communicator(MPI_Comm parent, double timeout_s) : ranks_(parent, timeout_s) {}
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] int rank() const { return ranks_.rank(); }
  [[nodiscard]] int size() const { return ranks_.size(); }
  /// Returns the same ranks for exchanges of host memory. These throw Error unless every operation has been
  /// waited for. If collectives run on the device, call synchronize() first: MPI and NCCL traffic must not be
  /// in flight together.
  [[nodiscard]] RankGroup& ranks() { return ranks_; }
  /// Returns whether collectives are device work, for which wait() does not block the host (NCCL). NCCL
  /// chooses the order in which floats are summed; MPI's are summed by the binary tree over ranks.
  [[nodiscard]] virtual bool runs_on_device() const = 0;

  /// Allocates staging for slots.size() operations in flight: slots[s] bounds the operation in slot s. Before
  /// the first call there is one slot, for operations without staging (none if MPI cannot access device
  /// memory). No operation may be in flight.
  virtual void reserve(std::span<const SlotBytes> slots) = 0;
  /// Returns the bytes that reserve() allocated.
  [[nodiscard]] virtual std::size_t staging_bytes() const = 0;
  /// Returns the bytes of device memory that the library allocated for its connections when this object was
  /// made; 0 over MPI. They are taken before free memory is measured, and no plan counts them.
  [[nodiscard]] virtual std::size_t connection_bytes() const { return 0; }

  /// Replaces every element by its sum or maximum over ranks, with the same bits on all ranks. Use it for
  /// small buffers: gradients use reduce-scatter and all-gather. NCCL would round sums of 16-bit types at
  /// each hop, and they are refused. A maximum of floats drops NaN. Here and below `slot` must be free: every
  /// operation started in it has been waited for.
  virtual Request start_allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction,
                                  std::size_t slot = 0) = 0;
  /// Reduces `buffer`, which consists of size() slices of equal length. `sum` has the length of one slice; it
  /// is this rank's slice in the buffer, or lies elsewhere and may have another type. It becomes factor × the
  /// sum over ranks of this rank's slice, in float by the binary tree over ranks (floats over NCCL: in its
  /// own order), rounded once to the buffer's type, then converted to the type of `sum`. The buffer's
  /// contents are lost. Types: fp32, fp16, bf16.
  virtual Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer,
                                       CommunicationBuffer sum, float factor = 1, std::size_t slot = 0) = 0;
  /// Writes the sum to this rank's slice of `buffer`.
  Request start_reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor = 1,
                               std::size_t slot = 0) {
    return start_reduce_scatter(execution, buffer, own_slice(buffer), factor, slot);
  }
  /// Gathers `buffer`, which consists of size() slices of equal length: this rank has filled its own slice,
  /// and all slices arrive on every rank.
  virtual Request start_all_gather(const Execution& execution, CommunicationBuffer buffer,
                                   std::size_t slot = 0) = 0;
  virtual Request start_broadcast(const Execution& execution, CommunicationBuffer buffer, int root,
                                  std::size_t slot = 0) = 0;
  /// Exchanges messages with some of the other ranks; ranks that exchange none need not call this. `messages`
  /// must remain valid until wait(). Over MPI a message of another size than expected is an Error that names
  /// the rank; NCCL does not check sizes.
  virtual Request start_exchange(const Execution& execution, std::span<const RankMessage> messages,
                                 std::size_t slot) = 0;
  /// Waits for an operation. Throws Error if it failed or did not complete within the timeout; the Error
  /// names operation and rank. The timeout counts from the start of this wait, not from the start of the
  /// operation.
  virtual void wait(const Execution& execution, Request& request) = 0;

  /// Abandons the operations in flight. Called before their memory is freed if no wait() will follow. The
  /// communicator is then unusable.
  virtual void abandon() = 0;

  /// Runs the step's agreement (agreement.hpp). No other operation may be in flight. The result flags loss
  /// scales that differ; check_scales() finds the ranks.
  virtual void agree(const Execution& execution, AgreementBuffer& buffer) = 0;

  /// Returns what captures work with collectives of this communicator (WorkRecorder), or null if nothing can.
  /// No operation may be in flight at the begin or end of a capture.
  [[nodiscard]] virtual std::unique_ptr<GraphCapture> make_capture() const { return nullptr; }
  /// Called after a graph with collectives was launched, which this object has not seen.
  virtual void on_launch() {}
  /// Called if a capture has failed: the operations started in it are not in flight.
  virtual void forget_captured() {}
  /// Graphs refer to the backend's state: they must be destroyed before it is. The communicator discards
  /// those of `recorder` if it has to end collectives that hang. remove_captures() before `recorder` is
  /// destroyed.
  void add_captures(WorkRecorder& recorder) { captures_.push_back(&recorder); }
  void remove_captures(WorkRecorder& recorder) { std::erase(captures_, &recorder); }

  /// Waits for all work of `execution`, including collectives, and detects collectives that hang. Call it
  /// instead of fence().
  virtual void synchronize(const Execution& execution) = 0;
  /// Calls synchronize(), then a barrier of all ranks.
  void barrier(const Execution& execution);

  void allreduce(const Execution& execution, CommunicationBuffer buffer, Reduction reduction);
  void reduce_scatter(const Execution& execution, CommunicationBuffer buffer, float factor = 1);
  void all_gather(const Execution& execution, CommunicationBuffer buffer);
  void broadcast(const Execution& execution, CommunicationBuffer buffer, int root);

 protected:
  static constexpr const char* exchange_name = "exchange with neighbours";  // of start_exchange()

  /// Returns whether any of the messages has elements. Throws Error unless all are with other ranks.
  [[nodiscard]] bool has_elements(std::span<const RankMessage> messages) const;
  /// Returns the elements of each rank's slice. Throws Error, naming `operation`, if the slices are not
  /// equal.
  [[nodiscard]] std::size_t slice_count(const CommunicationBuffer& buffer, const char* operation) const;
  /// Returns this rank's slice.
  [[nodiscard]] CommunicationBuffer own_slice(const CommunicationBuffer& buffer) const;

  /// Discards all graphs that contain collectives.
  void discard_captures();

  RankGroup ranks_;

 private:
  std::vector<WorkRecorder*> captures_;
};

/// Returns the communicator of the deck. "auto" selects NCCL if the build has it, memory is device memory and
/// there are several ranks; otherwise MPI. All ranks of `parent` call this; `parent` is duplicated. Throws
/// Error (bad_input) if the build does not have the requested backend, or if the ranks run different code
/// (same_code.hpp).
[[nodiscard]] std::unique_ptr<Communicator> make_communicator(MPI_Comm parent,
                                                              const CommunicationOptions& options);

/// Returns the staging bytes of a communicator of `ranks` ranks with these options after reserve(slots).
[[nodiscard]] std::size_t staging_bytes(const CommunicationOptions& options, int ranks,
                                        std::span<const SlotBytes> slots);

}  // namespace mylos
