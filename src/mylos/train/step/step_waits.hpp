// StepWaits: what held up the steps of a trainer, in seconds since it was made.
#pragma once

namespace mylos {

struct StepWaits {
  double communication_s = 0;  // reductions, gathers and agreements, as far as steps waited for them
  double data_s = 0;           // until the next batch was there
};

}  // namespace mylos
