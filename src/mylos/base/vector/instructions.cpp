#include "mylos/base/instructions.hpp"

#include <fmt/ranges.h>

#include <array>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/vector/vector_dispatch.hpp"

namespace mylos {
namespace {

struct Named {
  Instructions instructions;
  std::string_view name;
};

constexpr std::array<Named, 6> all = {{{Instructions::baseline, "baseline"},
                                       {Instructions::avx2, "avx2"},
                                       {Instructions::avx512, "avx512"},
                                       {Instructions::avx512_bf16, "avx512-bf16"},
                                       {Instructions::neon, "neon"},
                                       {Instructions::sve, "sve"}}};

std::vector<std::string_view> names_of(const std::vector<Instructions>& list) {
  std::vector<std::string_view> names;
  for (const Instructions instructions : list) names.push_back(name_of(instructions));
  return names;
}

}  // namespace

std::string_view name_of(Instructions instructions) {
  return all[static_cast<std::size_t>(instructions)].name;
}

std::vector<Instructions> available_instructions() {
  std::vector<Instructions> available;
  for (const Named& candidate : all) {
    if (is_available(candidate.instructions)) available.push_back(candidate.instructions);
  }
  return available;
}

bool is_available(Instructions instructions) {
  return vector_dispatch::has(instructions);
}

Instructions best_instructions() {
  return available_instructions().back();
}

Instructions instructions_in_use() {
  return vector_dispatch::in_use();
}

void use_instructions(Instructions instructions) {
  if (!is_available(instructions)) {
    fail_input(errors::no_instructions,
               "the instructions \"{}\" are not supported by this processor or this build, which have: {}",
               name_of(instructions), fmt::join(names_of(available_instructions()), ", "));
  }
  vector_dispatch::use(instructions);
}

Instructions instructions_named(std::string_view name) {
  for (const Named& candidate : all) {
    if (candidate.name == name) return candidate.instructions;
  }
  std::vector<std::string_view> names;
  for (const Named& candidate : all) names.push_back(candidate.name);
  fail_input(errors::bad_argument, "unknown instructions \"{}\"; expected one of: {}", name,
             fmt::join(names, ", "));
}

}  // namespace mylos
