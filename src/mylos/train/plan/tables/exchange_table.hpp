// The table of a step's exchanges, which `mylos plan` prints of divided samples.
#pragma once

#include <string>

#include "mylos/train/plan/division/step_exchanges.hpp"

namespace mylos {

[[nodiscard]] std::string exchange_table(const StepExchanges& exchanges, int ranks);

}  // namespace mylos
