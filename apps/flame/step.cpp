#include "step.hpp"

#include "rate.hpp"
#include "reaction.hpp"  // written by `mylos export`, after Kokkos_Core.hpp: so its functions are KOKKOS_INLINE_FUNCTION

namespace flame {
namespace {

using Team = Kokkos::TeamPolicy<Space>;

void by_formula(const Space& space, const Step& step) {
  Kokkos::parallel_for(
      "by formula", Kokkos::RangePolicy<Space>(space, 0, step.cells()),
      KOKKOS_LAMBDA(int cell) { step.update(cell, reaction_rate(step.now(cell, 0), step.now(cell, 1))); });
}

/// A thread per cell, with the vectors between the layers on its stack.
void by_threads(const Space& space, const Step& step) {
  Kokkos::parallel_for(
      "network by threads", Kokkos::RangePolicy<Space>(space, 0, step.cells()), KOKKOS_LAMBDA(int cell) {
        reaction::real rate[reaction::outputs];
        reaction::evaluate(Kokkos::subview(step.now, cell, Kokkos::ALL), rate);
        step.update(cell, rate[0]);
      });
}

/// A team per row of cells: its threads compute the outputs of each layer together, a cell after the other,
/// and then update a cell each. Vectors between the layers and the row's rates are in the team's scratch.
void by_teams(const Space& space, const Step& step) {
  const std::size_t vectors =
      reaction::scratch_bytes;  // on the host: device code cannot refer to the constant
  const std::size_t rates = reaction::outputs * sizeof(reaction::real) * static_cast<std::size_t>(step.side);
  const auto scratch = static_cast<int>(vectors + rates + 16);  // each part begins at a multiple of 8 bytes
  Kokkos::parallel_for(
      "network by teams", Team(space, step.side, Kokkos::AUTO).set_scratch_size(0, Kokkos::PerTeam(scratch)),
      KOKKOS_LAMBDA(const Team::member_type& team) {
        void* const work = team.team_scratch(0).get_shmem(vectors);
        auto* const rate = static_cast<reaction::real*>(team.team_scratch(0).get_shmem(rates));
        const int first = team.league_rank() * step.side;
        for (int i = 0; i < step.side; ++i)
          reaction::evaluate(team, Kokkos::subview(step.now, first + i, Kokkos::ALL), rate + i, work);
        Kokkos::parallel_for(Kokkos::TeamVectorRange(team, step.side),
                             [&](int i) { step.update(first + i, rate[i]); });
      });
}

}  // namespace

void advance(const Space& space, const Step& step, Form form) {
  switch (form) {
    case Form::formula:
      return by_formula(space, step);
    case Form::network_by_threads:
      return by_threads(space, step);
    case Form::network_by_teams:
      return by_teams(space, step);
  }
}

}  // namespace flame
