// The text of sweep.json, and whether a folder holds the same sweep.
#include "mylos/sweep/state/sweep_description.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "support/refusal.hpp"

namespace mylos::sweep_description_test {

using test::refuses;

SweepDescription example() {
  return {.name = "small",
          .deck = "[run]\n",
          .metric = "validation.loss",
          .strategy = SweepStrategy::halving,
          .trials = 8,
          .ranks_per_trial = 2,
          .seed = 7,
          .rungs = {10, 30, 90},
          .keys = {{.key = "optimizer.lr", .values = {"1e-3", "1e-2"}},
                   {.key = "model.dropout", .low = 0, .high = 0.5},
                   {.key = "data.batch", .low = 16, .high = 64, .is_logarithmic = true, .is_integer = true}}};
}

TEST(SweepDescription, IsTheTextOfSweepJson) {
  EXPECT_EQ(document_of(example()), R"({
  "format": "mylos-sweep",
  "version": 1,
  "name": "small",
  "deck": "[run]\n",
  "metric": "validation.loss",
  "better": "lower",
  "strategy": "halving",
  "trials": 8,
  "ranks_per_trial": 2,
  "seed": 7,
  "budget": "steps",
  "factor": 3,
  "rungs": [
    10,
    30,
    90
  ],
  "keys": [
    {
      "key": "optimizer.lr",
      "kind": "list",
      "values": [
        "1e-3",
        "1e-2"
      ]
    },
    {
      "key": "model.dropout",
      "kind": "range",
      "low": 0.0,
      "high": 0.5,
      "scale": "linear",
      "integer": false
    },
    {
      "key": "data.batch",
      "kind": "range",
      "low": 16.0,
      "high": 64.0,
      "scale": "log",
      "integer": true
    }
  ]
}
)");
}

TEST(SweepDescription, IsContinuedOnlyByTheSame) {
  const SweepDescription sweep = example();
  const std::string text = document_of(sweep);
  EXPECT_NO_THROW(require_same_sweep(text, "a/sweep.json", sweep));
  SweepDescription other = sweep;
  other.trials = 9;
  EXPECT_TRUE(refuses(errors::restart_mismatch, {"a/sweep.json", "trials", "8", "9"},
                      [&] { require_same_sweep(text, "a/sweep.json", other); }));
  other = sweep;
  other.keys[0].values[1] = "1e-1";
  EXPECT_TRUE(refuses(errors::restart_mismatch, {"keys"}, [&] { require_same_sweep(text, "a", other); }));
  EXPECT_TRUE(refuses(errors::damaged, {"a"}, [&] { require_same_sweep("[", "a", sweep); }));
}

}  // namespace mylos::sweep_description_test
