// Keys of other frameworks that Mylos refuses: each with the reason, and what a deck sets instead.
#include "mylos/config/schema/sections.hpp"

namespace mylos {

std::vector<RefusedName> refused_names_of_other_frameworks() {
  struct Names {
    std::vector<std::string> names;
    const char* reason;
  };
  const std::vector<Names> table{
      {{"backward", "backward_type", "backward_dtype", "backward_precision"},
       "a layer's backward pass computes in the type of its forward pass, because it reads the 16-bit "
       "weights and activations of that pass: as floats they would have no more digits. Sums of GEMMs and "
       "reductions are float in both passes. 'precision.rules' computes layers in float in both, and "
       "'precision.gradient' = \"fp32\" stores and sums gradients as floats"},
      {{"keep_batchnorm_fp32", "batchnorm_fp32", "norm_fp32", "fp32_layernorm", "softmax_fp32",
        "attention_softmax_in_fp32", "loss_fp32"},
       "norms, softmax and losses are always computed in float, whatever 'precision.compute' is; there is "
       "nothing to set"},
      {{"auto_cast", "autocast", "cast_model_type", "cast_model_outputs", "cast_forward_inputs"},
       "casts are inserted where the types of two layers differ; set the types by 'precision.compute' and "
       "'precision.rules'"},
      {{"opt_level", "o1", "o2"},
       "there are no levels of optimisation; 'precision.compute' is the type of layers, 'precision.rules' "
       "has exceptions, and 'precision.masters' says whether weights have float masters"},
      {{"tf32", "allow_tf32", "float32_matmul_precision"},
       "fp32 is never rounded to TF32, so that a float run is a reference; 'precision.compute' = \"bf16\" is "
       "multiplied faster where the processor can, and has TF32's range"},
      {{"fp8", "fp8_recipe", "fp8_margin", "nvfp4", "mxfp8"},
       "there are no types of 8 bits or fewer; 'precision.compute' = \"bf16\" and 'precision.masters' = "
       "\"none\" save memory"},
      {{"gradient_accumulation_steps", "accumulate_grad_batches", "accum_steps"},
       "the number of micro-batches follows from 'data.batch', the number of ranks, and the samples of a "
       "micro-batch, 'data.micro_batch'; set that"},
      {{"drop_last", "drop_last_batch", "drop_remainder", "dataloader_drop_last"},
       "all batches have 'data.batch' samples: those of a shorter one would have a larger weight in its "
       "update than others. 'data.last_batch' = \"drop\" leaves out the rest of an epoch, and \"join\" fills "
       "its last batch from the next epoch, so that every sample counts the same"},
      {{"initial_scale_power"}, "'precision.scaler.initial_scale' is the scale itself, 2 to this power"},
      {{"prescale_gradients", "gradient_predivide_factor"},
       "the sum over ranks is divided once, in float, where no range can be lost; there is nothing to set"},
      {{"check_grad_overflow", "check_for_nan_in_loss_and_grad"},
       "steps whose gradients are not finite are skipped in every type; there is nothing to set"},
      {{"immediate_grad_update"},
       "gradients are reduced in buckets while the backward pass continues, and one update follows; "
       "'communication.bucket' is the size of a bucket"},
      {{"apply_query_key_layer_scaling"},
       "the scores of attention are floats, which do not overflow; there is nothing to set"},
      {{"fp32_residual_connection"},
       "the sum of a residual block is formed in float and rounded to its layer's type; 'precision.rules' "
       "computes layers in float"},
      {{"fp16_lm_cross_entropy"}, "the loss is always computed in float; there is nothing to set"}};
  std::vector<RefusedName> result;
  for (const auto& [names, reason] : table) {
    for (const std::string& name : names) result.push_back({name, reason});
  }
  return result;
}

}  // namespace mylos
