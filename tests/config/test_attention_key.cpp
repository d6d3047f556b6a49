// kernels.attention_sums: only for networks whose attention a library may compute.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "support/said.hpp"

namespace mylos::testing {
namespace {

const std::string gpt =
    "data.train = 'a.h5'\nrun.steps = 1\nprecision.compute = 'bf16'\n"
    "[model]\ntype = 'gpt'\nlayers = 2\nheads = 2\nwidth = 32\ncontext = 128\nvocabulary = 9\n"
    "[kernels]\nattention_sums = 'any_order'\n";

TEST(AttentionSums, AreInAnyOrderOnlyIfTheDeckSaysSo) {
  EXPECT_EQ(KernelOptions{}.attention_sums, AttentionSums::fixed_order);
  EXPECT_EQ(read_deck(gpt, "deck.toml", {}).options.kernels.attention_sums, AttentionSums::any_order);
  EXPECT_EQ(message_of(gpt, {"kernels.gemm=measure"}), "");
}

TEST(AttentionSums, InAnyOrderAreRefusedInAReproducibleRun) {
  EXPECT_TRUE(test::says(
      message_of(gpt, {"run.reproducible=true", "data.batch=8", "data.micro_batch=2"}), errors::keys_conflict,
      {"command line", "'run.reproducible' needs", "'kernels.attention_sums'", "\"fixed_order\""}));
}

TEST(AttentionSums, InAnyOrderAreRefusedWhereNoKernelFollows) {
  const auto refuses = [](const std::vector<std::string>& overrides, ErrorId id,
                          const std::vector<std::string>& words) {
    return test::says(message_of(gpt, overrides), id, words);
  };
  const ErrorId conflict = errors::keys_conflict;
  EXPECT_TRUE(refuses({"model.dropout=0.1"}, conflict, {"'kernels.attention_sums'", "'model.dropout' = 0"}));
  EXPECT_TRUE(refuses({"precision.compute=fp32"}, conflict, {"'kernels.attention_sums'", "bf16 or fp16"}));
  EXPECT_EQ(message_of(gpt, {"precision.compute=fp32", "precision.rules.attention=bf16"}), "");
  EXPECT_TRUE(refuses({"model.context=100"}, conflict, {"a multiple of 64", "100 tokens"}));
  EXPECT_TRUE(refuses({"model.width=24"}, conflict, {"a multiple of 8", "heads of 12"}));
  EXPECT_TRUE(refuses({"kernels.gemm=kokkos"}, errors::key_without_effect,
                      {"'kernels.attention_sums'", "kernels.gemm", "\"cublaslt\""}));
  EXPECT_TRUE(
      test::says(message_of("run.steps = 1\ndata.train = 'a.h5'\nkernels.attention_sums = 'fixed_order'\n"),
                 errors::key_without_effect, {"deck.toml:3:", "model.type", "\"gpt\""}));
}

}  // namespace
}  // namespace mylos::testing
