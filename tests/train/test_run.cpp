// Runs in this process, on all ranks: what a start counts and keeps over returns, restarts and changes of
// type.
#include "mylos/train/run/run.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_builders.hpp"
#include "data/builders.hpp"

namespace mylos::run_test {

using nlohmann::json;

constexpr const char* deck_text = R"(
[run]
name = "tiny"
steps = 20
log_every = 1  # on devices, a step is looked at when it is logged
peak_flops = 1e12
[data]
train = "set by the test"
batch = 16
normalize = "standard"
[model]
type = "mlp"
hidden = [8]
loss = "mse"
[precision]
compute = "fp16"
[precision.scaler]
mode = "static"
initial_scale = 64
max_consecutive_skips = 3
[optimizer]
type = "sgd"
lr = 1e-3
[checkpoint]
every = 4
)";

class TinyRun : public testing::Test {
 protected:
  TinyRun() {
    if (ranks.rank() == 0) testing_support::write_table(file("table.h5"), 64, 6, 2);
    ranks.barrier();
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder.path() + "/" + name; }
  /// A start with these overrides of the deck.
  ExitCode start(std::vector<std::string> overrides, std::int64_t stop_after = 0,
                 const std::string& restart = "") {
    overrides.push_back("data.train=" + file("table.h5"));
    overrides.push_back("run.folder=" + file("run"));
    lines.clear();
    RunRequest request;
    request.deck = read_deck(deck_text, "deck.toml", overrides);
    request.stop_after = stop_after;
    request.restart = restart;
    request.output.line = [this](const std::string& line) { lines.push_back(line); };
    std::unique_ptr<mylos::Run> run;
    const ExitCode code = train(std::move(request), MPI_COMM_WORLD, run);
    run.reset();
    ranks.barrier();
    return code;
  }
  [[nodiscard]] CheckpointReader checkpoint(std::int64_t step) {
    return CheckpointReader(ranks, checkpoint_path(file("run"), step));
  }
  [[nodiscard]] json summary() const { return json::parse(std::ifstream(file("run/summary.json"))); }
  [[nodiscard]] std::vector<json> events(const std::string& kind) const {
    std::vector<json> found;
    std::ifstream stream(file("run/events.jsonl"));
    for (std::string line; std::getline(stream, line);) {
      json event = json::parse(line);
      if (event["kind"] == kind) found.push_back(std::move(event));
    }
    return found;
  }

  RankGroup ranks{MPI_COMM_WORLD, 30};
  test::SharedFolder folder{ranks};
  std::vector<std::string> lines;
};

TEST_F(TinyRun, AStartThatGoesBackCountsEveryStepThatItMakes) {
  const std::string rewind = "health.on_divergence=rewind";
  EXPECT_EQ(start({rewind}, 8), ExitCode::requeue);
  // Steps 9 to 11 overflow; then behind step 8, with the scale of its checkpoint, 9 to 12.
  EXPECT_EQ(start({rewind, "precision.scaler.initial_scale=1e30"}, 7, "latest"), ExitCode::requeue);
  const json said = summary();
  EXPECT_EQ(said["step"], 12);
  EXPECT_EQ(said["steps_of_start"], 7);
  EXPECT_EQ(said["skipped_of_start"], 3);
  EXPECT_EQ(said["scaler"]["scale"], 4);
  const std::vector<json> returns = events("rewind");
  ASSERT_EQ(returns.size(), 1u);
  EXPECT_EQ(returns[0]["step"], 9) << "with which the trouble began";
  EXPECT_NE(returns[0]["text"].get<std::string>().find("back to step 8 "), std::string::npos);
  EXPECT_TRUE(checkpoint(8).exists("/history/amendments")) << "a run that is killed now goes on so";
  EXPECT_EQ(said["speed"]["peak_flops_per_rank"], 1e12) << "the deck's, on any number of ranks";
}

TEST_F(TinyRun, StopsAndRestartsAreKeptBesideTheEventsOfTheTraining) {
  const auto starts = [this] {
    std::vector<std::string> found;
    std::ifstream stream(file("run/starts.jsonl"));
    for (std::string line; std::getline(stream, line);) {
      const json event = json::parse(line);
      found.push_back(event["kind"].get<std::string>() + " " + std::to_string(event["step"].get<int>()) +
                      ": " + event["cause"].get<std::string>());
    }
    return found;
  };
  EXPECT_EQ(start({}, 6), ExitCode::requeue);
  EXPECT_EQ(start({}, 5, "latest"), ExitCode::requeue);
  EXPECT_EQ(start({}, 0, "latest"), ExitCode::done);
  EXPECT_EQ(start({}, 0, "latest"), ExitCode::done) << "nothing is left to do";
  ranks.barrier();
  EXPECT_EQ(starts(),
            (std::vector<std::string>{"stop 6: the steps of this start", "restart 6: step-0000000006.h5",
                                      "stop 11: the steps of this start", "restart 11: step-0000000011.h5"}));
  EXPECT_FALSE(checkpoint(20).exists("/history/events"))
      << "a run that was never stopped has the same checkpoint";
}

}  // namespace mylos::run_test
