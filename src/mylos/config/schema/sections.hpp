// The sections of the deck: each function adds one room's keys to the schema.
#pragma once

#include "mylos/config/schema/schema.hpp"

namespace mylos {

/// Returns the keys of [model] that only this type of network has.
[[nodiscard]] const std::vector<std::string>& model_keys_of(ModelType type);
/// Returns the keys of [data] that only the kind of data for this type of network has.
[[nodiscard]] const std::vector<std::string>& data_keys_of(ModelType type);
/// Returns the keys of [data.arrays] if this type of network has them.
[[nodiscard]] const std::vector<std::string>& array_keys_of(ModelType type);
/// Returns the keys of [data.augment] if this type of network has them.
[[nodiscard]] const std::vector<std::string>& augment_keys_of(ModelType type);

/// Returns the names of other frameworks for the keys.
[[nodiscard]] std::vector<OtherName> names_of_other_frameworks();
/// Returns their words for the words of our keys.
[[nodiscard]] std::vector<OtherWord> words_of_other_frameworks();
/// Returns the keys of other frameworks that no key of ours replaces.
[[nodiscard]] std::vector<RefusedName> refused_names_of_other_frameworks();

void add_run_keys(Schema& schema);
void add_initial_keys(Schema& schema);
void add_data_keys(Schema& schema);
void add_array_keys(Schema& schema);  // after the keys of data
/// Makes the keys data.fill and data.statistics, of files of arrays.
void add_keys_of_array_files(Key& fill, Key& statistics);
void add_augment_keys(Schema& schema);  // after the keys of data
void add_weight_keys(Schema& schema);   // after the keys of data
void add_model_keys(Schema& schema);
void add_rollout_keys(Schema& schema);
void add_precision_keys(Schema& schema);
void add_adaptation_keys(Schema& schema);  // after the keys of precision
void add_memory_keys(Schema& schema);
void add_optimizer_keys(Schema& schema);
void add_schedule_keys(Schema& schema);
void add_health_keys(Schema& schema);
/// Adds the keys of the loss to [model].
void add_loss_keys(Schema& schema);
/// Returns the names of the losses whose networks predict this, in the order of decks.
[[nodiscard]] std::vector<std::string> losses_of(Prediction prediction);
/// Makes the key take the layers of a chain, [[model.layers]].
void add_layer_keys(Key& layers);
/// Makes the key take the losses of a sum, [[model.terms]].
void add_term_keys(Key& terms);

/// Makes the key take distributions of initial values, [[model.initialize]].
void add_initialize_keys(Key& initialize);
void add_machine_keys(Schema& schema);  // communication, mesh, checkpoint, kernels

}  // namespace mylos
