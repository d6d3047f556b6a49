// Processors that this machine is not: what they lack, and what is then said.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include "../../apps/mylos/launch/processor.hpp"

namespace {

using namespace mylos::app;

// CPUID and XCR0 as the processors give them (features that the check asks about).
ProcessorWords haswell() {
  return {{0x7ffefbff, 0x000027ab, 0, 0, 0, 0x00000021, 0x7}};
}
ProcessorWords nehalem() {
  return {{0x00bce3bd, 0, 0, 0, 0, 0x00000001, 0}};
}
ProcessorWords skylake_server() {
  return {{0x7ffefbff, 0xd39ffffb, 0x8, 0x9c000600, 0, 0x00000121, 0xff}};
}

const char* const skylake_code[] = {"SSE4.2", "POPCNT", "AVX2", "FMA", "AVX-512F", "AVX-512BW", nullptr};

TEST(Processor, OfThisMachineRunsWhatWasBuiltOnIt) {
  const char* first = nullptr;
  EXPECT_EQ(count_missing(read_processor(), built_with, &first), 0) << first;
}

TEST(Processor, WithoutWideVectorsIsToldSo) {
  const char* first = nullptr;
  EXPECT_EQ(count_missing(skylake_server(), skylake_code, &first), 0);
  EXPECT_EQ(count_missing(haswell(), skylake_code, &first), 2);
  EXPECT_STREQ(first, "AVX-512F");
  EXPECT_EQ(count_missing(nehalem(), skylake_code, &first), 4);
  EXPECT_STREQ(first, "AVX2");
}

TEST(Processor, HasNoVectorsThatTheOperatingSystemDoesNotSave) {
  ProcessorWords processor = skylake_server();
  EXPECT_TRUE(has_feature(processor, "AVX-512F"));
  processor.word[ProcessorWords::xcr0] = 0x7;
  EXPECT_FALSE(has_feature(processor, "AVX-512F"));
  EXPECT_TRUE(has_feature(processor, "AVX2"));
  processor.word[ProcessorWords::xcr0] = 0;
  EXPECT_FALSE(has_feature(processor, "AVX2"));
  EXPECT_TRUE(has_feature(processor, "SSE4.2"));
}

TEST(Processor, IsOfferedTheBestArchitectureThatItRuns) {
  EXPECT_STREQ(architecture_for(skylake_server()), "SKX");
  EXPECT_STREQ(architecture_for(haswell()), "HSW");
  EXPECT_STREQ(architecture_for(nehalem()), "NONE");
}

// A program that says it was built for a processor of tomorrow ends before its own static initialisers.
TEST(Processor, ThatIsTooOldEndsTheProgramWithOneLine) {
  std::FILE* program = popen(MYLOS_TOMORROW " 2>&1", "r");
  ASSERT_NE(program, nullptr);
  std::string output;
  for (int c = std::fgetc(program); c != EOF; c = std::fgetc(program)) output += static_cast<char>(c);
  const int status = pclose(program);
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_TRUE(output.starts_with("mylos: the processor of ")) << output;
  EXPECT_NE(output.find("has no AVX-2048 and 1 more"), std::string::npos) << output;
  EXPECT_NE(output.find("it was built for a processor of tomorrow"), std::string::npos) << output;
  EXPECT_NE(output.find("scripts/setup --arch="), std::string::npos) << output;
  EXPECT_EQ(output.find('\n'), output.size() - 1) << output;
}

}  // namespace
