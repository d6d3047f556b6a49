#include "window.hpp"

#include <algorithm>
#include <utility>

#include "random.hpp"

namespace reacting {

Window::Window(int capacity, int batch)
    : rows("window", static_cast<std::size_t>(capacity), inputs_of_network + 1),
      batch_(batch),
      all_inputs_("batch inputs", static_cast<std::size_t>(batch), inputs_of_network),
      all_targets_("batch targets", static_cast<std::size_t>(batch), 1) {}

void Window::append(const Rows& inputs, const Rows& targets, int count) {
  const Rows window = rows;
  const auto capacity = static_cast<std::int64_t>(rows.extent(0));
  const std::int64_t first = appended;
  const int skipped = static_cast<int>(std::max<std::int64_t>(0, count - capacity));
  Kokkos::parallel_for(
      "append", Kokkos::RangePolicy<>(skipped, count), KOKKOS_LAMBDA(int row) {
        const std::int64_t slot = (first + row) % capacity;
        for (int i = 0; i < inputs_of_network; ++i) window(slot, i) = inputs(row, i);
        window(slot, inputs_of_network) = targets(row, 0);
      });
  appended += count;
}

void Window::draw(std::uint64_t stream) {
  const auto filled =
      static_cast<std::uint64_t>(std::min<std::int64_t>(appended, static_cast<std::int64_t>(rows.extent(0))));
  const int count = filled == 0 ? 0 : batch_;
  const Rows window = rows;
  const Rows inputs = all_inputs_;
  const Rows targets = all_targets_;
  Kokkos::parallel_for(
      "draw", count, KOKKOS_LAMBDA(int row) {
        const std::uint64_t slot = random_bits(stream, static_cast<std::uint64_t>(row)) % filled;
        for (int i = 0; i < inputs_of_network; ++i) inputs(row, i) = window(slot, i);
        targets(row, 0) = window(slot, inputs_of_network);
      });
  const auto drawn = std::pair<std::size_t, std::size_t>(0, static_cast<std::size_t>(count));
  batch_inputs_ = Kokkos::subview(inputs, drawn, Kokkos::ALL);
  batch_targets_ = Kokkos::subview(targets, drawn, Kokkos::ALL);
}

}  // namespace reacting
