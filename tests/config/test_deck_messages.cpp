// Messages about decks with a mistake, word for word.
#include <gtest/gtest.h>

#include "config/deck_builders.hpp"

namespace mylos::testing::deck_messages_test {

struct Mistake {
  std::string deck;
  std::string message;
};

/// A mistake in a value is reported in the same form for every key.
void expect_refused(const std::string& key, const std::string& value, const std::string& wanted,
                    const std::string& found) {
  EXPECT_EQ(message_of("# a comment\n" + key + " = " + value + "\n"),
            "deck.toml:2: '" + key + "' must be " + wanted + ", not " + found);
}

const std::string sections =
    "run, initial, data, data.augment, model, precision, precision.scaler, precision.adaptation, memory, "
    "optimizer, "
    "schedule, "
    "communication, checkpoint, "
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
       "deck.toml:1: unknown key 'precison.compute'; did you mean 'precision.compute'?"},
      {"[precision]\n\ncompuet = \"bf16\"",
       "deck.toml:3: unknown key 'precision.compuet'; did you mean 'precision.compute'?"},
      {"[precision.scaler]\nintial_scale = 1",
       "deck.toml:2: unknown key 'precision.scaler.intial_scale'; did you mean "
       "'precision.scaler.initial_scale'?"},
      {"[run]\nlr = 1", "deck.toml:2: unknown key 'run.lr'; did you mean 'optimizer.lr'?"},
      {"batch = 3", "deck.toml:1: unknown key 'batch'; did you mean 'data.batch'?"},
      {"[run]\nfoobar = 1",
       "deck.toml:2: unknown key 'run.foobar'; the keys of [run] are name, folder, initial, seed, epochs, "
       "steps, "
       "reproducible, threads, evaluate_every, metrics, patience, log_every, walltime, peak_flops"},
      {"[precision]\nfoobar = 1",
       "deck.toml:2: unknown key 'precision.foobar'; the keys of [precision] are compute, gradient, masters, "
       "adapt, rules, scaler, adaptation"},
      {"foobar = 1", "deck.toml:1: unknown key 'foobar'; the sections are " + sections},
      {"\"run.name\" = 'x'", "deck.toml:1: unknown key '\"run.name\"'; did you mean 'run.name'?"},
      {"[kernels]\ngemm.engine = 1",
       "deck.toml:2: 'kernels.gemm' must be \"auto\", \"measure\", \"onednn\", \"tiles\", \"cublaslt\" or "
       "\"kokkos\", not a table"}};
  for (const auto& [deck, message] : mistakes) {
    EXPECT_EQ(message_of(deck), message);
  }
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
  EXPECT_EQ(message_of("[run]\nsteps = 1\n[optimiser]\nlr = 1"),
            "deck.toml:3: unknown section [optimiser]; did you mean [optimizer]?");
  EXPECT_EQ(message_of("[optimiser]"), "deck.toml:1: unknown section [optimiser]; did you mean [optimizer]?");
  EXPECT_EQ(message_of("[scaler]\nmode = 'off'"),
            "deck.toml:1: unknown section [scaler]; did you mean [precision.scaler]?");
  EXPECT_EQ(message_of("[zebra]"), "deck.toml:1: unknown section [zebra]; the sections are " + sections);
  EXPECT_EQ(
      message_of("[[run]]\nsteps = 1"),
      "deck.toml:1: 'run' is a section, not a key; its keys are name, folder, initial, seed, epochs, steps, "
      "reproducible, threads, evaluate_every, metrics, patience, log_every, walltime, peak_flops");
  EXPECT_EQ(
      message_of("[communication]\n[kernels]\n[precision]\nscaler = 'off'"),
      "deck.toml:4: 'precision.scaler' is a section, not a key; its keys are mode, preset, initial_scale, "
      "growth_factor, backoff_factor, growth_interval, hysteresis, hysteresis_refill, backoff_window, "
      "backoff_overflows, min_scale, max_scale, max_consecutive_skips, reset");
}

TEST(DuplicateKey, IsNamedWithTheLineOfTheFirst) {
  EXPECT_EQ(message_of("[optimizer]\nlr = 1\n\nlr = 2"),
            "deck.toml:4: duplicate key 'optimizer.lr'; it was first given in line 2");
  EXPECT_EQ(message_of("run.name = 'x'\nrun.name = 'x'"),
            "deck.toml:2: duplicate key 'run.name'; it was first given in line 1");
  EXPECT_EQ(message_of("[run]\nname = 'x'\n[data]\n[run]\nseed = 1"),
            "deck.toml:4: duplicate section 'run'; it was first given in line 1");
  EXPECT_EQ(message_of("run = { name = 'x', name = 'y' }"), "deck.toml:1: a key in this line is a duplicate");
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
  expect_refused("data.train", "\"\"", "a path (1 to 4096 bytes, no control characters)", "the string \"\"");
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
  expect_refused("precision.scaler.preset", "\"brave\"", "\"standard\", \"conservative\" or \"aggressive\"",
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
  EXPECT_EQ(message_of("[precision]\ncompute = bf16\n"), "deck.toml:2:11: text needs quotes: \"bf16\"");
  EXPECT_EQ(message_of("[precision]\ncompute = fp32  # float"),
            "deck.toml:2:12: text needs quotes: \"fp32\"");
  EXPECT_EQ(message_of("[data]\ntrain = data/a.h5"), "deck.toml:2:9: text needs quotes: \"data/a.h5\"");
  EXPECT_EQ(message_of("[precision]\nrules = { head = fp32 }"),
            "deck.toml:2:19: not TOML: in the boolean: expected 'false', saw 'fp' (text needs quotes)");
  EXPECT_EQ(message_of("[optimizer]\nlr = 0,1"),
            "deck.toml:2:7: not TOML: in the key-value pair: expected a comment or whitespace, saw ','");
  EXPECT_EQ(message_of("[run"), "deck.toml:1:5: not TOML: in the table header: encountered end-of-file");
}

TEST(KeysTogether, MustMakeSense) {
  const std::string data = "data.train = 'train.h5'\n";
  std::string numbers_240 = "8";
  for (int i = 1; i < 240; ++i) numbers_240 += ", 8";
  const std::vector<Mistake> mistakes{
      {"[run]\nsteps = 3\nepochs = 2\n[data]\ntrain = 'a'",
       "deck.toml:3: 'run.epochs' and 'run.steps' are both given; keep the one that sets the run's length"},
      {data, "deck.toml: the length of the run is missing; give 'run.epochs' or 'run.steps'"},
      {"run.steps = 3",
       "deck.toml: the size of a sample is missing; give 'data.train', or 'model.inputs' and "
       "'model.outputs'"},
      {"run.steps = 3\nmodel.inputs = 3",
       "deck.toml:2: the size of a sample is missing; give 'data.train', or 'model.inputs' and "
       "'model.outputs'"},
      {"run.steps = 3\ndata.test = 'a'",
       "deck.toml:2: 'data.test' has an effect only with data.train, and data.train is not given; leave it "
       "out"},
      {"run.epochs = 3\nmodel.inputs = 3\nmodel.outputs = 1",
       "deck.toml:1: 'run.epochs' needs 'data.train'; without a data file give 'run.steps'"},
      {"run.steps = 3\nmodel.inputs = 3\nmodel.outputs = 1\ndata.validation = 0.5",
       "deck.toml:4: 'data.validation' has an effect only with data.train, and data.train is not given; "
       "leave it "
       "out"},
      {"run.steps = 3\nschedule.warmup = 4\n" + data,
       "deck.toml:2: 'schedule.warmup' is 4, more than the 3 of 'run.steps'"},
      {"run.steps = 3\nschedule.warmup = 4\nschedule.steps = 2\nschedule.type = 'cosine'\n" + data,
       "deck.toml:3: 'schedule.warmup' is 4, more than the 2 of 'schedule.steps'"},
      {"run.steps = 3\nmodel.type = 'resnet'\nmodel.blocks = 1\nmodel.channels = [" + numbers_240 +
           "]\ndata.shape = [4, 4, 1]\n" + data,
       "deck.toml:4: the type \"resnet\" stands for 1201 layers here, more than 1000"},
      {"run.steps = 3\nschedule.type = 'step'\n" + data,
       "deck.toml:2: the schedule \"step\" needs 'schedule.step_size'"},
      {"run.steps = 3\noptimizer.type = 'sgd'\noptimizer.nesterov = true\noptimizer.momentum = 0\n" + data,
       "deck.toml:3: 'optimizer.nesterov' has an effect only with optimizer.momentum above 0, and "
       "optimizer.momentum is 0.0 (deck.toml:4); leave it out"},
      {"run.steps = 3\nschedule.type = 'exponential'\n" + data,
       "deck.toml:2: the schedule \"exponential\" needs 'schedule.step_size'"},
      {"run.steps = 3\nschedule.type = 'multistep'\n" + data,
       "deck.toml:2: the schedule \"multistep\" needs 'schedule.milestones'"},
      {"run.steps = 3\nschedule.type = 'cosine_restarts'\n" + data,
       "deck.toml:2: the schedule \"cosine_restarts\" needs 'schedule.period'"},
      {"run.steps = 9\nschedule.warmup = 3\nschedule.type = 'multistep'\nschedule.milestones = [2, 5]\n" +
           data,
       "deck.toml:4: the milestone 2 of 'schedule.milestones' is within the 3 updates of "
       "'schedule.warmup'; milestones count from the start of the run"},
      {"run.steps = 9\nschedule.warmup = 3\nschedule.type = 'one_cycle'\n" + data,
       "deck.toml:2: 'schedule.warmup' has an effect only with any other schedule than \"one_cycle\", which "
       "rises "
       "by itself (schedule.rise_share), and schedule.type is \"one_cycle\" (deck.toml:3); leave it out"},
      {"run.steps = 20\nschedule.warmup = 11\nschedule.type = 'wsd'\nschedule.decay_share = 0.5\n" + data,
       "deck.toml:4: 'schedule.warmup' = 11 and the 10 updates of 'schedule.decay_share' = 0.5 are more than "
       "the 20 of 'run.steps'"}};
  for (const auto& [deck, message] : mistakes) EXPECT_EQ(message_of(deck), message);
}

TEST(SeveralMistakes, AreToldInTheDecksOrder) {
  const std::string deck = "[schedule]\nwarmup = 'z'\n[checkpoint]\nevery = -1\n[data]\nbatches = 3\n";
  EXPECT_EQ(message_of(deck, {"run.bogus=1"}),
            "deck.toml:2: 'schedule.warmup' must be an integer from 0 to 2147483647, not the string \"z\"");
  // Also if the command line gives another value.
  EXPECT_EQ(message_of("run.steps = 0", {"run.steps=1"}),
            "deck.toml:1: 'run.steps' must be an integer from 1 to 2147483647, not the integer 0");
}

TEST(CommandLine, MistakesAreToldAsTheDecksAre) {
  const auto expect_message = [](const std::string& override_text, const std::string& message) {
    EXPECT_EQ(message_with({override_text}), "command line: " + message);
  };
  expect_message("optimizer.rl=1", "unknown key 'optimizer.rl'; did you mean 'optimizer.lr'?");
  expect_message("steps=1", "unknown key 'steps'; did you mean 'run.steps'?");
  expect_message("optimizer.shard=true",
                 "'optimizer.shard' must be \"none\", \"state\" or \"gradients\", not the boolean true");
  expect_message("optimizer.lr=fast",
                 "'optimizer.lr' must be a number above 0 and at most 1000, not the string "
                 "\"fast\"");
  expect_message("optimizer.lr=",
                 "'optimizer.lr' must be a number above 0 and at most 1000, not the string \"\"");
  expect_message("model.hidden=[8,",
                 "'model.hidden' must be a list of at most 1000 integers from 1 to 1048576, not "
                 "the string \"[8,\"");
  expect_message("optimizer.lr=1\nrun.seed=2",
                 "'optimizer.lr' must be a number above 0 and at most 1000, not the "
                 "string \"1\\u000Arun.seed=2\"");
  expect_message("precision.rules.head=32",
                 "'precision.rules' must be a table from layer name, pattern with '*' or "
                 "layer kind to \"bf16\", \"fp16\" or \"fp32\", not the integer 32 for "
                 "'head'");
  expect_message("restart", "'restart' is not of the form section.key=value");
  expect_message("=1", "'=1' is not of the form section.key=value");
  expect_message("precision={compute='bf16'}",
                 "'precision' is a section, not a key; its keys are compute, gradient, masters, adapt, "
                 "rules, scaler, adaptation");
  expect_message("schedule.warmup=101", "'schedule.warmup' is 101, more than the 100 of 'run.steps'");
  EXPECT_EQ(message_with({"run.seed=1", "run.seed=2"}), "command line: 'run.seed' is given twice");
  EXPECT_EQ(message_with({"precision.rules.a=fp32", "precision.rules.a=fp16"}),
            "command line: 'precision.rules.a' is given twice");
  EXPECT_EQ(
      message_with({"run.steps=1", "run.epochs=2"}),
      "command line: 'run.epochs' and 'run.steps' are both given; keep the one that sets the run's length");
}

}  // namespace mylos::testing::deck_messages_test
