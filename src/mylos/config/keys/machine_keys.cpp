// [communication], [mesh], [checkpoint] and [kernels]: settings that depend on the machine and do not change
// the mathematics.
#include <fmt/format.h>

#include <string_view>

#include "mylos/base/instructions.hpp"
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/kernels/options.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_boxes = 65536;  // along an axis

void add_communication_keys(Schema& schema) {
  Keys keys(
      schema, "communication", "How ranks exchange gradients.",
      [](auto& options) -> auto& { return options.communication; });
  Words<std::string> backends{{"auto", "auto"}};
  for (const std::string_view name : communication_backends) backends.emplace_back(name, name);
  keys.choice("backend", &CommunicationOptions::backend, backends,
              "auto: NCCL if this build has it and the memory is on a device, otherwise MPI.");
  keys.add("bucket", &CommunicationOptions::bucket_bytes, bytes_type({1, std::int64_t{1} << 40}, "25 MiB"),
           "Size of the buckets in which gradients are reduced during backward; the reduction of a step's "
           "last bucket is not overlapped. MPI takes staging memory for four buckets, NCCL for those in 16 "
           "bits. auto: 1/32 of the network's gradients, at least 1 MiB and at most 25 MiB.");
  keys.choice(
      "reduce_type", &CommunicationOptions::reduce_type,
      Words<ReduceType>{
          {"auto", ReduceType::automatic}, {"compute", ReduceType::compute}, {"fp32", ReduceType::fp32}},
      "The type in which gradients are exchanged. auto: bf16 as bf16, fp16 and fp32 as fp32. Sums are float, "
      "and rounded once.");
  keys.number("timeout", &CommunicationOptions::timeout_s, {0, false, 1e6, true}, "seconds",
              "A rank that waits longer than this for the others ends the run. A restart waits up to this "
              "time for a run that is still active in its folder.");
}

/// Returns the type of a number of boxes along each axis; none by default.
ValueType<std::vector<std::int64_t>> boxes_type(std::string text) {
  return or_none(list_type(integer_type({1, max_boxes}), {.text = std::move(text), .min = 1, .max = 3}));
}

/// "auto" is what the deck says until a start has chosen: then it is the choice.
template <class Of>
void add_space_key(Keys<Of>& keys) {
  const auto list = boxes_type("list of 1 to 3 integers");
  Key& key = keys.add(
      "space", fmt::format("\"auto\" or a list of 1 to 3 integers from 1 to {}", max_boxes), "",
      "Boxes into which each sample is divided along the axes of its grid; every rank holds one: with "
      "[2, 2], 4 ranks share a sample, and 8 ranks work on two samples at a time. \"auto\": the fewest boxes "
      "with which the run fits memory.budget on its ranks, [1, 1] where whole samples do; each start "
      "chooses. Default: each rank has samples of its own. A restart may change it.");
  key.read = [list](Options& options, const Value& value) -> Found {
    MeshOptions& mesh = options.mesh;
    const auto* const word = std::get_if<std::string>(&value.held);
    mesh.automatic = word != nullptr && *word == "auto";
    if (!mesh.automatic) return list.read(mesh.space, value);
    mesh.space.clear();
    return std::nullopt;
  };
  key.write = [list](const Options& options) {
    return options.mesh.is_open() ? std::optional(Value{std::string("auto")})
                                  : list.write(options.mesh.space);
  };
  keys.finish(key);
}

void add_mesh_keys(Schema& schema) {
  Keys keys(
      schema, "mesh", "How ranks share samples that are too large for one.",
      [](auto& options) -> auto& { return options.mesh; });
  add_space_key(keys);
  keys.add(
      "sums", &MeshOptions::sums, boxes_type(fmt::format("list of 1 to 3 integers from 1 to {}", max_boxes)),
      "Boxes along each axis by which a reproducible run takes sums over points, powers of two: runs with "
      "the "
      "same 'sums' have the same bits on every 'space' that divides them, and on ranks with whole samples. "
      "Default: none; a reproducible run with a 'space' needs them.");
  keys.only_with(with("model.type", {"chain", "cnn", "resnet", "unet", "fno"}));
  keys.only_with({"sums"}, with("run.reproducible", {"true"}));
}

/// The name of a metric: words, and "test.rolloutN" with any number of steps.
ValueType<std::string> metric_type() {
  std::vector<std::string> metrics{"", "train.loss"};
  for (const std::string part : {"validation.", "test."}) {
    metrics.insert(metrics.end(), {part + "loss", part + "accuracy"});
    for (const MeasureTraits& measure : measure_traits)
      if (measure.is_number) metrics.push_back(part + std::string(measure.name));
  }
  Words<std::string> words;
  for (const std::string& metric : metrics) words.emplace_back(metric, metric);
  ValueType<std::string> type = word_type(std::move(words));
  const auto read = type.read;
  type.text += ", or \"test.rolloutN\" with a number N";
  type.read = [read](std::string& target, const Value& value) -> Found {
    constexpr std::string_view part = "test.";
    const auto* held = std::get_if<std::string>(&value.held);
    if (held == nullptr || !held->starts_with(part) || rollout_steps_of(held->substr(part.size())) == 0)
      return read(target, value);
    target = *held;
    return std::nullopt;
  };
  type.write = [](const std::string& target) { return std::optional(Value{target}); };
  return type;
}

void add_checkpoint_keys(Schema& schema) {
  Keys keys(
      schema, "checkpoint", "When checkpoints are written, and which of them are kept.",
      [](auto& options) -> auto& { return options.checkpoint; });
  keys.integer("every", &CheckpointOptions::every, {0, max_count}, "steps",
               "Interval between checkpoints. 0: only at the end.");
  keys.number(
      "every_minutes", &CheckpointOptions::every_minutes, {0, true, 1e6, true}, "minutes",
      "Time after which another checkpoint is written, at the next progress line. 0: no limit by time.");
  keys.integer("keep_last", &CheckpointOptions::keep_last, {0, max_count}, "files",
               "Number of newest checkpoints that are kept. 0: all.");
  keys.integer("keep_every", &CheckpointOptions::keep_every, {0, max_count}, "steps",
               "Checkpoints whose step is a multiple of this number are never deleted. 0: none.");
  keys.add("keep_best", &CheckpointOptions::keep_best, metric_type(),
           "A checkpoint is written when an evaluation is better by this metric than all earlier ones. "
           "`checkpoints/best` names it, and it is kept until there is a better one. train.loss: the mean "
           "over the steps since the previous evaluation. top5, r2, relative_l2, relative_h1, crps and "
           "rolloutN must be in `run.metrics`. \"\": no best checkpoint.");
  keys.boolean("background", &CheckpointOptions::background,
               "Writes checkpoints asynchronously from a copy of the state, if memory.budget has room for "
               "it: training continues while rank 0 writes the state and each rank its shards "
               "(optimizer.shard). The program waits for the last checkpoint before it ends.");
  keys.choice("on_error", &CheckpointOptions::on_error,
              Words<OnError>{{"stop", OnError::stop}, {"continue", OnError::go_on}},
              "Action when a checkpoint or the history cannot be written (a full disk). stop: the run ends. "
              "continue: the run reports the error, continues, and tries again at the next checkpoint. The "
              "last checkpoint must succeed.");
  keys.only_with({"keep_every"}, with_more_than_0("checkpoint.keep_last"));
}

/// The words of kernels.gemm, also those of engines that this build lacks.
Words<GemmChoice> gemm_words() {
  Words<GemmChoice> words;
  for (const GemmChoice choice : {GemmChoice::automatic, GemmChoice::measure})
    words.emplace_back(choice.name, choice);
  for (const GemmChoice engine : gemm_engines) words.emplace_back(engine.name, engine);
  return words;
}

}  // namespace

void add_machine_keys(Schema& schema) {
  add_communication_keys(schema);
  add_mesh_keys(schema);
  add_checkpoint_keys(schema);
  Keys keys(
      schema, "kernels", "The GEMM engine, its instruction set, attention, and the launch of kernels.",
      [](auto& options) -> auto& { return options.kernels; });
  keys.choice("gemm", &KernelOptions::gemm, gemm_words(),
              "auto: the fastest engine that is built for this device, on hosts from a fixed table of "
              "measurements, so that every start makes the same choice. measure: the start times the "
              "engines, on devices the algorithms of cuBLASLt or hipBLASLt, on each GEMM of the run (a "
              "second or two). "
              "Plan and checkpoint store the choice, and a restart reuses it.");
  using Choice = std::optional<Instructions>;
  Words<Choice> instructions{{"auto", std::nullopt}};
  for (const Instructions each : {Instructions::baseline, Instructions::avx2, Instructions::avx512,
                                  Instructions::avx512_bf16, Instructions::neon, Instructions::sve})
    instructions.emplace_back(name_of(each), each);
  keys.choice("instructions", &KernelOptions::instructions, instructions,
              "Instruction set of vector code and oneDNN on hosts. auto: the best that the processors of all "
              "ranks support. avx512-bf16 excludes the matrix unit (AMX), which auto uses. Results of two "
              "instruction sets differ by rounding.");
  keys.choice("attention_sums", &KernelOptions::attention_sums,
              Words<AttentionSums>{{"fixed_order", AttentionSums::fixed_order},
                                   {"any_order", AttentionSums::any_order}},
              "Where cuDNN computes attention: the order in which its backward pass adds. any_order takes "
              "less memory and may be faster, but gradients differ in their last digits from run to run, and "
              "so do repeated, restarted and recomputed steps.");
  keys.boolean(
      "graphs", &KernelOptions::graphs,
      "On an NVIDIA or AMD device, for a run that is not reproducible, with one rank or with NCCL and "
      "the same number of micro-batches on all ranks: captures a step's kernels when they run for the "
      "second time, and launches them as a few graphs from then on. Kokkos' tools then see steps, not "
      "kernels.");
  keys.only_with({"graphs"}, with("run.reproducible", {"false"}));
  keys.only_with({"attention_sums"}, with("model.type", {"gpt"}));
  keys.only_with({"attention_sums"},
                 of_value("\"any_order\"", with("kernels.gemm", {"auto", "measure", "cublaslt"})));
}

}  // namespace mylos
