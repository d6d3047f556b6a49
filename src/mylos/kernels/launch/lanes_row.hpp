// LanesRow and LanesTeam: rows that the lanes of one device thread process without a barrier, while the other
// threads of the team process other rows. For device kernels only.
#pragma once

#include "mylos/base/device/target.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

namespace launch {

/// The lanes of one device thread.
struct LanesOfThread {
  using Member = Teams::member_type;
  static constexpr bool are_in_one_thread = true;
  KOKKOS_FORCEINLINE_FUNCTION static auto range(const Member& member, std::int64_t count) {
    return Kokkos::ThreadVectorRange(member, count);
  }
  KOKKOS_FORCEINLINE_FUNCTION static auto one(const Member& member) { return Kokkos::PerThread(member); }
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t count(const Member&) { return lanes_of_thread; }
  KOKKOS_FORCEINLINE_FUNCTION static int index(const Member&, int lane_of_thread) { return lane_of_thread; }
};

}  // namespace launch

using LanesRow = RowOfLanes<launch::LanesOfThread>;

/// Threads that share scratch memory which all of them can read.
class LanesTeam {
 public:
  KOKKOS_FUNCTION LanesTeam(const LanesRow::Member& member, std::int64_t scratch_floats)
      : member_(member),
        scratch_floats_(scratch_floats),
        scratch_(static_cast<float*>(member.team_scratch(0).get_shmem_aligned(
            static_cast<std::ptrdiff_t>(member.team_size() * scratch_floats * sizeof(float)), alignment))) {}

  static constexpr int alignment = 16;  // bytes, of the first thread's scratch memory

  [[nodiscard]] KOKKOS_FUNCTION int thread() const { return member_.team_rank(); }
  [[nodiscard]] KOKKOS_FUNCTION int threads() const { return member_.team_size(); }
  [[nodiscard]] KOKKOS_FUNCTION LanesRow row() const { return LanesRow(member_); }
  [[nodiscard]] KOKKOS_FUNCTION float* scratch(int thread) const {
    return scratch_ + thread * scratch_floats_;
  }
  KOKKOS_FUNCTION void barrier() const { member_.team_barrier(); }
  /// Calls body(i) for i in [0, count), distributed over all lanes of all threads.
  template <class Body>
  KOKKOS_FUNCTION void for_each(std::int64_t count, const Body& body) const {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(member_, count), body);
  }

 private:
  const LanesRow::Member& member_;
  std::int64_t scratch_floats_;
  float* scratch_;
};

/// Returns the threads of a team, each with `scratch_floats` floats of scratch memory; 0 if those of one
/// thread do not fit.
inline int threads_of_lanes(std::int64_t scratch_floats) {
  const std::int64_t fit = team_scratch_bytes / launch::smaller(team_scratch_bytes + 1, scratch_floats * 4);
  return static_cast<int>(launch::smaller(8, fit));
}

/// Calls body(index, team) for index in [0, count).
template <class Body>
void for_each_team_of_lanes(const Execution& exec, KernelName name, std::int64_t count,
                            std::int64_t scratch_floats, const Body& body) {
  static_assert(launch::captures_little<Body>);
  const int threads = threads_of_lanes(scratch_floats);
  const auto bytes = LanesTeam::alignment +
                     static_cast<int>(threads * scratch_floats * static_cast<std::int64_t>(sizeof(float)));
  Kokkos::parallel_for(
      name.string(),
      launch::RowTeams(exec, static_cast<int>(count), threads, launch::lanes_of_thread)
          .set_scratch_size(0, Kokkos::PerTeam(bytes)),
      KOKKOS_LAMBDA(const LanesRow::Member& member) {
        body(static_cast<std::int64_t>(member.league_rank()), LanesTeam(member, scratch_floats));
      });
}

}  // namespace mylos
