// Refusals of decks with a mistake: their causes, and the positions, keys and values that they name.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/instructions.hpp"
#include "support/said.hpp"

namespace mylos::testing::deck_messages_test {

struct Mistake {
  std::string deck;
  ErrorId id;
  std::vector<std::string> parts;
};

/// A mistake in a value is reported in the same form for every key.
void expect_refused(const std::string& key, const std::string& value, const std::string& wanted,
                    const std::string& found) {
  EXPECT_TRUE(test::says(message_of("# a comment\n" + key + " = " + value + "\n"), errors::bad_value,
                         {"deck.toml:2:", key, wanted, found}));
}

const std::string sections =
    "run, initial, data, data.arrays, data.augment, data.weights, model, rollout, precision, "
    "precision.scaler, precision.adaptation, memory, optimizer, schedule, communication, mesh, checkpoint, "
    "kernels, health";
const std::string bytes_wanted =
    "\"auto\" or byte count from 1 B to 1 TiB, such as \"25 MiB\" (units B, kB, MB, GB, TB, KiB, MiB, GiB, "
    "TiB)";
const std::string name_wanted = "a name (1 to 100 bytes; no '/', no control characters, not '.' or '..')";
const std::string rules_wanted =
    "a table from layer name, pattern with '*' or layer kind to \"bf16\", \"fp16\" or \"fp32\"";

TEST(UnknownKey, IsAnsweredWithTheNearestOne) {
  const std::vector<Mistake> mistakes{
      {"precison.compute = \"bf16\"",
       errors::unknown_key,
       {"deck.toml:1:", "'precison.compute'", "'precision.compute'"}},
      {"[precision]\n\ncompuet = \"bf16\"",
       errors::unknown_key,
       {"deck.toml:3:", "'precision.compuet'", "'precision.compute'"}},
      {"[precision.scaler]\nintial_scale = 1",
       errors::unknown_key,
       {"deck.toml:2:", "'precision.scaler.intial_scale'", "'precision.scaler.initial_scale'"}},
      {"[run]\nlr = 1", errors::unknown_key, {"deck.toml:2:", "'run.lr'", "'optimizer.lr'"}},
      {"batch = 3", errors::unknown_key, {"deck.toml:1:", "'batch'", "'data.batch'"}},
      {"[run]\nfoobar = 1",
       errors::unknown_key,
       {"deck.toml:2:", "'run.foobar'", "[run]", "evaluate_every", "log_every", "peak_flops"}},
      {"[precision]\nfoobar = 1", errors::unknown_key, {"deck.toml:2:", "'precision.foobar'", "[precision]"}},
      {"foobar = 1", errors::unknown_key, {"deck.toml:1:", "'foobar'", sections}},
      {"\"run.name\" = 'x'", errors::unknown_key, {"deck.toml:1:", "'\"run.name\"'", "'run.name'"}},
      {"[kernels]\ngemm.engine = 1",
       errors::bad_value,
       {"deck.toml:2:", "'kernels.gemm'", "\"auto\"", "\"measure\"", "\"onednn\"", "\"tiles\"",
        "\"cublaslt\"", "\"hipblaslt\"", "\"kokkos\""}}};
  for (const auto& [deck, id, parts] : mistakes) EXPECT_TRUE(test::says(message_of(deck), id, parts));
}

TEST(Instructions, ThatAreNotHereAreRefusedNamingThoseThatAre) {
  const std::vector<Instructions> here = available_instructions();
  for (const Instructions each : {Instructions::avx2, Instructions::avx512_bf16, Instructions::sve}) {
    const std::string deck = fmt::format("[kernels]\ngemm = \"auto\"\ninstructions = \"{}\"", name_of(each));
    const std::string message = message_of("run.steps = 1\nmodel.inputs = 1\nmodel.outputs = 1\n" + deck);
    if (std::find(here.begin(), here.end(), each) != here.end()) {
      EXPECT_EQ(message, "") << name_of(each);
      continue;
    }
    const std::string start = fmt::format(
        "deck.toml:6: 'kernels.instructions' is \"{}\", which this processor or this build does not support; "
        "available are "
        "\"auto\"",
        name_of(each));
    EXPECT_EQ(message.substr(0, start.size()), start);
    for (const Instructions other : here)
      EXPECT_NE(message.find(fmt::format("\"{}\"", name_of(other))), std::string::npos) << message;
  }
}

TEST(UnknownSection, IsAnsweredWithTheNearestOne) {
  EXPECT_TRUE(test::says(message_of("[run]\nsteps = 1\n[optimiser]\nlr = 1"), errors::unknown_section,
                         {"deck.toml:3:", "[optimiser]", "[optimizer]"}));
  EXPECT_TRUE(test::says(message_of("[optimiser]"), errors::unknown_section,
                         {"deck.toml:1:", "[optimiser]", "[optimizer]"}));
  EXPECT_TRUE(test::says(message_of("[scaler]\nmode = 'off'"), errors::unknown_section,
                         {"deck.toml:1:", "[scaler]", "[precision.scaler]"}));
  EXPECT_TRUE(
      test::says(message_of("[zebra]"), errors::unknown_section, {"deck.toml:1:", "[zebra]", sections}));
  EXPECT_TRUE(test::says(message_of("[[run]]\nsteps = 1"), errors::unknown_key,
                         {"deck.toml:1:", "'run'", "evaluate_every", "log_every", "peak_flops"}));
  EXPECT_TRUE(test::says(message_of("[communication]\n[kernels]\n[precision]\nscaler = 'off'"),
                         errors::unknown_key,
                         {"deck.toml:4:", "'precision.scaler'", "initial_scale", "growth_factor",
                          "backoff_factor", "growth_interval", "hysteresis_refill", "backoff_window",
                          "backoff_overflows", "min_scale", "max_scale", "max_consecutive_skips"}));
}

TEST(DuplicateKey, IsNamedWithTheLineOfTheFirst) {
  EXPECT_TRUE(test::says(message_of("[optimizer]\nlr = 1\n\nlr = 2"), errors::duplicate_key,
                         {"deck.toml:4:", "'optimizer.lr'", "line 2"}));
  EXPECT_TRUE(test::says(message_of("run.name = 'x'\nrun.name = 'x'"), errors::duplicate_key,
                         {"deck.toml:2:", "'run.name'", "line 1"}));
  EXPECT_TRUE(test::says(message_of("[run]\nname = 'x'\n[data]\n[run]\nseed = 1"), errors::duplicate_key,
                         {"deck.toml:4:", "'run'", "line 1"}));
  EXPECT_TRUE(
      test::says(message_of("run = { name = 'x', name = 'y' }"), errors::duplicate_key, {"deck.toml:1:"}));
}

TEST(WrongType, SaysWhatWasFoundAndWhatIsWanted) {
  const std::string steps = "an integer from 1 to 2147483647";
  expect_refused("run.steps", "\"100\"", steps, "the string \"100\"");
  expect_refused("run.steps", "100.0", steps, "the number 100.0");
  expect_refused("run.steps", "1e3", steps, "the number 1000.0");
  expect_refused("run.steps", "true", steps, "the boolean true");
  expect_refused("run.steps", "[100]", steps, "a list");
  expect_refused("run.steps", "[]", steps, "an empty list");
  expect_refused("run.steps", "{ a = 1 }", steps, "a table");
  expect_refused("run.steps", "2024-01-01", steps, "a date or time");
  expect_refused("run.name", "7", name_wanted, "the integer 7");
  expect_refused("optimizer.lr", "\"0.1\"", "a number above 0 and at most 1000", "the string \"0.1\"");
  expect_refused("model.hidden", "64", "a list of at most 1000 integers from 1 to 1048576", "the integer 64");
  expect_refused("precision.rules", "\"fp32\"", rules_wanted, "the string \"fp32\"");
  expect_refused("precision.rules", "{ a = 32 }", rules_wanted, "the integer 32 for 'a'");
  expect_refused("precision.rules", "{ norm.weight = 'fp32' }", rules_wanted,
                 "a table for 'norm' (a pattern with dots needs quotes)");
  expect_refused("precision.rules", "{ '' = 'fp32' }", rules_wanted, "an entry for ''");
}

TEST(Memory, SaysWhichPlaceOfAListIsWrong) {
  const std::string budget =
      "\"auto\" or byte count from 1 MiB to 1024 TiB, such as \"12 GiB\" (units B, kB, MB, GB, TB, KiB, MiB, "
      "GiB, TiB)";
  expect_refused("memory.budget", "\"12 GB/s\"", budget, "the string \"12 GB/s\"");
  expect_refused("memory.budget", "0", budget, "the integer 0");
  const std::string recompute =
      "\"auto\", \"none\", \"all\", \"every N\" (N from 1) or ascending list of groups of blocks [first, "
      "last] (counted from 0)";
  for (const std::string text :
       {"every 0", "every", "every 2 blocks", "every -1", "every 99999999999999999999"}) {
    expect_refused("memory.recompute", '"' + text + '"', recompute, "the string \"" + text + '"');
  }
  expect_refused("memory.recompute", "3", recompute, "the integer 3");
  expect_refused("memory.recompute", "[]", recompute, "an empty list");
  expect_refused("memory.recompute", "[[0, 3], 4]", recompute, "the integer 4 at place 2");
  expect_refused("memory.recompute", "[[0, 3, 4]]", recompute, "a list at place 1");
  expect_refused("memory.recompute", "[[0, 3], [3, 4]]", recompute, "[3, 4] at place 2");
  expect_refused("memory.recompute", "[[2, 1]]", recompute, "[2, 1] at place 1");
  expect_refused("memory.recompute", "[[-1, 1]]", recompute, "[-1, 1] at place 1");
  expect_refused("memory.recompute", "[[0, 1.0]]", recompute, "[0, 1.0] at place 1");
}

TEST(OutOfRange, SaysTheRange) {
  const std::string lr = "a number above 0 and at most 1000";
  expect_refused("optimizer.lr", "nan", lr, "the number nan");
  expect_refused("optimizer.lr", "inf", lr, "the number inf");
  expect_refused("optimizer.lr", "-1e-3", lr, "the number -0.001");
  expect_refused("optimizer.lr", "0", lr, "the integer 0");
  expect_refused("optimizer.betas", "[0.9, 1]", "a list of 2 numbers of at least 0 and below 1",
                 "the integer 1 at place 2");
  expect_refused("optimizer.betas", "[0.9]", "a list of 2 numbers of at least 0 and below 1", "a list of 1");
  expect_refused("optimizer.epsilon", "0.0", "a number from 1e-30 to 1", "the number 0.0");
  expect_refused("data.validation", "1.0", "a number of at least 0 and below 1", "the number 1.0");
  expect_refused("model.dropout", "-0.1", "a number of at least 0 and below 1", "the number -0.1");
  expect_refused("data.batch", "0", "an integer from 1 to 2147483647", "the integer 0");
  expect_refused("data.batch", "2147483648", "an integer from 1 to 2147483647", "the integer 2147483648");
  expect_refused("data.micro_batch", "-1", "an integer from 0 to 2147483647", "the integer -1");
  expect_refused("run.seed", "-1", "an integer from 0 to 9223372036854775807", "the integer -1");
  expect_refused("run.log_every", "0", "an integer from 1 to 2147483647", "the integer 0");
  expect_refused("run.threads", "513", "an integer from 0 to 512",
                 "the integer 513");  // Kokkos supports no more
  expect_refused("model.hidden", "[8, 0]", "a list of at most 1000 integers from 1 to 1048576",
                 "the integer 0 at place 2");
  expect_refused("model.hidden", "[8.0]", "a list of at most 1000 integers from 1 to 1048576",
                 "the number 8.0 at place 1");
  std::string layers = "1";
  for (int i = 0; i < 1000; ++i) layers += ", 1";
  expect_refused("model.hidden", '[' + layers + ']', "a list of at most 1000 integers from 1 to 1048576",
                 "a list of 1001");
  expect_refused("precision.scaler.growth_factor", "1", "a number above 1 and at most 65536",
                 "the integer 1");
  expect_refused("precision.scaler.backoff_factor", "1.0", "a number above 0 and below 1", "the number 1.0");
  expect_refused("run.name", "\"a/b\"", name_wanted, "the string \"a/b\"");
  expect_refused("run.name", "\"..\"", name_wanted, "the string \"..\"");
  expect_refused("run.name", "\"\"", name_wanted, "the string \"\"");
  expect_refused("run.name", "\"a\\u0007\"", name_wanted, "the string \"a\\u0007\"");
  expect_refused("data.train", "\"\"", "a path or pattern (1 to 4096 bytes, no control characters)",
                 "the string \"\"");
}

TEST(WrongWord, IsAnsweredWithTheWordsThatThereAre) {
  expect_refused("precision.compute", "\"double\"", "\"bf16\", \"fp16\" or \"fp32\"",
                 "the string \"double\"");
  expect_refused("precision.compute", "16", "\"bf16\", \"fp16\" or \"fp32\"", "the integer 16");
  expect_refused("precision.rules", "{ a = \"double\" }", rules_wanted, "the string \"double\" for 'a'");
  expect_refused(
      "schedule.type", "\"cosin\"",
      "\"constant\", \"step\", \"multistep\", \"exponential\", \"linear\", \"polynomial\", \"cosine\", "
      "\"cosine_restarts\", \"one_cycle\" or \"wsd\"",
      "the string \"cosin\"; did you mean \"cosine\"?");
  expect_refused("precision.scaler.preset", "\"brave\"",
                 "\"standard\", \"conservative\", \"aggressive\", \"small\", \"medium\" or \"large\"",
                 "the string \"brave\"");
}

TEST(WrongMilestones, SaysWhichOne) {
  const std::string wanted = "an ascending list of 1 to 16 integers from 1";
  expect_refused("schedule.milestones", "[]", wanted, "a list of 0");
  expect_refused("schedule.milestones", "7", wanted, "the integer 7");
  expect_refused("schedule.milestones", "[3, 3]", wanted, "the integer 3 at place 2");
  expect_refused("schedule.milestones", "[0]", wanted, "the integer 0 at place 1");
  expect_refused("schedule.milestones", "[1, 2.5]", wanted, "the number 2.5 at place 2");
}

TEST(WrongBytes, SaysTheUnits) {
  expect_refused("communication.bucket", "\"25 MiBs\"", bytes_wanted, "the string \"25 MiBs\"");
  expect_refused("communication.bucket", "\"Auto\"", bytes_wanted, "the string \"Auto\"");
  expect_refused("communication.bucket", "0", bytes_wanted, "the integer 0");
  expect_refused("communication.bucket", "\"25 mb\"", bytes_wanted, "the string \"25 mb\"");
  expect_refused("communication.bucket", "\"0 B\"", bytes_wanted, "the string \"0 B\"");
  expect_refused("communication.bucket", "-1", bytes_wanted, "the integer -1");
  expect_refused("communication.bucket", "2.5", bytes_wanted, "the number 2.5");
  expect_refused("communication.bucket", "\"2 TiB\"", bytes_wanted, "the string \"2 TiB\"");
}

TEST(NotToml, IsToldWithLineAndColumn) {
  EXPECT_TRUE(test::says(message_of("[precision]\ncompute = bf16\n"), errors::deck_syntax,
                         {"deck.toml:2:11:", "\"bf16\""}));
  EXPECT_TRUE(test::says(message_of("[precision]\ncompute = fp32  # float"), errors::deck_syntax,
                         {"deck.toml:2:12:", "\"fp32\""}));
  EXPECT_TRUE(test::says(message_of("[data]\ntrain = data/a.h5"), errors::deck_syntax,
                         {"deck.toml:2:9:", "\"data/a.h5\""}));
  EXPECT_TRUE(test::says(message_of("[precision]\nrules = { head = fp32 }"), errors::deck_syntax,
                         {"deck.toml:2:19:", "'false'", "'fp'"}));
  EXPECT_TRUE(
      test::says(message_of("[optimizer]\nlr = 0,1"), errors::deck_syntax, {"deck.toml:2:7:", "','"}));
  EXPECT_TRUE(test::says(message_of("[run"), errors::deck_syntax, {"deck.toml:1:5:"}));
}

TEST(KeysTogether, MustMakeSense) {
  const std::string data = "data.train = 'train.h5'\n";
  std::string numbers_240 = "8";
  for (int i = 1; i < 240; ++i) numbers_240 += ", 8";
  const std::vector<Mistake> mistakes{
      {"[run]\nsteps = 3\nepochs = 2\n[data]\ntrain = 'a'",
       errors::keys_conflict,
       {"deck.toml:3:", "'run.epochs'", "'run.steps'"}},
      {data, errors::missing_key, {"deck.toml", "'run.epochs'", "'run.steps'"}},
      {"run.steps = 3",
       errors::missing_key,
       {"deck.toml", "'data.train'", "'model.inputs'", "'model.outputs'"}},
      {"run.steps = 3\nmodel.inputs = 3",
       errors::missing_key,
       {"deck.toml:2:", "'data.train'", "'model.inputs'", "'model.outputs'"}},
      {"run.steps = 3\ndata.test = 'a'",
       errors::key_without_effect,
       {"deck.toml:2:", "'data.test'", "data.train"}},
      {"run.epochs = 3\nmodel.inputs = 3\nmodel.outputs = 1",
       errors::keys_conflict,
       {"deck.toml:1:", "'run.epochs'", "'data.train'", "'run.steps'"}},
      {"run.steps = 3\nmodel.inputs = 3\nmodel.outputs = 1\ndata.validation = 0.5",
       errors::key_without_effect,
       {"deck.toml:4:", "'data.validation'", "data.train"}},
      {"run.steps = 3\nschedule.warmup = 4\n" + data,
       errors::keys_conflict,
       {"deck.toml:2:", "'schedule.warmup'", "is 4", "the 3", "'run.steps'"}},
      {"run.steps = 3\nschedule.warmup = 4\nschedule.steps = 2\nschedule.type = 'cosine'\n" + data,
       errors::keys_conflict,
       {"deck.toml:3:", "'schedule.warmup'", "is 4", "the 2", "'schedule.steps'"}},
      {"run.steps = 3\nmodel.type = 'resnet'\nmodel.blocks = 1\nmodel.channels = [" + numbers_240 +
           "]\ndata.shape = [4, 4, 1]\n" + data,
       errors::keys_conflict,
       {"deck.toml:4:", "\"resnet\"", "for 1201", "than 1000"}},
      {"run.steps = 3\nschedule.type = 'step'\n" + data,
       errors::missing_key,
       {"deck.toml:2:", "\"step\"", "'schedule.step_size'"}},
      {"run.steps = 3\noptimizer.type = 'sgd'\noptimizer.nesterov = true\noptimizer.momentum = 0\n" + data,
       errors::key_without_effect,
       {"deck.toml:3:", "'optimizer.nesterov'", "optimizer.momentum", "above 0", "is 0.0", "deck.toml:4"}},
      {"run.steps = 3\nschedule.type = 'exponential'\n" + data,
       errors::missing_key,
       {"deck.toml:2:", "\"exponential\"", "'schedule.step_size'"}},
      {"run.steps = 3\nschedule.type = 'multistep'\n" + data,
       errors::missing_key,
       {"deck.toml:2:", "\"multistep\"", "'schedule.milestones'"}},
      {"run.steps = 3\nschedule.type = 'cosine_restarts'\n" + data,
       errors::missing_key,
       {"deck.toml:2:", "\"cosine_restarts\"", "'schedule.period'"}},
      {"run.steps = 9\nschedule.warmup = 3\nschedule.type = 'multistep'\nschedule.milestones = [2, 5]\n" +
           data,
       errors::keys_conflict,
       {"deck.toml:4:", "milestone 2", "'schedule.milestones'", "the 3", "'schedule.warmup'"}},
      {"run.steps = 9\nschedule.warmup = 3\nschedule.type = 'one_cycle'\n" + data,
       errors::key_without_effect,
       {"deck.toml:2:", "'schedule.warmup'", "\"one_cycle\"", "schedule.rise_share", "schedule.type",
        "deck.toml:3"}},
      {"run.steps = 20\nschedule.warmup = 11\nschedule.type = 'wsd'\nschedule.decay_share = 0.5\n" + data,
       errors::keys_conflict,
       {"deck.toml:4:", "'schedule.warmup'", "11", "the 10", "'schedule.decay_share'", "0.5", "the 20",
        "'run.steps'"}}};
  for (const auto& [deck, id, parts] : mistakes) EXPECT_TRUE(test::says(message_of(deck), id, parts));
}

TEST(SeveralMistakes, AreToldInTheDecksOrder) {
  const std::string deck = "[schedule]\nwarmup = 'z'\n[checkpoint]\nevery = -1\n[data]\nbatches = 3\n";
  EXPECT_TRUE(test::says(message_of(deck, {"run.bogus=1"}), errors::bad_value,
                         {"deck.toml:2:", "'schedule.warmup'", "from 0", "to 2147483647", "\"z\""}));
  // Also if the command line gives another value.
  EXPECT_TRUE(test::says(message_of("run.steps = 0", {"run.steps=1"}), errors::bad_value,
                         {"deck.toml:1:", "'run.steps'", "from 1", "to 2147483647", "integer 0"}));
}

TEST(CommandLine, MistakesAreToldAsTheDecksAre) {
  const auto expect_message = [](const std::string& override_text, ErrorId id,
                                 const std::vector<std::string>& parts) {
    const std::string message = message_with({override_text});
    EXPECT_TRUE(message.starts_with("command line: ")) << message;
    EXPECT_TRUE(test::says(message, id, parts));
  };
  expect_message("optimizer.rl=1", errors::unknown_key, {"'optimizer.rl'", "'optimizer.lr'"});
  expect_message("steps=1", errors::unknown_key, {"'steps'", "'run.steps'"});
  expect_message("optimizer.shard=true", errors::bad_value,
                 {"'optimizer.shard'", "\"none\"", "\"state\"", "\"gradients\""});
  expect_message("optimizer.lr=fast", errors::bad_value,
                 {"'optimizer.lr'", "above 0", "most 1000", "\"fast\""});
  expect_message("optimizer.lr=", errors::bad_value, {"'optimizer.lr'", "above 0", "most 1000", "\"\""});
  expect_message("model.hidden=[8,", errors::bad_value,
                 {"'model.hidden'", "most 1000", "from 1", "to 1048576", "\"[8,\""});
  expect_message("optimizer.lr=1\nrun.seed=2", errors::bad_value,
                 {"'optimizer.lr'", "above 0", "most 1000", "\"1\\u000Arun.seed=2\""});
  expect_message("precision.rules.head=32", errors::bad_value,
                 {"'precision.rules'", "'*'", "\"bf16\"", "\"fp16\"", "\"fp32\"", "integer 32", "'head'"});
  expect_message("restart", errors::bad_argument, {"'restart'", "section.key"});
  expect_message("=1", errors::bad_argument, {"'=1'", "section.key"});
  expect_message("precision={compute='bf16'}", errors::unknown_key, {"'precision'"});
  expect_message("schedule.warmup=101", errors::keys_conflict,
                 {"'schedule.warmup'", "is 101", "the 100", "'run.steps'"});
  EXPECT_TRUE(test::says(message_with({"run.seed=1", "run.seed=2"}), errors::duplicate_key, {"'run.seed'"}));
  EXPECT_TRUE(test::says(message_with({"precision.rules.a=fp32", "precision.rules.a=fp16"}),
                         errors::duplicate_key, {"'precision.rules.a'"}));
  EXPECT_TRUE(test::says(message_with({"run.steps=1", "run.epochs=2"}), errors::keys_conflict,
                         {"'run.epochs'", "'run.steps'"}));
}

}  // namespace mylos::testing::deck_messages_test
