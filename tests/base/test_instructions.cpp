// The available instructions, compared with the system's information on the processor, and that vector code
// uses them.
#include "mylos/base/instructions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "base/vector_lanes.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/machine.hpp"
#include "support/refusal.hpp"

namespace mylos::instructions_test {

constexpr Instructions all[] = {Instructions::baseline,    Instructions::avx2, Instructions::avx512,
                                Instructions::avx512_bf16, Instructions::neon, Instructions::sve};

/// Returns the flags of the first processor as Linux lists them.
std::set<std::string> processor_flags() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

/// Sets the instructions of a test, and restores the previous ones at its end.
class Using {
 public:
  explicit Using(Instructions instructions) { use_instructions(instructions); }
  ~Using() { use_instructions(before_); }
  Using(const Using&) = delete;
  Using& operator=(const Using&) = delete;

 private:
  Instructions before_ = instructions_in_use();
};

TEST(Instructions, AreFoundByTheirNames) {
  for (const Instructions instructions : all)
    EXPECT_EQ(instructions_named(name_of(instructions)), instructions);
  EXPECT_EQ(name_of(Instructions::avx512_bf16), "avx512-bf16");
}

/// A build for this machine alone has its best set and the one below; others have all.
TEST(Instructions, AreTheBestThatTheProcessorHas) {
#if defined(__x86_64__)
  const std::set<std::string> flags = processor_flags();
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) { return flags.contains(name); });
  };
  const bool has_avx2 = has({"avx2", "fma", "f16c", "bmi1", "bmi2"});
  const bool has_avx512 = has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  EXPECT_LE(is_available(Instructions::avx2), has_avx2);
  EXPECT_EQ(is_available(Instructions::avx512), has_avx512);
  EXPECT_LE(is_available(Instructions::avx512_bf16), has({"avx512_bf16"}));
  EXPECT_TRUE(has_avx512 || is_available(Instructions::avx2) == has_avx2);
  EXPECT_TRUE(is_available(Instructions::baseline) || available_instructions().size() == 2u);
  EXPECT_FALSE(is_available(Instructions::neon));
#else
  EXPECT_FALSE(is_available(Instructions::avx2));
  EXPECT_TRUE(is_available(Instructions::neon) || is_available(Instructions::baseline));
#endif
}

TEST(Instructions, RiseToTheBest) {
  const auto available = available_instructions();
  EXPECT_TRUE(std::is_sorted(available.begin(), available.end()));
  EXPECT_EQ(best_instructions(), available.back());
}

TEST(Instructions, VectorCodeRunsByThoseInUse) {
  for (const Instructions instructions : available_instructions()) {
    const Using chosen(instructions);
    EXPECT_EQ(instructions_in_use(), instructions);
    const std::size_t lanes = test::vector_lanes();
    switch (instructions) {
      case Instructions::baseline:
      case Instructions::neon:
        EXPECT_EQ(lanes, 4u);
        break;
      case Instructions::avx2:
        EXPECT_EQ(lanes, 8u);
        break;
      case Instructions::avx512:
      case Instructions::avx512_bf16:
        EXPECT_EQ(lanes, 16u);
        break;
      case Instructions::sve:
        EXPECT_GE(lanes, 4u);
        break;
    }
  }
}

TEST(Instructions, OfAnotherProcessorAreRefusedAndThoseHereNamed) {
  const Instructions before = instructions_in_use();
  for (const Instructions instructions : all) {
    if (is_available(instructions)) continue;
    const auto use = [&] { use_instructions(instructions); };
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::no_instructions, {name_of(instructions)}, use));
    for (const Instructions here : available_instructions())
      EXPECT_TRUE(test::refuses(errors::no_instructions, {name_of(here)}, use));
    EXPECT_EQ(instructions_in_use(), before);
  }
}

TEST(Instructions, OfNoProcessorAreRefusedAndAllNamed) {
  const auto find = [] { static_cast<void>(instructions_named("avx3")); };
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_argument, {"avx3"}, find));
  for (const Instructions instructions : all)
    EXPECT_TRUE(test::refuses(errors::bad_argument, {name_of(instructions)}, find));
}

}  // namespace mylos::instructions_test
