// The moving average of updated weights.
#pragma once

#include "mylos/optim/update/update_pass.hpp"

namespace mylos {

/// Runs one pass over spans of the same types, after their update. Does nothing if the step is skipped.
/// `new_share`: the fraction of the new weights in the average.
void update_average(const Execution& exec, const UpdateTypes& types, std::int64_t blocks,
                    std::span<const UpdateSpan> spans, const UpdateControl* control, float new_share);

}  // namespace mylos
