// [communication], [checkpoint] and [kernels]: settings that depend on the machine and do not change the
// mathematics.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

void add_communication_keys(Schema& schema) {
  Keys keys(
      schema, "communication", "How ranks exchange gradients.",
      [](auto& options) -> auto& { return options.communication; });
  Words<std::string> backends{{"auto", "auto"}};
  for (const std::string_view name : communication_backends) backends.emplace_back(name, name);
  keys.choice("backend", &CommunicationOptions::backend, backends,
              "auto: NCCL where it is built and the memory is on a device, else MPI.");
  keys.bytes_or_auto(
      "bucket", &CommunicationOptions::bucket_bytes, {1, std::int64_t{1} << 40}, "25 MiB",
      "Gradients are reduced in pieces of about this size while backward goes on; the last piece of a step "
      "is not hidden. Over MPI, memory is staged for four of them. auto: a 32nd of the network's "
      "gradients, at least 1 MiB and at most 25 MiB.");
  keys.choice(
      "reduce_type", &CommunicationOptions::reduce_type,
      Words<ReduceType>{
          {"auto", ReduceType::automatic}, {"compute", ReduceType::compute}, {"fp32", ReduceType::fp32}},
      "The type in which gradients travel. auto: bf16 as bf16, fp16 and fp32 as fp32.");
  keys.number("timeout", &CommunicationOptions::timeout_s, {0, false, 1e6, true}, "seconds",
              "A rank that waits longer than this for the others ends the run. So long a restart waits for a "
              "run that goes on in its folder.");
}

void add_checkpoint_keys(Schema& schema) {
  Keys keys(
      schema, "checkpoint", "When the state is written and how much of it is kept.",
      [](auto& options) -> auto& { return options.checkpoint; });
  keys.integer("every", &CheckpointOptions::every, {0, largest_count}, "steps",
               "How often a checkpoint is written. 0: only at the end.");
  keys.number(
      "every_minutes", &CheckpointOptions::every_minutes, {0, true, 1e6, true}, "minutes",
      "Also written when this time has passed since the last one, at the next progress line. 0: not by "
      "the clock.");
  keys.integer("keep_last", &CheckpointOptions::keep_last, {0, largest_count}, "files",
               "How many of the newest checkpoints are kept. 0: all.");
  keys.integer("keep_every", &CheckpointOptions::keep_every, {0, largest_count}, "steps",
               "Checkpoints whose step is a multiple of this are kept for good. 0: none.");
  keys.choice(
      "keep_best", &CheckpointOptions::keep_best,
      Words<std::string>{{"", ""},
                         {"train.loss", "train.loss"},
                         {"validation.loss", "validation.loss"},
                         {"validation.accuracy", "validation.accuracy"},
                         {"validation.top5", "validation.top5"},
                         {"validation.r2", "validation.r2"},
                         {"test.loss", "test.loss"},
                         {"test.accuracy", "test.accuracy"},
                         {"test.top5", "test.top5"},
                         {"test.r2", "test.r2"}},
      "When an evaluation is better by this metric than all before it, a checkpoint is written. "
      "`checkpoints/best` names it, and it is kept until there is a better one. train.loss: the mean over "
      "the steps since the evaluation before. top5 and r2: where `run.metrics` names them. \"\": none is "
      "kept "
      "for that.");
  keys.boolean(
      "background", &CheckpointOptions::background,
      "Steps go on while rank 0 writes a copy of the state, or each rank one of what is cut over them "
      "(optimizer.shard), where memory.budget has room for it. The last checkpoint of a start is waited "
      "for.");
  keys.choice(
      "on_error", &CheckpointOptions::on_error,
      Words<OnError>{{"stop", OnError::stop}, {"continue", OnError::go_on}},
      "When a checkpoint or the history cannot be written (a full disk): the run ends, or says so and "
      "goes on to try again at the next checkpoint. The last one must succeed.");
  keys.only_with({"keep_every"}, with_more_than_0("checkpoint.keep_last"));
}

}  // namespace

void add_machine_keys(Schema& schema) {
  add_communication_keys(schema);
  add_checkpoint_keys(schema);
  Keys keys(
      schema, "kernels",
      "Which engine computes the products, by which instructions, and how kernels are launched.",
      [](auto& options) -> auto& { return options.kernels; });
  keys.choice(
      "gemm", &KernelOptions::gemm,
      Words<GemmChoice>{{"auto", GemmChoice::automatic},
                        {"measure", GemmChoice::measure},
                        {"onednn", GemmChoice::onednn},
                        {"tiles", GemmChoice::tiles},
                        {"cublaslt", GemmChoice::cublaslt},
                        {"kokkos", GemmChoice::kokkos}},
      "auto: the fastest that is built for this device, on hosts from a table of what was measured, "
      "the same at every start. measure: the start times the engines on each product of the run (a "
      "second or two), on NVIDIA devices cuBLASLt's algorithms; plan and checkpoint keep the choice, and a "
      "restart takes it from there.");
  using Choice = std::optional<Instructions>;
  Words<Choice> instructions{{"auto", std::nullopt}};
  for (const Instructions each : {Instructions::baseline, Instructions::avx2, Instructions::avx512,
                                  Instructions::avx512_bf16, Instructions::neon, Instructions::sve})
    instructions.emplace_back(name_of(each), each);
  keys.choice("instructions", &KernelOptions::instructions, instructions,
              "What vector code and oneDNN compute by on hosts. auto: the best that the processors of all "
              "ranks have. avx512-bf16 leaves the matrix unit (AMX) out, which auto uses. Results of two of "
              "them differ by rounding.");
  keys.boolean("graphs", &KernelOptions::graphs,
               "On an NVIDIA device, where a rank is alone and the run not reproducible: a step's kernels "
               "are recorded when they run for the "
               "second time, and launched together from then on. Kokkos' tools then see steps, not kernels.");
  keys.only_with({"graphs"}, with("run.reproducible", {"false"}));
}

}  // namespace mylos
