// The moving average of the weights that a pass has moved.
#pragma once

#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

/// One pass over spans of the same types, behind their update. Nothing where the step is skipped.
/// `new_share`: of the weights, in the average.
void move_average(const Execution& exec, const UpdateTypes& types, std::int64_t blocks,
                  const Kokkos::View<UpdateSpan*, Device>& spans, const UpdateControl* control,
                  float new_share);

}  // namespace mylos
