// Mylos as a library: reads a deck into options, trains a network inside a running program, and computes with
// a trained one.
//
//   mylos::OnlineTrainer trainer(mylos::read_deck("surrogate.toml"), communicator);
//   trainer.step(inputs, targets);
//   trainer.infer(inputs, predictions);
//   trainer.save("surrogate.h5");
//
//   mylos::Model model("surrogate.h5");
//   model.infer(exec, inputs, predictions);
#pragma once

#include "mylos/base/dtype_limits.hpp"
#include "mylos/base/dtype_names.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/base/version.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/inference/ensemble.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/custom_layer.hpp"
#include "mylos/model/custom_loss.hpp"
#include "mylos/precision/conversion_safety.hpp"
#include "mylos/precision/gradient_scaler.hpp"
#include "mylos/precision/scaler_presets.hpp"
#include "mylos/train/online_trainer.hpp"
