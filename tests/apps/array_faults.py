"""Mistakes in a section [data.arrays], each with what a refusal of it must name; array_file_faults.py has those of its files.

A fault changes `case`: its deck's keys, or its files. It returns the words that a refusal must have, or None if the deck may be
right after it; then the batches must be numpy's.
"""
FAULTS = []


def fault(function):
    FAULTS.append(function)
    return function


@fault
def a_key_that_is_not_there(case):
    case.extra = case.pick("histroy = 2", "ahed = 1", "axis = \"time y x\"", "input = [\"/u\"]")
    return ["deck.toml:", "unknown-key"]


@fault
def a_value_of_another_type(case):
    key, value = case.pick(("history", "two"), ("ahead", 1.5), ("every", True), ("targets_are", "delta"), ("inputs", 3), ("axes", 7),
                           ("points_are_samples", 1), ("slice", "1:"), ("constants", [1]), ("inputs", [""]), ("inputs", ["/u", 3]))
    case.section[key] = value
    return ["deck.toml:", f"data.arrays.{key}"]


@fault
def a_number_outside_its_range(case):
    key, value = case.pick(("history", 0), ("history", -1), ("ahead", -1), ("every", 0), ("history", 2 ** 40), ("every", 2 ** 62))
    case.section[key] = value
    return ["deck.toml:", f"data.arrays.{key}"]


@fault
def arrays_named_twice(case):
    key = case.pick("inputs", "targets")
    case.section[key] = ["/u", "/v", "/u"]
    return ["deck.toml:", f"data.arrays.{key}"]


@fault
def a_constant_among_the_inputs(case):
    case.section["constants"] = ["/mask", "/u"]
    return ["deck.toml:", "/u"]


@fault
def axes_that_are_wrong(case):
    case.section["axes"] = case.pick("time y", "time y x z", "y x", "time y y", "", "time y 2x", "sample time y x", "a b c d e f g h i")
    return ["axes"]


@fault
def axes_of_an_array_that_is_not_used(case):
    case.section["axes"] = {name: "time y x" for name in ("/u", "/v", "/w")} | {"/mask": "y x"}
    return ["deck.toml:", "/w"]


@fault
def a_slice_of_an_axis_that_is_not_there(case):
    case.section["slice"] = {case.pick("z", "t", "sample", "channel"): "1:"}
    return ["deck.toml:", "data.arrays.slice"]


@fault
def a_slice_that_is_none(case):
    case.section["slice"] = {"x": case.pick("a:", "::0", "::-1", "1", "1:2:3:4", "1.5:", ":::", "99999999999999999999:")}
    return ["deck.toml:", "data.arrays.slice"]


@fault
def a_slice_that_leaves_nothing(case):
    axis, part = case.pick(("x", "100:"), ("y", "2:2"), ("time", "500:"), ("y", "3:1"), ("time", ":-400"), ("x", "-1:-3"))
    case.section["slice"] = {axis: part}
    return [axis]


@fault
def any_slices(case):
    def bound():
        return case.pick("", *map(str, case.random.integers(-15, 15, 3)))

    case.section["slice"] = {axis: f"{bound()}:{bound()}" + case.pick("", f":{case.random.integers(1, 4)}")
                             for axis in ("time", "y", "x")}
    return None


@fault
def a_window_longer_than_time(case):
    key = case.pick("history", "ahead")
    case.section[key] = int(case.pick(13, 50, 1000))
    return ["time"]


@fault
def differences_of_what_is_no_input(case):
    case.section |= {"inputs": ["/u"], "targets": ["/v"], "targets_are": "difference"}
    return ["/v"]


@fault
def differences_of_the_same_level(case):
    case.section |= {"targets_are": "difference", "ahead": 0}
    return ["data.arrays.ahead"]


@fault
def a_rollout_of_what_is_no_input(case):
    case.section |= {"inputs": ["/u"], "targets": ["/v"]}
    case.rollout = case.pick(2, 5)
    return ["/v"]


@fault
def a_rollout_of_levels_that_are_not_predicted(case):
    case.section |= {"history": 2, "ahead": 2}
    case.rollout = 3
    return ["ahead"]


@fault
def no_targets(case):
    del case.section["targets"]
    return ["data.arrays.targets"]


@fault
def no_axes(case):
    del case.section["axes"]
    return ["data.arrays.axes"]


@fault
def a_pattern_without_files(case):
    case.train, named = case.pick(("nothing-*.h5", "nothing-*.h5"), (["run-*.h5", "gone.h5"], "gone.h5"), ("run-[7-9].h5", "[7-9]"),
                                  ("no/folder/*.h5", "no/folder"), (["run-0.h5", "r[.h5"], "r[.h5"), ("missing.h5", "missing.h5"))
    return [named]


@fault
def the_same_file_twice(case):
    case.train = ["run-0.h5", "run-*.h5"]
    return None
