// [schedule].
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

template <class ScheduleKeys>
void add_keys_of_types(ScheduleKeys& keys) {
  keys.optional_integer("step_size", &ScheduleOptions::step_size, {1, max_count}, "updates",
                        "step: updates from one reduction to the next; exponential: updates over which the "
                        "learning rate falls by `factor`, gradually. Required.");
  keys.number("factor", &ScheduleOptions::factor, {0, false, 1, true}, "",
              "step, multistep: factor of each reduction of the learning rate; exponential: factor of "
              "`step_size` updates.");
  keys.add(
      "milestones", &ScheduleOptions::milestones,
      or_none(list_type(integer_type({1, max_count}),
                        {.text = fmt::format("ascending list of 1 to {} integers from 1", max_milestones),
                         .article = "an ",
                         .min = 1,
                         .max = max_milestones,
                         .ascending = true})),
      "multistep: numbers of updates of the run, warm-up included, after which the learning rate is "
      "multiplied by `factor`. Required.",
      "updates");
  keys.number("power", &ScheduleOptions::power, {0, false, 100, true}, "",
              "polynomial, wsd: the learning rate falls with this power of the fraction of updates that "
              "remain; 1: linearly.");
  keys.number("rise_share", &ScheduleOptions::rise_share, {0, true, 1, false}, "",
              "one_cycle: the fraction of the updates in which the learning rate rises.");
  keys.number("start_factor", &ScheduleOptions::start_factor, {0, false, 1, true}, "",
              "one_cycle: initial learning rate, relative to `optimizer.lr`.");
  keys.optional_integer("period", &ScheduleOptions::period, {1, max_count}, "updates",
                        "cosine_restarts: length of the first cycle. Required.");
  keys.integer("growth", &ScheduleOptions::growth, {1, 100}, "",
               "cosine_restarts: ratio of each cycle's length to that of the previous one.");
  keys.number("decay_share", &ScheduleOptions::decay_share, {0, false, 1, true}, "",
              "wsd: the fraction of all updates, at the end of the run, in which the learning rate falls.");
}

}  // namespace

void add_schedule_keys(Schema& schema) {
  Keys keys(
      schema, "schedule", "The learning-rate schedule, counted in updates: skipped steps do not advance it.",
      [](auto& options) -> auto& { return options.schedule; });
  keys.choice("type", &ScheduleOptions::type,
              Words<ScheduleType>{{"constant", ScheduleType::constant},
                                  {"step", ScheduleType::step},
                                  {"multistep", ScheduleType::multistep},
                                  {"exponential", ScheduleType::exponential},
                                  {"linear", ScheduleType::linear},
                                  {"polynomial", ScheduleType::polynomial},
                                  {"cosine", ScheduleType::cosine},
                                  {"cosine_restarts", ScheduleType::cosine_restarts},
                                  {"one_cycle", ScheduleType::one_cycle},
                                  {"wsd", ScheduleType::wsd}},
              "Decrease of the learning rate after the warm-up; [formulas.md](formulas.md) has the curves. "
              "wsd: warm-up, stable, decay.");
  keys.integer("warmup", &ScheduleOptions::warmup, {0, max_count}, "updates",
               "The learning rate rises linearly over this number of updates, from lr / (warmup + 1). At "
               "most the run's length, or `schedule.steps` if given.");
  keys.integer("steps", &ScheduleOptions::steps, {0, max_count}, "updates",
               "Updates, warm-up included, until `final_lr` is reached. 0: the run's length; a restart with "
               "another length then changes the schedule, which a number prevents.");
  keys.number(
      "final_lr", &ScheduleOptions::final_lr, {0, true, 1000, true}, "",
      "Final learning rate of linear, polynomial, cosine, one_cycle, wsd and each cycle of cosine_restarts.");
  add_keys_of_types(keys);
  const auto of_types = [&keys](const std::vector<std::string_view>& names, std::vector<std::string> types) {
    keys.only_with(names, with("schedule.type", std::move(types)));
  };
  keys.only_with({"warmup"},
                 {"any other schedule than \"one_cycle\", which rises by itself (schedule.rise_share)",
                  {"schedule.type"},
                  [](const Options& options) { return options.schedule.type != ScheduleType::one_cycle; }});
  of_types({"steps"}, {"linear", "polynomial", "cosine", "one_cycle", "wsd"});
  of_types({"final_lr"}, {"linear", "polynomial", "cosine", "cosine_restarts", "one_cycle", "wsd"});
  of_types({"step_size"}, {"step", "exponential"});
  of_types({"factor"}, {"step", "multistep", "exponential"});
  of_types({"milestones"}, {"multistep"});
  of_types({"power"}, {"polynomial", "wsd"});
  of_types({"rise_share", "start_factor"}, {"one_cycle"});
  of_types({"period", "growth"}, {"cosine_restarts"});
  of_types({"decay_share"}, {"wsd"});
}

}  // namespace mylos
