// What each loss states of itself, in a header of its own in this folder: a struct with the options that only
// this loss has, and
//
//   traits     what is known of the loss without its options
//   keys()     the deck's keys of [model] for its options, a tuple of OwnKey
//   make()     makes the end of a network that computes it; src/mylos/model/losses/LOSS has it
//
// The list of all losses is Loss (losses.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "mylos/model/own_key.hpp"

namespace mylos {

class LossHead;
struct LossInput;
struct ModelOptions;

/// What the last layer's outputs say about the targets of a sample.
enum class Prediction {
  numbers,        // the targets themselves, in the units of training
  distributions,  // of the same: at each point the means of all channels, then their log variances
  quantiles,      // of the same: at each point those of all channels at the first level, then at the next
  probabilities,  // logits; the targets are probabilities from 0 to 1
  classes         // logits, one per class; the target is the number of a class
};

/// What is known of a loss without its options.
struct LossTraits {
  std::string_view name;     // in decks
  std::string_view meaning;  // for the manual
  Prediction prediction = Prediction::numbers;
  bool is_relative = false;      // divides the norm of a sample's error by that of its targets
  bool has_derivatives = false;  // its norms include the derivatives of fields
  bool is_mean = false;          // of a value at each point: the mean of those of a sample's equal parts
};

}  // namespace mylos
