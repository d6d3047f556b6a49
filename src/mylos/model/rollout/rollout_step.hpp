// RolloutStep: what the copies of a chain read in one micro-batch besides their inputs.
#pragma once

#include <cstdint>
#include <span>

#include "mylos/model/block/loss_head.hpp"

namespace mylos {

/// One channel of a copy's input, as FeedbackChannel, with the scaling of the output that it takes.
struct FeedbackEntry {
  std::int32_t previous = -1;
  std::int32_t output = -1;
  std::int32_t row = -1;
  std::int32_t row_step = 0;
  float scale = 1;
  float offset = 0;
  float noise = 0;  // standard deviation
};

/// The channel of the next input that reads a channel of the output, or -1.
struct OutputReader {
  std::int32_t input = -1;
  float scale = 1;
};

/// The channels of the next input that read a channel of the previous one; -1: none.
struct PreviousReaders {
  std::int32_t first = -1;
  std::int32_t second = -1;
};

/// In device memory.
struct FeedbackTables {
  const FeedbackEntry* inputs = nullptr;      // of each input channel
  const OutputReader* outputs = nullptr;      // of each output channel
  const PreviousReaders* previous = nullptr;  // of each input channel
  const std::uint8_t* counts = nullptr;       // [points, input channels] 0 of numbers that stay 0; null: none
};

struct RolloutStep {
  ConstTensor rows;  // [rows, points · row_channels]
  FeedbackTables tables = {};
  std::span<const float> weights = {};  // of the losses of the copies that run
  // From the loss on:
  Truth truth = {};              // targets: [rows, points · steps · output_channels]
  const float* scale = nullptr;  // as LossGradients
  float inverse_count = 1;
  LossSums* sums = nullptr;
  const float* constants = nullptr;  // of the head, as LossMemory
};

}  // namespace mylos
