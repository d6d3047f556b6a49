// Where tensors lie: the schedule is simulated tensor by tensor, and what is alive together may not overlap.
#include <gtest/gtest.h>

#include <map>

#include "model/scribbling_gemm.hpp"
#include "mylos/model/activation_layout.hpp"

namespace mylos {
namespace {

struct Stretch {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

/// Tensors by name while they are alive.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : bytes_(bytes) {}
  void begin(const std::string& name, Stretch stretch) {
    EXPECT_LE(stretch.offset + stretch.bytes, bytes_) << name << " reaches past the arena";
    EXPECT_EQ(stretch.offset % arena_alignment, 0u) << name;
    for (const auto& [other, where] : alive_) {
      const bool apart =
          stretch.offset + stretch.bytes <= where.offset || where.offset + where.bytes <= stretch.offset;
      EXPECT_TRUE(apart || stretch.bytes == 0 || where.bytes == 0) << name << " lies on " << other;
    }
    alive_[name] = stretch;
    std::size_t now = 0;
    for (const auto& [other, where] : alive_) now += where.bytes;
    peak_ = std::max(peak_, now);
  }
  void end(const std::string& name) { alive_.erase(name); }
  [[nodiscard]] std::size_t peak() const { return peak_; }

 private:
  std::size_t bytes_;
  std::size_t peak_ = 0;
  std::map<std::string, Stretch> alive_;
};

/// A step that keeps everything: forward through all blocks, loss, backward. Returns the most bytes alive.
std::size_t simulate(const Chain& chain, const GemmEngine& gemm, std::int64_t rows) {
  const ActivationLayout layout = make_activation_layout(chain, gemm, rows);
  const auto row_bytes = static_cast<std::size_t>(rows) * 4;
  const std::size_t count = chain.blocks.size();
  Memory memory(layout.bytes);
  memory.begin("row loss", {layout.row_loss, row_bytes});
  memory.begin("row correct", {layout.row_correct, row_bytes});
  const auto tag = [](const char* what, std::size_t block) {
    return fmt::format("{} of block {}", what, block);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const BlockCost cost = chain.blocks[i]->cost(gemm, rows);
    memory.begin(tag("output", i), {layout.output[i], cost.output_bytes});
    memory.begin(tag("saved", i), {layout.saved[i], cost.saved_bytes});
    memory.begin("workspace", {layout.forward_workspace[i], cost.forward_workspace});
    memory.end("workspace");
  }
  const auto begin_gradient = [&](std::size_t i) {
    memory.begin(tag("gradient", i),
                 {layout.output_gradient[i], chain.blocks[i]->cost(gemm, rows).output_bytes});
  };
  begin_gradient(count - 1);
  for (std::size_t i = count; i-- > 0;) {
    if (i > 0) begin_gradient(i - 1);
    memory.begin("workspace",
                 {layout.backward_workspace[i], chain.blocks[i]->cost(gemm, rows).backward_workspace});
    memory.end("workspace");
    memory.end(tag("gradient", i));
    memory.end(tag("output", i));
    memory.end(tag("saved", i));
  }
  return memory.peak();
}

Chain chain_of(std::vector<std::int64_t> hidden, NormType norm, Activation activation, double dropout) {
  ModelOptions model;
  model.inputs = 37;
  model.outputs = 10;
  model.hidden = std::move(hidden);
  model.norm = norm;
  model.activation = activation;
  model.dropout = dropout;
  PrecisionOptions precision;
  precision.rules = {{"layernorm", DType::fp32}, {"head", DType::fp32}};
  return make_mlp(model, precision, 1, false);
}

TEST(ActivationLayout, WhatIsAliveTogetherNeverOverlaps) {
  const test::ScribblingGemm gemm;
  for (const auto& hidden : std::vector<std::vector<std::int64_t>>{
           {}, {64}, {100, 20}, {20, 100}, {30, 300, 30}, {300, 30, 300}, {11, 222, 33, 44, 555, 6}}) {
    for (const NormType norm : {NormType::none, NormType::layernorm}) {
      for (const Activation activation : {Activation::relu, Activation::gelu}) {
        for (const std::int64_t rows : {1, 17, 256}) {
          const Chain chain = chain_of(hidden, norm, activation, 0.1);
          const std::size_t peak = simulate(chain, gemm, rows);
          EXPECT_GE(make_activation_layout(chain, gemm, rows).bytes, peak);
        }
      }
    }
  }
}

TEST(ActivationLayout, OfEqualLayersTakesNoMoreThanIsAlive) {
  // Gradients that take turns in two places waste nothing where all boundaries are equally large. Then the
  // arena is exactly the live peak: both row vectors, everything kept, two gradients and the workspace of the
  // last block.
  const test::ScribblingGemm gemm;
  ModelOptions model;
  model.inputs = 64;
  model.outputs = 64;
  model.hidden = {64, 64, 64};
  PrecisionOptions precision;
  const Chain chain = make_mlp(model, precision, 1, false);
  const std::int64_t rows = 32;
  EXPECT_EQ(make_activation_layout(chain, gemm, rows).bytes, simulate(chain, gemm, rows));
  const std::size_t boundary = 32 * 64 * 2;
  const std::size_t kept = 2 * 128 + 4 * boundary;  // relu: nothing beside the outputs
  EXPECT_EQ(make_activation_layout(chain, gemm, rows).bytes,
            kept + 2 * boundary + chain.blocks.back()->cost(gemm, rows).backward_workspace);
}

TEST(ActivationLayout, KeptTensorsStackUpFromTheBottom) {
  const test::ScribblingGemm gemm;
  const Chain chain = chain_of({100, 20}, NormType::none, Activation::silu, 0);
  const ActivationLayout layout = make_activation_layout(chain, gemm, 50);
  std::size_t bottom = 2 * aligned_bytes(200);
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    const BlockCost cost = chain.blocks[i]->cost(gemm, 50);
    EXPECT_EQ(layout.output[i], bottom);
    EXPECT_EQ(layout.saved[i], bottom + cost.output_bytes);
    bottom += cost.output_bytes + cost.saved_bytes;
  }
  EXPECT_EQ(layout.rows, 50);
}

}  // namespace
}  // namespace mylos
