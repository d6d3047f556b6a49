#include "mylos/model/block/loss_head.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

ConstTensor LossHead::deviations_of(const StepContext& /*context*/, const LossMemory& /*memory*/) const {
  fail_run(errors::internal, "the loss \"{}\" has no standard deviations", loss().name);
}

}  // namespace mylos
