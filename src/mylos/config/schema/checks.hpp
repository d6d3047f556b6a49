// Checks of keys against each other, after each has been checked for itself.
#pragma once

#include <map>
#include <string>

#include "mylos/config/options.hpp"
#include "mylos/config/schema/entries.hpp"

namespace mylos {

/// Where each key was given; a key that was not given is absent.
using GivenPlaces = std::map<std::string, Place>;

/// Earlier versions took and wrote keys that had no effect; what they wrote is still read.
enum class DeckOrigin { user, checkpoint };

/// Throws Error, naming the place of the key that should change.
void check_options(const Options& options, const GivenPlaces& given, const std::string& file_name,
                   DeckOrigin origin);

/// Throws Error for a key that is given where it has no effect (Key::only_with), naming its place.
void require_effect(const Options& options, const GivenPlaces& given);

/// Of the checks, those of [model].
void check_model(const Options& options, const GivenPlaces& given, const std::string& file_name);

}  // namespace mylos
