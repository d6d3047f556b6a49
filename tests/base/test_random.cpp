// Random numbers: the published test vectors, and the inputs that a number may and may not depend on.
#include "mylos/base/numbers/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "mylos/base/numbers/random_words.hpp"

namespace mylos::random_test {

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10 implemented from the paper (Salmon et al. 2011, section 3.3).
Words philox(Words counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// SplitMix64's next() from the state `value`.
std::uint64_t splitmix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

Words words_of(const RandomBlock& block) {
  return {block.word[0], block.word[1], block.word[2], block.word[3]};
}

TEST(Philox, GivesThePublishedVectors) {
  // The lines "philox4x32 10" of Random123's kat_vectors.
  struct Vector {
    Words counter;
    std::array<std::uint32_t, 2> key;
    Words result;
  };
  const Vector vectors[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Vector& vector : vectors) {
    EXPECT_EQ(philox(vector.counter, vector.key), vector.result);
    const r123::Philox4x32::ctr_type counter{
        {vector.counter[0], vector.counter[1], vector.counter[2], vector.counter[3]}};
    const r123::Philox4x32::key_type key{{vector.key[0], vector.key[1]}};
    const auto result = r123::Philox4x32()(counter, key);
    EXPECT_EQ((Words{result[0], result[1], result[2], result[3]}), vector.result);
  }
}

TEST(RandomStream, IsPhiloxOfSeedPurposeNameStepSampleAndBlock) {
  const std::uint64_t key = splitmix(
      splitmix(7) ^ splitmix(static_cast<std::uint64_t>(RandomPurpose::dropout) ^ hash_bytes("hidden1")));
  const RandomStream stream(7, RandomPurpose::dropout, "hidden1");
  const std::uint64_t step = 0x123456789abcu;
  const std::uint64_t sample = 0xfedcba987654u;
  EXPECT_EQ(words_of(stream.block(step, sample, 42)),
            philox({42, 0xba987654u, 0x56789abcu, 0x1234fedcu},
                   {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}));
}

TEST(RandomStream, AWordIsItsPlaceInTheBlockOfFour) {
  const RandomStream stream(7, RandomPurpose::dropout, "hidden1");
  for (std::uint32_t element = 0; element < 100; ++element) {
    EXPECT_EQ(stream.word(3, 5, element), stream.block(3, 5, element / 4).word[element % 4]);
  }
}

TEST(RandomStream, EveryPartOfTheKeyMatters) {
  std::set<std::uint32_t> seen;
  const auto add = [&](const RandomStream& stream, std::uint64_t step, std::uint64_t sample) {
    EXPECT_TRUE(seen.insert(stream.word(step, sample, 0)).second);
  };
  const RandomStream stream(1, RandomPurpose::dropout, "a");
  add(stream, 0, 0);
  add(stream, 1, 0);
  add(stream, 0, 1);
  add(stream, std::uint64_t{1} << 32, 0);
  add(stream, 0, std::uint64_t{1} << 32);
  add(RandomStream(2, RandomPurpose::dropout, "a"), 0, 0);
  add(RandomStream(1, RandomPurpose::initial_weights, "a"), 0, 0);
  add(RandomStream(1, RandomPurpose::dropout, "b"), 0, 0);
}

TEST(Uniform, LiesInTheUnitIntervalWithoutItsEnd) {
  EXPECT_EQ(uniform_from(0), 0.0f);
  EXPECT_LT(uniform_from(0xffffffffu), 1.0f);
}

TEST(Uniform, HasMeanOneHalfAndVarianceOneTwelfth) {
  const RandomStream stream(1, RandomPurpose::initial_weights, "layer");
  constexpr int count = 1'000'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = uniform_from(stream.word(0, 0, i));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / count));
  EXPECT_NEAR(squares / count - mean * mean, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / count));
}

}  // namespace mylos::random_test
