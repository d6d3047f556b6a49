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

/// A deck's sections. A program may fill them without a deck; the trainer checks them then.
struct Options {
  RunOptions run;                      // [run]
  InitialOptions initial;              // [initial]
  DataOptions data;                    // [data]
  ModelOptions model;                  // [model]
  RolloutOptions rollout;              // [rollout]
  PrecisionOptions precision;          // [precision]
  MemoryOptions memory;                // [memory]
  OptimizerOptions optimizer;          // [optimizer]
  ScheduleOptions schedule;            // [schedule]
  CommunicationOptions communication;  // [communication]
  MeshOptions mesh;                    // [mesh]
  CheckpointOptions checkpoint;        // [checkpoint]
  KernelOptions kernels;               // [kernels]
  HealthOptions health;                // [health]

  bool operator==(const Options&) const = default;
};

}  // namespace mylos
