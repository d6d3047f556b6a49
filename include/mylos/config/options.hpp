// Options: the contents of a deck, one struct per room.
#pragma once

#include "mylos/checkpoint/options.hpp"
#include "mylos/comm/options.hpp"
#include "mylos/data/options.hpp"
#include "mylos/kernels/options.hpp"
#include "mylos/model/options.hpp"
#include "mylos/optim/options.hpp"
#include "mylos/planner/options.hpp"
#include "mylos/precision/options.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

struct Options {
  RunOptions run;
  InitialOptions initial;
  DataOptions data;
  ModelOptions model;
  RolloutOptions rollout;
  PrecisionOptions precision;
  MemoryOptions memory;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  CommunicationOptions communication;
  CheckpointOptions checkpoint;
  KernelOptions kernels;
  HealthOptions health;

  bool operator==(const Options&) const = default;
};

}  // namespace mylos
