#include "mylos/optim/gradients/statistics_exchange.hpp"

#include "mylos/base/device/timed.hpp"

namespace mylos {

void StatisticsExchange::add_up(const Execution& exec, const Tensor& doubles) {
  if (communicator_.size() == 1) return;
  timed(communication_s_, [&] {
    const CommunicationBuffer buffer{doubles.data(), static_cast<std::size_t>(doubles.size()),
                                     doubles.type()};
    Request request = communicator_.start_allreduce(exec, buffer, Reduction::sum, slot_);
    communicator_.wait(exec, request);
  });
}

}  // namespace mylos
