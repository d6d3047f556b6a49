#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "mylos/base/error.hpp"
#include "sections.hpp"

namespace mylos {
namespace {

class Checks {
 public:
  Checks(const Options& options, const GivenPlaces& given, const std::string& file_name)
      : options_(options), given_(given), file_name_(file_name) {}

  void length() const {
    const RunOptions& run = options_.run;
    if (run.epochs > 0 && run.steps > 0) {
      fail({"run.epochs", "run.steps"},
           "'run.epochs' and 'run.steps' are both given; keep the one that sets the "
           "run's length");
    }
    if (run.epochs == 0 && run.steps == 0) {
      fail({}, "nothing says how long the run is; give 'run.epochs' or 'run.steps'");
    }
  }

  void data() const {
    const bool is_gpt = options_.model.type == ModelType::gpt;
    const bool has_shapes =
        is_gpt ? options_.model.vocabulary > 0 : options_.model.inputs > 0 && options_.model.outputs > 0;
    if (!options_.data.train.empty()) return;
    if (!options_.data.test.empty()) fail({"data.test"}, "'data.test' is given without 'data.train'");
    if (!has_shapes && is_gpt) {
      fail({"model.vocabulary"},
           "nothing says how many tokens there are; give 'data.train' or 'model.vocabulary'");
    }
    if (!has_shapes) {
      fail({"model.inputs", "model.outputs"},
           "nothing says how large a sample is; give 'data.train', or 'model.inputs' and 'model.outputs'");
    }
    if (options_.run.epochs > 0) {
      fail({"run.epochs"}, "'run.epochs' needs 'data.train'; without a data file give 'run.steps'");
    }
    if (options_.data.validation > 0) fail({"data.validation"}, "'data.validation' needs 'data.train'");
  }

  /// A checkpoint may come from a processor that has more.
  void kernels() const {
    if (!options_.kernels.instructions) return;
    const std::vector<Instructions> here = available_instructions();
    if (std::find(here.begin(), here.end(), *options_.kernels.instructions) != here.end()) return;
    std::string names = "\"auto\"";
    for (const Instructions each : here)
      names += fmt::format("{}\"{}\"", each == here.back() ? " and " : ", ", name_of(each));
    fail({"kernels.instructions"},
         fmt::format("'kernels.instructions' is \"{}\", which this processor or this build has not; there "
                     "are {}",
                     name_of(*options_.kernels.instructions), names));
  }

  void model() const {
    const ModelType type = options_.model.type;
    for (const ModelType other : model_types) {
      for (const std::string& name : model_keys_of(other)) {
        const std::string path = "model." + name;
        if (!given_.contains(path) || has_key(model_keys_of(type), name)) continue;
        fail({path.c_str()}, fmt::format("'{}' is a key of model.type = \"{}\", and the type is \"{}\"", path,
                                         name_of(other), name_of(type)));
      }
    }
    if (type == ModelType::gpt) transformer();
    if (type == ModelType::chain) chain();
  }

  /// What orders labelled samples says nothing to windows of tokens, and the other way round.
  void kind_of_data() const {
    const ModelType type = options_.model.type;
    const bool is_gpt = type == ModelType::gpt;
    for (const std::string& name : data_keys_of(is_gpt ? ModelType::mlp : ModelType::gpt)) {
      const std::string path = "data." + name;
      if (!given_.contains(path)) continue;
      fail({path.c_str()},
           fmt::format("'{}' is a key of {}, and model.type = \"{}\" learns from {}; leave it out", path,
                       is_gpt ? "labelled samples" : "token data", name_of(type),
                       is_gpt ? "tokens" : "labelled samples"));
    }
    if (given_.contains("data.shape") && type != ModelType::chain) {
      fail({"data.shape"},
           fmt::format("'data.shape' is a key of model.type = \"chain\", and the type is \"{}\"",
                       name_of(type)));
    }
  }

  /// What would make the sum over micro-batches depend on who adds them up.
  void reproducible() const {
    if (!options_.run.reproducible) return;
    const auto refuse = [this](const char* key, const std::string& what) {
      fail({key, "run.reproducible"}, fmt::format("'run.reproducible' needs {}", what));
    };
    const std::int64_t batch = options_.data.batch;
    const std::int64_t micro_batch = options_.data.micro_batch;
    if (micro_batch == 0 || batch % micro_batch != 0) {
      refuse("data.micro_batch",
             fmt::format("a 'data.micro_batch' that divides 'data.batch' = {}, not {}", batch, micro_batch));
    }
    if (options_.precision.gradient == GradientType::compute)
      refuse("precision.gradient", "'precision.gradient' = \"auto\" or \"fp32\"");
    if (options_.communication.reduce_type == ReduceType::compute)
      refuse("communication.reduce_type", "'communication.reduce_type' = \"auto\" or \"fp32\"");
    if (options_.communication.backend == "nccl")
      refuse("communication.backend",
             "'communication.backend' = \"auto\" or \"mpi\": NCCL adds in an order of its own");
    if (options_.kernels.gemm == GemmChoice::measure)
      refuse("kernels.gemm", "engines that no clock chooses: any other 'kernels.gemm'");
  }

  /// Without masters there must be something that they would be beside. A run that adapts chooses `compute`.
  void masters() const {
    const PrecisionOptions& precision = options_.precision;
    if (precision.masters == MasterWeights::fp32 || precision.compute != DType::fp32) return;
    if (precision.adapt) return;
    const auto& rules = precision.rules;
    const auto is_short = [](const PrecisionRule& rule) { return rule.type != DType::fp32; };
    if (std::any_of(rules.begin(), rules.end(), is_short)) return;
    fail(
        {"precision.compute", "precision.masters"},
        "'precision.masters' = \"none\" with 'precision.compute' = \"fp32\" saves nothing: fp32 weights have "
        "no masters beside them; set masters = \"fp32\", or compute = \"bf16\"");
  }

  void scaler() const {
    const ScalerOptions& scaler = options_.precision.scaler;
    if (scaler.min_scale > scaler.initial_scale || scaler.initial_scale > scaler.max_scale) {
      fail({"precision.scaler.preset", "precision.scaler.min_scale", "precision.scaler.initial_scale",
            "precision.scaler.max_scale"},
           fmt::format(
               "'precision.scaler' needs min_scale <= initial_scale <= max_scale, not min_scale = {}, "
               "initial_scale = {}, max_scale = {}",
               shortest(scaler.min_scale), shortest(scaler.initial_scale), shortest(scaler.max_scale)));
    }
    if (scaler.backoff_window > 0) backoff_window();
  }

  void optimizer() const {
    const OptimizerOptions& optimizer = options_.optimizer;
    if (optimizer.type == OptimizerType::sgd && optimizer.nesterov && optimizer.momentum == 0)
      fail({"optimizer.nesterov", "optimizer.momentum"},
           "'optimizer.nesterov' looks ahead along the momentum, and 'optimizer.momentum' is 0");
  }

  void schedule() const {
    const ScheduleOptions& schedule = options_.schedule;
    needs_of_schedule();
    const bool has_own_length = schedule.steps > 0;
    const std::int64_t length = has_own_length ? schedule.steps : options_.run.steps;
    const std::string length_key = has_own_length ? "schedule.steps" : "run.steps";
    if (length > 0 && schedule.warmup > length) {
      fail({"schedule.warmup", length_key.c_str()},
           fmt::format("'schedule.warmup' is {}, more than the {} of '{}'", schedule.warmup, length,
                       length_key));
    }
    if (schedule.type == ScheduleType::wsd) stable_part(length, length_key);
  }

 private:
  void needs_of_schedule() const {
    const ScheduleOptions& schedule = options_.schedule;
    const auto need = [this](const char* type, const char* key) {
      fail({"schedule.type"}, fmt::format("the schedule \"{}\" needs '{}'", type, key));
    };
    switch (schedule.type) {
      case ScheduleType::step:
        if (schedule.step_size == 0) need("step", "schedule.step_size");
        break;
      case ScheduleType::exponential:
        if (schedule.step_size == 0) need("exponential", "schedule.step_size");
        break;
      case ScheduleType::cosine_restarts:
        if (schedule.period == 0) need("cosine_restarts", "schedule.period");
        break;
      case ScheduleType::multistep:
        if (schedule.milestones.empty()) need("multistep", "schedule.milestones");
        if (schedule.milestones.front() < schedule.warmup)
          fail({"schedule.warmup", "schedule.milestones"},
               fmt::format("the milestone {} of 'schedule.milestones' is within the {} updates of "
                           "'schedule.warmup'; milestones count from the run's begin",
                           schedule.milestones.front(), schedule.warmup));
        break;
      case ScheduleType::one_cycle:
        if (schedule.warmup > 0)
          fail({"schedule.type", "schedule.warmup"},
               "the schedule \"one_cycle\" rises by itself ('schedule.rise_share'); leave out "
               "'schedule.warmup'");
        break;
      default:
        break;
    }
  }

  /// The length of a run by epochs is not known yet.
  void stable_part(std::int64_t length, const std::string& length_key) const {
    const ScheduleOptions& schedule = options_.schedule;
    const auto decay = std::llround(schedule.decay_share * static_cast<double>(length));
    if (length == 0 || schedule.warmup + decay <= length) return;
    fail({"schedule.warmup", "schedule.decay_share", length_key.c_str()},
         fmt::format(
             "'schedule.warmup' = {} and the {} updates of 'schedule.decay_share' = {} are more than the {} "
             "of '{}'",
             schedule.warmup, decay, shortest(schedule.decay_share), length, length_key));
  }

  /// It takes the place of the hysteresis, and must be able to hold as many overflows as it waits for.
  void backoff_window() const {
    const ScalerOptions& scaler = options_.precision.scaler;
    if (scaler.hysteresis > 1) {
      fail({"precision.scaler.hysteresis", "precision.scaler.backoff_window"},
           fmt::format(
               "'precision.scaler.hysteresis' = {} and 'precision.scaler.backoff_window' = {} both say "
               "which overflows lower the scale; keep one of them (hysteresis = 1, or "
               "backoff_window = 0)",
               scaler.hysteresis, scaler.backoff_window));
    }
    if (scaler.backoff_overflows > scaler.backoff_window) {
      fail({"precision.scaler.backoff_window", "precision.scaler.backoff_overflows"},
           fmt::format("'precision.scaler.backoff_overflows' is {}, more than the {} steps of "
                       "'precision.scaler.backoff_window': the scale would never back off",
                       scaler.backoff_overflows, scaler.backoff_window));
    }
  }

  static bool has_key(const std::vector<std::string>& keys, const std::string& name) {
    return std::find(keys.begin(), keys.end(), name) != keys.end();
  }

  void chain() const {
    const ModelOptions& model = options_.model;
    if (model.chain.empty()) {
      fail({"model.type", "model.layers"},
           "the type \"chain\" needs its layers, a table [[model.layers]] for each");
    }
    for (std::size_t i = 0; i < model.chain.size(); ++i) {
      const LayerOptions& layer = model.chain[i];
      const std::string place = fmt::format("model.layers.{}", i + 1);
      const char* key = given_.contains(place) ? place.c_str() : "model.layers";
      const std::string name = layer_name(model.chain, i);
      const bool needs_outputs = layer.kind == LayerKind::dense || layer.kind == LayerKind::conv;
      if (needs_outputs && layer.outputs == 0 && !takes_outputs_of_data(model.chain, i)) {
        fail({key},
             fmt::format("layer '{}' needs 'outputs'; only a last dense layer takes as many as the data "
                         "want",
                         name));
      }
      for (std::size_t before = 0; before < i; ++before) {
        if (layer_name(model.chain, before) == name)
          fail({key}, fmt::format("layers {} and {} are both named '{}'", before + 1, i + 1, name));
      }
    }
  }

  void transformer() const {
    const ModelOptions& model = options_.model;
    for (const auto& [path, value] :
         {std::pair{"model.layers", model.layers}, std::pair{"model.heads", model.heads},
          std::pair{"model.width", model.width}, std::pair{"model.context", model.context}}) {
      if (value == 0) fail({"model.type"}, fmt::format("the type \"gpt\" needs '{}'", path));
    }
    if (model.width % model.heads != 0) {
      fail({"model.heads", "model.width"},
           fmt::format("'model.heads' is {}, which does not divide the {} of 'model.width'", model.heads,
                       model.width));
    }
    const std::int64_t head_width = model.width / model.heads;
    if (model.positions == PositionType::rotary && head_width % 2 != 0) {
      fail({"model.positions", "model.heads", "model.width"},
           fmt::format("rotary positions turn pairs of features, and a head has {} (model.width / "
                       "model.heads); make it even",
                       head_width));
    }
    if (model.norm == NormType::none) {
      fail({"model.norm"}, "the type \"gpt\" needs 'model.norm' \"layernorm\" or \"rmsnorm\"");
    }
  }

  /// The place is the one that comes last of those given.
  [[noreturn]] void fail(std::initializer_list<const char*> keys, const std::string& message) const {
    Place place{file_name_};
    for (const char* key : keys) {
      const auto found = given_.find(key);
      if (found == given_.end()) continue;
      const bool is_later = found->second.line == 0 || found->second.line > place.line;
      if (is_later) place = found->second;
      if (place.line == 0) break;  // the command line comes after every line of the deck
    }
    fail_input("{}: {}", place.text(), message);
  }

  const Options& options_;
  const GivenPlaces& given_;
  const std::string& file_name_;
};

}  // namespace

void check_options(const Options& options, const GivenPlaces& given, const std::string& file_name,
                   DeckOrigin origin) {
  const Checks checks(options, given, file_name);
  checks.model();
  if (origin == DeckOrigin::user) {
    checks.kind_of_data();
    checks.kernels();
    checks.masters();
  }
  checks.length();
  checks.data();
  checks.reproducible();
  checks.scaler();
  checks.optimizer();
  checks.schedule();
}

}  // namespace mylos
