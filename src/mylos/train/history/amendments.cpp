#include "mylos/train/history/amendments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/config/deck.hpp"

namespace mylos {
namespace {

constexpr const char* stored_amendments = "/history/amendments";
constexpr std::size_t longest_name = 100;  // characters of a layer's name

using nlohmann::ordered_json;

DType compute_type_of(const std::string& word) {
  for (const DType type : {DType::bf16, DType::fp16, DType::fp32})
    if (name_of(type) == word) return type;
  fail_input(errors::damaged, "compute is {}", word);
}

/// Returns whether `name` can be the name of one layer in a deck: it is not a pattern and has no control
/// characters.
bool is_layer_name(const std::string& name) {
  const auto is_odd = [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '*'; };
  return name.size() <= longest_name && std::none_of(name.begin(), name.end(), is_odd);
}

void require_sound(const Amendment& read) {
  const auto is_share = [](double factor) { return factor > 0 && factor <= 1; };
  if (read.decision.kind != "rewind" && read.decision.kind != "adaptation")
    fail_input(errors::damaged, "kind is {}", read.decision.kind);
  if (!is_share(read.lr_factor)) fail_input(errors::damaged, "lr_factor is {}", read.lr_factor);
  if (!is_share(read.scale_factor)) fail_input(errors::damaged, "scale_factor is {}", read.scale_factor);
  if (!is_layer_name(read.float_layer)) fail_input(errors::damaged, "float_layer is not the name of a layer");
  if (read.growth_interval && *read.growth_interval < 1)
    fail_input(errors::damaged, "growth_interval is {}", *read.growth_interval);
  if (read.growth_factor && !(*read.growth_factor > 1 && *read.growth_factor <= 65536))
    fail_input(errors::damaged, "growth_factor is {}", *read.growth_factor);
}

[[noreturn]] void refuse_list(const std::string& source, std::string_view why) {
  fail_input(errors::damaged, "{}: is not a list of a run's amendments: {}", source, why);
}

Amendment read_amendment(std::string_view line) {
  const auto object = ordered_json::parse(line);
  Amendment read{.decision = {.step = object.at("step").get<std::uint64_t>(),
                              .kind = object.at("kind").get<std::string>(),
                              .cause = object.at("cause").get<std::string>(),
                              .subject = object.at("subject").get<std::string>(),
                              .text = object.at("text").get<std::string>()},
                 .from = object.at("from").get<std::uint64_t>(),
                 .lr_factor = object.value("lr_factor", 1.0),
                 .scale_factor = object.value("scale_factor", 1.0),
                 .float_layer = object.value("float_layer", std::string())};
  if (object.contains("compute")) read.compute = compute_type_of(object["compute"].get<std::string>());
  if (object.contains("growth_interval"))
    read.growth_interval = object["growth_interval"].get<std::int64_t>();
  if (object.contains("growth_factor")) read.growth_factor = object["growth_factor"].get<double>();
  require_sound(read);
  return read;
}

void apply(const Amendment& amendment, Options& options) {
  options.optimizer.lr *= amendment.lr_factor;
  options.schedule.final_lr *= amendment.lr_factor;
  PrecisionOptions& precision = options.precision;
  if (amendment.compute) precision.compute = *amendment.compute;
  if (amendment.growth_interval) precision.scaler.growth_interval = *amendment.growth_interval;
  if (amendment.growth_factor) precision.scaler.growth_factor = *amendment.growth_factor;
  if (amendment.float_layer.empty()) return;
  std::erase_if(precision.rules,
                [&](const PrecisionRule& rule) { return rule.pattern == amendment.float_layer; });
  precision.rules.push_back({amendment.float_layer, DType::fp32});
}

}  // namespace

Options amended(Options deck, const Amendments& amendments) {
  for (const Amendment& amendment : amendments) apply(amendment, deck);
  return deck;
}

std::string amended_deck(const std::string& resolved, const Amendments& amendments) {
  if (amendments.empty()) return resolved;
  return resolve(amended(read_stored_deck(resolved, "the deck").options, amendments));
}

std::string describe_changes(const Amendment& amendment, const Options& before) {
  std::vector<std::string> changes;
  if (amendment.compute)
    changes.push_back(fmt::format("precision.compute = \"{}\"", name_of(*amendment.compute)));
  if (!amendment.float_layer.empty())
    changes.push_back(fmt::format("precision.rules: {} = \"fp32\"", amendment.float_layer));
  if (amendment.growth_interval) {
    changes.push_back(fmt::format("precision.scaler.growth_interval = {} (was {})",
                                  *amendment.growth_interval, before.precision.scaler.growth_interval));
  }
  if (amendment.growth_factor) {
    changes.push_back(fmt::format("precision.scaler.growth_factor = {:.4g} (was {:.4g})",
                                  *amendment.growth_factor, before.precision.scaler.growth_factor));
  }
  if (amendment.lr_factor != 1) {
    changes.push_back(fmt::format("optimizer.lr = {:.3g}, {:g} of what it was",
                                  amendment.lr_factor * before.optimizer.lr, amendment.lr_factor));
  }
  if (amendment.scale_factor != 1)
    changes.push_back(fmt::format("a loss scale {:g} of what it was there", amendment.scale_factor));
  return fmt::format("{}", fmt::join(changes, ", "));
}

std::string amendment_line(const Amendment& amendment) {
  const RunEvent& decision = amendment.decision;
  ordered_json object = {{"step", decision.step},       {"kind", decision.kind}, {"cause", decision.cause},
                         {"subject", decision.subject}, {"text", decision.text}, {"from", amendment.from}};
  if (amendment.lr_factor != 1) object["lr_factor"] = amendment.lr_factor;
  if (amendment.scale_factor != 1) object["scale_factor"] = amendment.scale_factor;
  if (!amendment.float_layer.empty()) object["float_layer"] = amendment.float_layer;
  if (amendment.compute) object["compute"] = name_of(*amendment.compute);
  if (amendment.growth_interval) object["growth_interval"] = *amendment.growth_interval;
  if (amendment.growth_factor) object["growth_factor"] = *amendment.growth_factor;
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

Amendments read_amendments(std::string_view lines, const std::string& source) {
  Amendments amendments;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    if (amendments.size() == max_amendments)
      refuse_list(source, fmt::format("it has more than {}", max_amendments));
    try {
      amendments.push_back(read_amendment(lines.substr(0, end)));
    } catch (const Error& error) {
      refuse_list(source, error.message());
    } catch (const std::exception& error) {
      refuse_list(source, error.what());
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return amendments;
}

Amendments read_amendments(const CheckpointReader& saved) {
  if (!saved.exists(stored_amendments)) return {};
  return read_amendments(saved.text(stored_amendments), saved.path() + ": " + stored_amendments);
}

void save_amendments(const Amendments& amendments, CheckpointState& state) {
  if (amendments.empty()) return;
  std::string lines;
  for (const Amendment& amendment : amendments) lines += amendment_line(amendment);
  state.add_text(stored_amendments, std::move(lines));
}

void make_room_for_amendments(const CheckpointReader& saved, CheckpointState& state) {
  if (saved.exists(stored_amendments)) state.add_text(stored_amendments, "");
}

}  // namespace mylos
