// StepWaits: the seconds that a trainer has waited in its steps since it was made.
#pragma once

namespace mylos {

struct StepWaits {
  double communication_s = 0;  // for reductions, gathers and agreements
  double data_s = 0;           // for the next batch
};

}  // namespace mylos
