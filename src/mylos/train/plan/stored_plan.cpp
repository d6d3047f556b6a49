#include "mylos/train/plan/stored_plan.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mylos/base/alignment.hpp"
#include "mylos/base/device/threads.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

using nlohmann::json;

// Limits of a valid text, which bound the memory for reading it.
constexpr std::size_t max_text_bytes = std::size_t{16} << 20;
constexpr std::size_t max_blocks = 100'000;
constexpr std::size_t max_operations = 1'000'000;
constexpr std::size_t max_gemms = 100'000;
constexpr std::size_t max_extent = (std::size_t{1} << 31) - 1;  // GEMM libraries count in 32 bits
constexpr std::size_t max_name_bytes = 200;
constexpr std::size_t max_bytes = std::size_t{1} << 46;  // of one tensor; sums of all stay within 64 bits

/// A JSON value and its path for messages, such as "cost.blocks[3].output_bytes".
class Node {
 public:
  Node(const json& value, const std::string& source, std::string path)
      : value_(value), source_(source), path_(std::move(path)) {}

  [[nodiscard]] Node at(const char* key) const {
    if (!value_.is_object()) refuse("is not an object");
    const auto found = value_.find(key);
    if (found == value_.end())
      fail_input(errors::plan_mismatch, "{}: {} is missing", source_,
                 path_.empty() ? key : path_ + "." + key);
    return {*found, source_, path_.empty() ? key : path_ + "." + key};
  }

  [[nodiscard]] bool has(const char* key) const { return value_.is_object() && value_.contains(key); }

  /// Returns the value that belongs to the node's text in `words`.
  template <class Range>
  [[nodiscard]] auto one_of(const Range& words, const char* what) const {
    const auto found = std::find_if(std::begin(words), std::end(words),
                                    [&](const auto& word) { return word.first == text(); });
    if (found == std::end(words)) refuse(fmt::format("is not a known {}", what));
    return found->second;
  }

  [[nodiscard]] Node at(std::size_t index) const {
    return {value_.at(index), source_, fmt::format("{}[{}]", path_, index)};
  }

  /// Returns the length of an array of 1 to `most` values.
  [[nodiscard]] std::size_t length(std::size_t most) const {
    if (!value_.is_array()) refuse("is not an array");
    if (value_.empty() || value_.size() > most) refuse(fmt::format("must have 1 to {} values", most));
    return value_.size();
  }

  [[nodiscard]] std::size_t whole(std::size_t most) const {
    if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() > most) {
      refuse(fmt::format("is not a whole number from 0 to {}", most));
    }
    return value_.get<std::uint64_t>();
  }

  [[nodiscard]] std::size_t bytes() const {
    const std::size_t count = whole(max_bytes);
    if (count % arena_alignment != 0) refuse(fmt::format("is not a multiple of {}", arena_alignment));
    return count;
  }

  [[nodiscard]] double milliseconds() const {
    if (!value_.is_number() || !std::isfinite(value_.get<double>()) || value_.get<double>() < 0) {
      refuse("is not a time in milliseconds");
    }
    return value_.get<double>();
  }

  [[nodiscard]] const std::string& text() const {
    if (!value_.is_string()) refuse("is not a string");
    return value_.get_ref<const std::string&>();
  }

  [[noreturn]] void refuse(const std::string& problem) const {
    fail_input(errors::plan_mismatch, "{}: {} {}", source_, path_.empty() ? "the text" : path_, problem);
  }

 private:
  const json& value_;
  const std::string& source_;
  std::string path_;
};

VariantCost variant_of(const Node& node) {
  return {node.at("name").text(), node.at("saved_bytes").bytes(), node.at("backward_workspace").bytes(),
          node.at("recompute_time_ms").milliseconds()};
}

StageCost stage_of(const Node& node) {
  StageCost stage{node.at("output_bytes").bytes(),
                  node.at("forward_workspace").bytes(),
                  {},
                  node.at("forward_time_ms").milliseconds(),
                  node.at("backward_time_ms").milliseconds()};
  const Node variants = node.at("variants");
  for (std::size_t v = 0; v < variants.length(64); ++v) stage.variants.push_back(variant_of(variants.at(v)));
  if (node.has("skip")) stage.skip = node.at("skip").whole(max_blocks);
  return stage;
}

ChainCost cost_of(const Node& node) {
  ChainCost cost;
  cost.input_bytes = node.at("input_bytes").bytes();
  cost.loss_workspace = node.at("loss_workspace").bytes();
  const std::string& times = node.at("times").text();
  if (times != "measured" && times != "model") node.at("times").refuse("is not one of measured, model");
  cost.measured = times == "measured";
  cost.loss_time = node.at("loss_time_ms").milliseconds();
  cost.update_time = node.at("update_time_ms").milliseconds();
  const Node blocks = node.at("blocks");
  const std::size_t count = blocks.length(max_blocks);
  for (std::size_t i = 0; i < count; ++i) cost.blocks.push_back(stage_of(blocks.at(i)));
  return cost;
}

Operation operation_of(const Node& node, const ChainCost& cost) {
  const std::string& run = node.at("run").text();
  const std::size_t last = cost.blocks.size() - 1;
  if (run == "loss") return {OperationKind::loss, cost.blocks.size()};
  const auto variant = [&](std::size_t block) {
    return node.at("variant").whole(cost.blocks[block].variants.size() - 1);
  };
  if (run == "backward") {
    const std::size_t block = node.at("block").whole(last);
    return {OperationKind::backward, block, Keep::nothing, variant(block)};
  }
  if (run != "forward") node.at("run").refuse("is not one of forward, loss, backward");
  const std::size_t block = node.at("block").whole(last);
  const std::string& keep = node.at("keep").text();
  if (keep == "nothing") return {OperationKind::forward, block, Keep::nothing};
  if (keep == "input") return {OperationKind::forward, block, Keep::input};
  if (keep != "variant") node.at("keep").refuse("is not one of nothing, input, variant");
  return {OperationKind::forward, block, Keep::variant, variant(block)};
}

GemmProblem problem_of(const Node& node) {
  using Form = std::pair<std::string_view, GemmForm>;
  constexpr Form forms[] = {
      {"y", GemmForm::output}, {"dx", GemmForm::input_gradient}, {"dW", GemmForm::weight_gradient}};
  using Type = std::pair<std::string_view, DType>;
  constexpr Type types[] = {{"fp32", DType::fp32}, {"bf16", DType::bf16}, {"fp16", DType::fp16}};
  const auto extent = [&](const char* key) {
    const std::size_t count = node.at(key).whole(max_extent);
    if (count == 0) node.at(key).refuse("is 0");
    return static_cast<std::int64_t>(count);
  };
  GemmProblem problem;
  problem.m = extent("m");
  problem.n = extent("n");
  problem.k = extent("k");
  const GemmForm form = node.at("form").one_of(forms, "form of a GEMM: y, dx, dW");
  problem.transpose_a = form == GemmForm::weight_gradient;
  problem.transpose_b = form == GemmForm::output;
  problem.a = problem.b = node.at("type").one_of(types, "type of operands: fp32, bf16, fp16");
  problem.c = node.at("stored").one_of(types, "type of results: fp32, bf16, fp16");
  if (problem.c != problem.a && problem.c != DType::fp32)
    node.at("stored").refuse("is neither the operands' type nor fp32");
  return problem;
}

/// Returns whether `engine` is an algorithm of a device's library, as the files cublaslt_algorithm.hpp and
/// hipblaslt_algorithm.hpp below src/mylos/device name them.
bool names_algorithm(const std::string& engine) {
  for (const std::string_view library : {"cublaslt/", "hipblaslt/"}) {
    if (engine.starts_with(library) && engine.size() <= max_name_bytes &&
        engine.find_first_not_of("0123456789./", library.size()) == std::string::npos)
      return true;
  }
  return false;
}

PlannedEngine planned_engine(const Node& node) {
  const Node engine = node.at("engine");
  PlannedEngine gemm{problem_of(node), engine.text()};
  std::vector<std::string_view> names;
  for (const GemmChoice each : gemm_engines) names.push_back(each.name);
  if (!names_algorithm(gemm.engine) && std::find(names.begin(), names.end(), gemm.engine) == names.end())
    engine.refuse(fmt::format("is no engine: {}", fmt::join(names, ", ")));
  return gemm;
}

PlannedEngines engines_of(const Node& root) {
  PlannedEngines engines;
  if (root.has("threads")) engines.threads = static_cast<int>(root.at("threads").whole(max_threads));
  if (!root.has("products")) return engines;
  engines.instructions = root.at("instructions").text();
  if (engines.instructions.size() > max_name_bytes) root.at("instructions").refuse("is too long");
  const Node gemms = root.at("products");
  const std::size_t count = gemms.length(max_gemms);
  for (std::size_t i = 0; i < count; ++i) engines.gemms.push_back(planned_engine(gemms.at(i)));
  return engines;
}

void compare(const std::string& source, const std::string& what, std::size_t stored, std::size_t now) {
  if (stored == now) return;
  fail_input(errors::plan_mismatch,
             "{} was planned for another model, micro-batch, GEMM engine or number of threads: {} is {} "
             "there and {} here",
             source, what, stored, now);
}

/// Compares the bytes. Times are ignored, as they differ between machines.
void compare(const std::string& source, const ChainCost& stored, const ChainCost& now) {
  compare(source, "the number of blocks", stored.blocks.size(), now.blocks.size());
  compare(source, "the input's bytes", stored.input_bytes, now.input_bytes);
  compare(source, "the loss's workspace", stored.loss_workspace, now.loss_workspace);
  for (std::size_t i = 0; i < now.blocks.size(); ++i) {
    const StageCost& was = stored.blocks[i];
    const StageCost& is = now.blocks[i];
    const std::string of_block = " of block " + std::to_string(i);
    compare(source, "output_bytes" + of_block, was.output_bytes, is.output_bytes);
    compare(source, "forward_workspace" + of_block, was.forward_workspace, is.forward_workspace);
    if (was.skip != is.skip)
      fail_input(errors::plan_mismatch,
                 "{} was planned for another model: other skip tensors are live at block {}", source, i);
    compare(source, "the number of variants" + of_block, was.variants.size(), is.variants.size());
    for (std::size_t v = 0; v < is.variants.size(); ++v) {
      const std::string of_variant = " of variant " + is.variants[v].name + of_block;
      compare(source, "saved_bytes" + of_variant, was.variants[v].saved_bytes, is.variants[v].saved_bytes);
      compare(source, "backward_workspace" + of_variant, was.variants[v].backward_workspace,
              is.variants[v].backward_workspace);
    }
  }
}

}  // namespace

StoredPlan parse_plan(std::string_view text, const std::string& source) {
  if (text.size() > max_text_bytes)
    fail_input(errors::plan_mismatch, "{}: is not a plan: it has more than {} bytes", source, max_text_bytes);
  json document;
  try {
    document = json::parse(text);
  } catch (const json::exception& error) {
    fail_input(errors::plan_mismatch, "{} is not JSON: {}", source, printable(error.what(), 200));
  }
  const Node root(document, source, "");
  if (root.at("format").text() != "mylos-plan") root.at("format").refuse("is not \"mylos-plan\"");
  if (root.at("version").whole(max_bytes) != 1) root.at("version").refuse("is not 1, the version read here");

  StoredPlan plan;
  plan.cost = cost_of(root.at("cost"));
  plan.arena_bytes = root.at("arena_bytes").whole(static_cast<std::size_t>(-1) / 2);
  if (root.has("micro_batch"))
    plan.micro_batch = static_cast<std::int64_t>(root.at("micro_batch").whole(max_extent));
  const Node operations = root.at("operations");
  const std::size_t count = operations.length(max_operations);
  for (std::size_t i = 0; i < count; ++i) plan.schedule.push_back(operation_of(operations.at(i), plan.cost));
  plan.engines = engines_of(root);
  return plan;
}

Plan reuse_plan(const StoredPlan& stored, const ChainCost& cost, const std::string& source) {
  compare(source, stored.cost, cost);
  Plan plan;
  try {
    plan = plan_of_list(stored.cost, stored.schedule);
  } catch (const Error& error) {
    fail_input(errors::plan_mismatch, "{}: {}", source, error.message());
  }
  // The stored value may be larger, if an earlier build placed the tensors less tightly.
  if (plan.placement.bytes > stored.arena_bytes)
    compare(source, "arena_bytes", stored.arena_bytes, plan.placement.bytes);
  return plan;
}

}  // namespace mylos
