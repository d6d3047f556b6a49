// Every partition of a step into ranks and micro-batches, against a list of all its micro-batches.
#include "mylos/train/plan/sample_needs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/config/options.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "support/refusal.hpp"

namespace mylos::sample_needs_test {

constexpr std::int64_t max_batch = 13;

/// [micro-batch, rank]: samples; 0 where the rank has no micro-batch of that number.
std::vector<std::vector<std::int64_t>> micro_batches(const StepPartition& step) {
  std::vector<std::vector<std::int64_t>> all;
  for (int rank = 0; rank < step.ranks; ++rank) {
    std::int64_t left = step.batch / step.ranks + (rank < step.batch % step.ranks ? 1 : 0);
    for (std::size_t number = 0; left > 0; ++number) {
      if (number == all.size()) all.emplace_back(step.ranks, 0);
      const std::int64_t samples = step.micro_batch == 0 ? left : std::min(left, step.micro_batch);
      all[number][static_cast<std::size_t>(rank)] = samples;
      left -= samples;
    }
  }
  return all;
}

bool is_enough(const SampleNeeds& needs, const StepPartition& step) {
  for (const auto& of_ranks : micro_batches(step)) {
    if (std::accumulate(of_ranks.begin(), of_ranks.end(), std::int64_t{0}) < needs.together) return false;
    for (const std::int64_t samples : of_ranks)
      if (samples > 0 && samples < needs.own) return false;
  }
  return true;
}

template <class Visit>
void visit_partitions(const Visit& visit) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (std::int64_t batch = ranks; batch <= max_batch; ++batch)
      for (std::int64_t micro_batch = 0; micro_batch <= batch + 1; ++micro_batch)
        visit(StepPartition{batch, micro_batch, ranks});
}

const SampleNeeds own{.own = 2, .together = 1, .own_layer = "one", .together_layer = ""};
const SampleNeeds together{.own = 1, .together = 2, .own_layer = "", .together_layer = "all"};

TEST(SampleNeeds, AreMetWhereEveryMicroBatchHasThem) {
  int refused = 0;
  for (const SampleNeeds& needs : {own, together, SampleNeeds{}, SampleNeeds{3, 5, "one", "all"}}) {
    visit_partitions([&](const StepPartition& step) {
      const bool expected = is_enough(needs, step);
      refused += expected ? 0 : 1;
      EXPECT_EQ(has_enough_samples(needs, step), expected)
          << step.batch << " on " << step.ranks << " ranks by " << step.micro_batch;
    });
  }
  EXPECT_GT(refused, 100);
}

/// The number right behind `text` in a message; nothing where there is none.
std::optional<int> number_behind(const std::string& text, const std::string& message) {
  for (std::size_t at = message.find(text); at != std::string::npos; at = message.find(text, at + 1)) {
    const std::string rest = message.substr(at + text.size());
    if (!rest.empty() && rest[0] >= '0' && rest[0] <= '9') return std::stoi(rest);
  }
  return std::nullopt;
}

TEST(SampleNeeds, EveryValueThatARefusalNamesWouldDo) {
  int named = 0;
  for (const SampleNeeds& needs : {own, together}) {
    visit_partitions([&](const StepPartition& step) {
      std::string message;
      try {
        require_enough_samples(needs, step);
        return;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::bad_input);
        EXPECT_EQ(error.id(), errors::too_little_data);
        message = error.what();
      }
      const std::string cures = message.substr(message.find(". Set ") + 1);
      StepPartition other = step;
      if (const auto value = number_behind("data.micro_batch = ", cures)) {
        other.micro_batch = *value;
        EXPECT_TRUE(is_enough(needs, other)) << message;
        ++named;
      }
      other = step;
      if (const auto value = number_behind("data.batch = ", cures)) {
        other.batch = *value;
        EXPECT_GT(other.batch, step.batch);
        EXPECT_TRUE(is_enough(needs, other)) << message;
        ++named;
      }
      other = step;
      if (const auto value = number_behind(" or ", cures)) {  // "or 2 ranks"
        other.ranks = *value;
        EXPECT_LT(other.ranks, step.ranks);
        EXPECT_TRUE(is_enough(needs, other)) << message;
        ++named;
      }
      const bool over_ranks = cures.find("norm_over") != std::string::npos;
      EXPECT_EQ(over_ranks, needs.own > 1 && is_enough(together, step)) << message;
    });
  }
  EXPECT_GT(named, 100);
}

TEST(SampleNeeds, ARefusalNamesTheLayerAndTheMicroBatch) {
  const auto refuses = [](const SampleNeeds& needs, const StepPartition& step,
                          std::initializer_list<std::string_view> parts) {
    return test::refuses(errors::too_little_data, parts, [&] { require_enough_samples(needs, step); });
  };
  EXPECT_TRUE(
      refuses(own, {3, 2, 1},
              {"layer 'one'", "a rank's micro-batch", "micro-batch 2 of a step has 1 sample on rank 0",
               "(data.batch = 3, data.micro_batch = 2 on 1 rank)",
               "Set data.micro_batch = 3, or data.batch = 4, or norm = \"layernorm\""}));
  EXPECT_TRUE(
      refuses(own, {4, 0, 3},
              {"layer 'one'", "micro-batch 1 of a step has 1 sample on rank 2", "(data.batch = 4 on 3 ranks)",
               "Set data.batch = 6, or 2 ranks, or norm_over = \"ranks\" in model.layers, or norm = "
               "\"layernorm\""}));
  EXPECT_TRUE(refuses(together, {3, 1, 2},
                      {"layer 'all'", "all ranks' micro-batches",
                       "micro-batch 2 of a step has 1 sample on all ranks together",
                       "(data.batch = 3, data.micro_batch = 1 on 2 ranks)",
                       "Set data.micro_batch = 2, or data.batch = 4, or norm = \"layernorm\""}));
}

TEST(SampleNeeds, AreThoseOfTheLayersOfAChain) {
  Options options;
  options.model.type = ModelType::chain;
  options.model.inputs = 12;
  options.model.outputs = 2;
  const auto needs_of = [&](const std::vector<LayerOptions>& layers) {
    options.model.chain = layers;
    options.model.chain.push_back({.kind = kinds::Dense{}});
    return sample_needs(make_chain(options.model, options.precision, 1, false));
  };
  const LayerOptions norm{.kind = kinds::Norm{}, .name = "n", .norm = NormType::batchnorm};
  LayerOptions over_ranks = norm;
  over_ranks.name = "r";
  over_ranks.norm_over = NormOver::ranks;
  const SampleNeeds none = needs_of({{.kind = kinds::Dense{}, .outputs = 3}});
  EXPECT_EQ(none.own, 1);
  EXPECT_EQ(none.together, 1);
  const SampleNeeds both = needs_of({over_ranks, norm});
  EXPECT_EQ(both.own, 2);
  EXPECT_EQ(both.together, 2);
  EXPECT_EQ(both.own_layer, "n");
  EXPECT_EQ(both.together_layer, "r");
  options.model.shape = {2, 2, 3};
  const SampleNeeds on_grid = needs_of({norm, over_ranks, {.kind = kinds::GlobalPool{}}});
  EXPECT_EQ(on_grid.own, 1) << "four points are values enough";
  EXPECT_EQ(on_grid.together, 1);
}

}  // namespace mylos::sample_needs_test
