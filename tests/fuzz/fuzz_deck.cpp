// A deck's text, and behind its first zero byte an override of the command line.
#include "hostile_input.hpp"
#include "mylos/config/deck.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mylos;
  const std::string_view input = fuzz::text_of(data, size);
  const auto end = input.find('\0');
  std::vector<std::string> overrides;
  if (end != std::string_view::npos) overrides.emplace_back(input.substr(end + 1));
  fuzz::take_or_refuse(size, [&] {
    const Deck deck = read_deck(input.substr(0, end), "deck.toml", overrides);
    // What a run writes down of itself must read back to the same run.
    if (read_deck(deck.resolved, "resolved.toml", {}).resolved != deck.resolved) std::abort();
  });
  return 0;
}
