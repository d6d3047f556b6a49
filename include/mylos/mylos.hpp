// Mylos as a library: reads a deck into options, and trains a network inside a running program.
//
//   mylos::OnlineTrainer trainer(mylos::read_deck("surrogate.toml"), communicator);
//   trainer.step(inputs, targets);
//   trainer.infer(inputs, predictions);
//   trainer.save("surrogate.h5");
#pragma once

#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/version.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/precision/conversion_safety.hpp"
#include "mylos/precision/gradient_scaler.hpp"
#include "mylos/train/online_trainer.hpp"
