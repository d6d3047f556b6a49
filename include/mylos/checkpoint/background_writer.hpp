// BackgroundWriter: writes a checkpoint on a thread of its own from a copy of the state, while the run goes
// on.
//
// One process of the run has one. Its thread makes no MPI call and shares HDF5 with the others piece by
// piece.
#pragma once

#include <Kokkos_Core.hpp>
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/checkpoint/options.hpp"
#include "mylos/checkpoint/state.hpp"

namespace mylos {

class BackgroundWriter {
 public:
  /// How a write ended.
  struct Outcome {
    std::int64_t step = 0;
    std::string path;  // of the file that is there now; empty where there is an error
    std::optional<Error> error;
    double seconds = 0;  // of writing, beside the steps
  };

  /// Host memory that a copy of `state` takes.
  [[nodiscard]] static std::size_t memory_bytes(const CheckpointState& state);
  /// Takes that memory at once.
  explicit BackgroundWriter(const CheckpointState& state);
  /// Waits for a write in flight.
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Copies the state and returns; the file appears, or not, when the outcome says so. The write before must
  /// have been taken by take() or wait().
  void begin(const std::string& folder, CheckpointHeader header, const CheckpointState& state,
             const CheckpointOptions& options);
  /// The outcome of a write that has ended, once.
  [[nodiscard]] std::optional<Outcome> take();
  /// The same, after waiting for a write in flight.
  [[nodiscard]] std::optional<Outcome> wait();

 private:
  [[nodiscard]] CheckpointState copy_of(const CheckpointState& state);

  Kokkos::View<std::byte*, Kokkos::HostSpace> large_;  // what lies in device memory
  std::vector<std::byte> small_;                       // the rest
  std::thread thread_;
  std::atomic<bool> ended_ = false;
  Outcome outcome_;  // the thread's until ended_
};

}  // namespace mylos
