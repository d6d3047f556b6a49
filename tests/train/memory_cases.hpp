// Options that each change what a trainer or an evaluation allocates, for tests of memory statements.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/reference_rollout.hpp"
#include "train/memory_world.hpp"

namespace mylos::testing_support {

struct MemoryCase {
  std::string name;
  Options options;
};

inline MemoryCase with(const std::string& name, Options options,
                       const std::function<void(Options&)>& change) {
  change(options);
  return {name, std::move(options)};
}

inline Options small_grid(DType compute) {
  Options options = small_options(compute);
  options.model = {};
  options.model.type = ModelType::chain;
  options.model.shape = {2, 2, 3};
  options.model.inputs = features;
  options.model.outputs = classes;
  options.model.chain = {{.kind = kinds::Conv{.kernel = {3}}, .outputs = 6, .norm = NormType::batchnorm},
                         {.kind = kinds::Dense{}}};
  return options;
}

inline Options small_waves(DType compute) {
  Options options = small_grid(compute);
  options.model.chain = {{.kind = kinds::Spectral{.modes = {2}}, .outputs = 6},
                         {.kind = kinds::Spectral{.modes = {2, 1}}, .outputs = 2},
                         {.kind = kinds::Dense{}}};
  return options;
}

inline Options rolled_out(const test::RolloutCase& of) {
  Options options = small_options(of.compute);
  options.model = test::rollout_model(of);
  options.rollout = test::rollout_options(of);
  return options;
}

inline std::vector<MemoryCase> memory_cases() {
  const Options mlp = small_options(DType::bf16);
  const Options gpt = small_gpt(DType::bf16);
  const auto none = [](Options&) {};
  return {
      with("float", small_options(DType::fp32), none),
      with("bfloat16", mlp, none),
      with("half", small_options(DType::fp16), none),
      with("no masters", mlp, [](Options& o) { o.precision.masters = MasterWeights::none; }),
      with("micro-batches", mlp, [](Options& o) { o.data.micro_batch = 4; }),
      with("reproducible", mlp,
           [](Options& o) {
             o.run.reproducible = true;
             o.data.micro_batch = 4;
           }),
      with("reproducible lamb", mlp,
           [](Options& o) {
             o.run.reproducible = true;
             o.data.micro_batch = 4;
             o.optimizer.type = OptimizerType::lamb;
           }),
      with("lamb", mlp, [](Options& o) { o.optimizer.type = OptimizerType::lamb; }),
      with("sgd", mlp, [](Options& o) { o.optimizer.type = OptimizerType::sgd; }),
      with("average", mlp, [](Options& o) { o.optimizer.average = 0.99; }),
      with("health", mlp, [](Options& o) { o.health.every = 1; }),
      with("class weights", mlp,
           [](Options& o) {
             o.model.loss = losses::CrossEntropy{.class_weights = std::vector<double>(classes, 0.5)};
           }),
      with("statistics", small_grid(DType::bf16), none),
      with("transforms", small_waves(DType::bf16), none),
      with("sharded state", mlp, [](Options& o) { o.optimizer.shard = Shard::state; }),
      with("sharded gradients", gpt,
           [](Options& o) {
             o.model.layers = 8;
             o.communication.bucket_bytes = 4096;
             o.optimizer.shard = Shard::gradients;
           }),
      with("gpt", gpt, none),
      with("float head", gpt,
           [](Options& o) {
             o.precision.rules = {{"head", DType::fp32}};
           }),
      with("small buckets", mlp, [](Options& o) { o.communication.bucket_bytes = 64; }),
      with("confusion", mlp,
           [](Options& o) {
             o.run.metrics = {Measure::top5, Measure::confusion};
           }),
      with("many classes", mlp,
           [](Options& o) {
             o.model.outputs = 300;
             o.run.metrics = {Measure::confusion};
           }),
      with("rollout", rolled_out({.convolves = true, .steps = 3, .noise = 0.1, .compute = DType::bf16}),
           none),
      with("detached rollout", rolled_out({.steps = 4, .detach = true}), none),
      with("growing rollout", rolled_out({.steps = 4, .is_difference = true, .grow_every = 7}), none),
      with("several", gpt,
           [](Options& o) {
             o.optimizer.average = 0.9;
             o.optimizer.shard = Shard::state;
             o.health.every = 2;
             o.data.micro_batch = 4;
             o.memory.recompute = RecomputeMode::all;
           }),
      with("sharded float state", small_options(DType::fp32),
           [](Options& o) { o.optimizer.shard = Shard::state; }),
      with("sharded half state", small_options(DType::fp16),
           [](Options& o) { o.optimizer.shard = Shard::state; }),
      with("sharded state of lamb", mlp,
           [](Options& o) {
             o.optimizer.type = OptimizerType::lamb;
             o.optimizer.shard = Shard::state;
           }),
      with("sharded state without masters", mlp,
           [](Options& o) {
             o.optimizer.shard = Shard::state;
             o.precision.masters = MasterWeights::none;
           }),
      with("sharded float gradients", small_gpt(DType::fp32),
           [](Options& o) {
             o.model.layers = 8;
             o.communication.bucket_bytes = 4096;
             o.optimizer.shard = Shard::gradients;
           }),
      with("float average", small_options(DType::fp32), [](Options& o) { o.optimizer.average = 0.9; }),
      with("half average of sgd", small_options(DType::fp16),
           [](Options& o) {
             o.optimizer.average = 0.9;
             o.optimizer.type = OptimizerType::sgd;
           }),
      with("half health", small_options(DType::fp16), [](Options& o) { o.health.every = 3; }),
      with("reduced in float", mlp, [](Options& o) { o.communication.reduce_type = ReduceType::fp32; }),
      with("recomputing all", small_gpt(DType::fp16),
           [](Options& o) { o.memory.recompute = RecomputeMode::all; }),
      with("recomputing every second", small_gpt(DType::fp32),
           [](Options& o) {
             o.memory.recompute = RecomputeMode::every;
             o.memory.every = 2;
           }),
      with("recomputing none", gpt, [](Options& o) { o.memory.recompute = RecomputeMode::none; }),
      with("float statistics", small_grid(DType::fp32), none),
      with("float transforms", small_waves(DType::fp32), none),
      with("half rollout", rolled_out({.steps = 2, .compute = DType::fp16}), none),
      with("top5 in micro-batches", small_options(DType::fp16),
           [](Options& o) {
             o.run.metrics = {Measure::top5};
             o.data.micro_batch = 3;
           }),
  };
}

}  // namespace mylos::testing_support
