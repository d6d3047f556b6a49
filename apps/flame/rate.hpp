// The closed form that the network learns: the rate of one reaction that consumes fuel and heats.
#pragma once

#include <Kokkos_MathematicalFunctions.hpp>

namespace flame {

/// Returns the rate of a reaction with a large activation energy (Y. Zeldovich et al., "The Mathematical
/// Theory of Combustion and Explosions", 1985), scaled so that a plane flame moves at about speed 1 and is
/// about 1 thick. temperature: 0 in fresh gas, 1 where all of it has burnt; fuel: 1 in fresh gas.
KOKKOS_INLINE_FUNCTION double reaction_rate(double temperature, double fuel) {
  constexpr double activation = 5;  // Zeldovich number
  constexpr double expansion = 0.8;
  const double missing = 1 - temperature;
  return activation * activation / 2 * fuel * Kokkos::exp(-activation * missing / (1 - expansion * missing));
}

}  // namespace flame
