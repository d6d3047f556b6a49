#include "mylos/train/plan/tables/exchange_table.hpp"

#include <fmt/format.h>

#include "mylos/base/errors/units.hpp"

namespace mylos {

std::string exchange_table(const StepExchanges& exchanges, int ranks) {
  const auto size = [](std::size_t bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); };
  std::string text = fmt::format(
      "exchanges of a step, of the rank that sends most: its box has {} points, and up to {} around it\n\n",
      exchanges.box_points, exchanges.halo_points);
  text += fmt::format("  {:<34}{:>12}{:>10}\n", "sent to the ranks of a sample", "bytes", "messages");
  const auto add_row = [&](const char* name, const SampleTraffic& sent) {
    text += fmt::format("  {:<34}{:>12}{:>10}\n", name, size(sent.bytes), sent.messages);
  };
  add_row("faces, forward", exchanges.forward_faces.sent);
  add_row("faces, backward and recomputed", exchanges.backward_faces.sent);
  add_row("sums", exchanges.sums.sent);
  add_row("in all", exchanges.sent());
  text += fmt::format("  {:<34}{:>12}\n", fmt::format("gradients, added up over {} ranks", ranks),
                      size(exchanges.gradient_bytes));
  return text;
}

}  // namespace mylos
