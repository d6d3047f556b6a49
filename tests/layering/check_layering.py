"""Checks that every include points down: from room to room, from topic to topic, and from our headers to the public
ones; that each outside library is seen only where it is wrapped; and that no file and no folder grew past what a reader
holds in mind. Usage: check_layering.py REPOSITORY"""

import pathlib
import re
import sys

# A room may include itself and the rooms of lower floors. docs/ and the comment in src/CMakeLists.txt say the same.
FLOORS = [
    ["base"],
    ["kernels", "comm", "io"],
    ["precision"],
    ["model"],
    ["optim", "data", "planner"],
    ["config", "checkpoint"],
    ["inference"],
    ["train"],
    ["interchange", "sweep"],
    ["api"],
    ["apps"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# The topic folders of a room: a topic may include itself and those before it. "." is the room's own folder.
TOPICS = {
    "base": "errors numbers vector device",
    "kernels": "launch gemm engines grid pointwise convolution spectral attention norm rates vendor",
    "comm": "ranks group",
    "io": "files hdf5 system safetensors pictures tables",
    "model": "block onnx source chain layers losses memory parameters rollout network",
    "optim": "gradients update",
    "data": "coordinates files arrays feed tokens prepare run",
    "config": "schema keys deck",
    "checkpoint": "file write",
    "inference": "arrays uncertainty stored source float64 . ensemble library scores rollout",
    "interchange": ". onnx onnx_import source",
    "train": "step history evaluation health plan start adapt online run",
    "sweep": "space schedule state run",
    "apps": "commands.hpp launch options tables report commands main.cpp",
}

# The files of src/mylos/device/VENDOR, by the beginning of their place in it, and the room that they are compiled into: each
# defines for one vendor what that room declares.
DEVICE_FILES = {
    "devices": "base", "events": "base", "recorder": "base", "memory": "io", "energy": "io",
    "runtime": "base", "cuda_names": "base", "hip_names": "base",
    "engines": "kernels", "collectives": "comm", "mpi": "comm", "nccl_interface": "comm", "nccl_connection": "comm",
}
VENDORS = {"cuda", "hip", "sycl", "nccl", "none", "runtime"}

# These read the options of every room, those above included; options.hpp files are plain structs.
MAY_SEE_ALL_OPTIONS = {"config", "checkpoint", "data"}

# Outside header -> the files (paths without include/mylos/ or src/mylos/) that may include it.
WRAPPED = {
    r"hdf5(_hl)?\.h": r"io/.*hdf5.*|apps/reacting/restart\.cpp",
    r"nccl\.h": r"device/cuda/nccl_interface\.hpp",
    r"nvml\.h": r"device/cuda/energy\.cpp",
    r"hip/.*": r"device/(hip|runtime)/.*",
    r"hipblaslt/.*": r"device/hip/engines/.*hipblaslt.*",
    r"rccl/.*": r"device/hip/nccl_interface\.hpp",
    r"dnnl(_.*)?\.(hpp|h)": r"kernels/.*(onednn|dnnl).*",
    r"cuda.*\.h": r"device/(cuda|runtime)/.*",
    r"cublasLt\.h": r"device/cuda/engines/.*cublaslt.*",
    r"cudnn.*\.h": r"device/cuda/engines/.*cudnn.*",
    r"nlohmann/.*": r"train/\w+/(stored_plan|plan_document|run_summary|run_events|amendments|result_files|field_files|uncertainty_file)\.cpp|io/safetensors/.*|interchange/gpt2_config\.cpp|"
                    r"sweep/state/(member_result|sweep_description)\.cpp|apps/mylos/tables/(advise|precision)_json\.cpp|apps/mylos/report/.*",
    r"png\.h": r"data/prepare/image_png\.cpp",
    r"turbojpeg\.h": r"data/prepare/image_jpeg\.cpp",
    r"(onnx|google/protobuf)/.*": r"interchange/onnx/(onnx_file|read_onnx)\.cpp",
    r"xxhash\.h": r"io/files/digest\.cpp",
    r"mpi\.h": r"(comm|io|api|apps)/.*|device/\w+/mpi\.cpp|(train/online_trainer|precision/gradient_scaler)\.hpp",
}

# What a file calls -> the header that it must include: other versions of a library declare it there alone.
DECLARED_IN = {
    "fmt::join(": "fmt/ranges.h",  # fmt 9 and 10 also have it in fmt/format.h
    "fmt::print(": "fmt/format.h",
}

# What no file of the program calls -> what it calls instead.
INSTEAD = {
    r"\b(strto[df]|strtold|atof|sto[df]|stold)\(": "std::from_chars, which reads numbers alike in every locale of a program",
    r"(?<!checked\()(?<!read\()\bH5[AL]exists\(": "checked_read(), since the negative return of a read that fails is no answer",
}

# From a deck's shapes to its memory plan, or to the refusal: of these files each sees only those before it.
# docs/explanation/architecture.md says what each answers.
MEMORY_WAY = """
io/system/memory_shares
model/chain/chain_cost model/memory/schedule model/memory/lifetimes model/memory/transient_depths model/memory/placement
planner/lists planner/stages planner/segments planner/min_memory planner/rotor planner/stage_groups
planner/fastest_schedules planner/plan
train/step/network_plan train/step/trainer_memory
train/plan/stored_plan train/plan/memory_statement train/plan/memory_fit train/plan/engine_choice train/plan/rehearsal train/plan/calibration train/plan/memory_plan
train/plan/smaller_micro_batch train/plan/plan_document train/plan/shared_plan
""".split()

LONGEST = 350  # lines; few files should come near it
MOST_FILES = 30  # of a folder of src
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def room_and_place(path):
    """(room, path inside the floor plan): src/mylos/io/files/x.hpp -> ("io", "io/files/x.hpp")."""
    parts = list(path.parts)
    if parts[0] in ("include", "src"):
        parts = parts[2:]
    room = parts[0] if len(parts) > 1 else "train"  # include/mylos/mylos.hpp is the library's whole face
    if room == "device" and len(parts) > 2 and parts[1] in VENDORS:
        room = DEVICE_FILES.get(parts[2].split(".")[0], room)
    return room, "/".join(parts)


def topic_of(place):
    """The folder inside the room: "." of the room's own files. Of the command, its own files are topics too."""
    room, *folders, file = place.split("/")
    if room == "apps":
        return folders[1] if len(folders) > 1 else file
    return folders[0] if folders else "."


def climbs(place, header):
    """Whether a file of the memory's way includes one that comes later on it."""
    file, _, _ = place.rpartition(".")
    header, _, _ = header.removeprefix("mylos/").rpartition(".")
    return file in MEMORY_WAY and header in MEMORY_WAY[MEMORY_WAY.index(file) + 1 :]


def climbs_topics(room, place, target):
    """What is wrong with an include from one topic of the room to another."""
    order = TOPICS.get(room, ".").split()
    own, other = topic_of(place), topic_of(target)
    for topic in (own, other):
        if topic not in order:
            return f"{topic} is not among the topics of {room}: {', '.join(order)}"
    if order.index(other) > order.index(own):
        return f"the topic {own} may not include {target}: {other} comes after it"
    return None


def check_device_include(place, header):
    """A vendor's files see their own folder, and no other file sees them."""
    vendor = "/".join(place.split("/")[:2])
    return None if header.startswith(f"mylos/{vendor}/") else f"{header} is seen by the files beside it alone"


def check_include(repository, room, place, header, is_public):
    if header.startswith("mylos/device/"):
        return check_device_include(place, header)
    if climbs(place, header):
        return f"{header} comes later on a memory problem's way"
    match = re.fullmatch(r"mylos/(\w+)/(.+)", header)
    if match and header.startswith("mylos/"):
        target, file = match.groups()
        if target not in FLOOR_OF:
            return f"includes the unknown room {target}"
        if (repository / "include" / header).exists():
            same_floor = target == room or FLOOR_OF[target] < FLOOR_OF[room]
            if same_floor or (file == "options.hpp" and room in MAY_SEE_ALL_OPTIONS):
                return None
            return f"{room} may not include {header}: {target} is not below it"
        if is_public:
            return f"{header} is not public, and include/ is all that users have"
        if target == room and place.startswith("device/"):
            return None  # above all topics
        if target == room:
            return climbs_topics(room, place, f"{target}/{file}")
        if FLOOR_OF[target] < FLOOR_OF[room]:
            return None
        return f"{room} may not include {header}: {target} is not below it"
    if room == "apps" and (repository / "apps/mylos" / header).exists():
        return climbs_topics(room, place, f"apps/mylos/{header}")
    for pattern, allowed in WRAPPED.items():
        if re.fullmatch(pattern, header) and not re.fullmatch(allowed, place):
            return f"{header} may be included only by {allowed}"
    return None


def check_calls(text):
    """The headers that the file's calls want and that it does not include; fmt/ranges.h includes fmt/format.h."""
    headers = {include.group(1) for include in map(INCLUDE.match, text.splitlines()) if include}
    if "fmt/ranges.h" in headers:
        headers.add("fmt/format.h")
    return [f"{call}) is declared in {header}" for call, header in DECLARED_IN.items() if call in text and header not in headers]


def check_instead(text):
    return [f"{call.group(0)}): {other}" for pattern, other in INSTEAD.items() for call in re.finditer(pattern, text)]


def unused_public_headers(repository):
    """Headers of include/ to which no header of users leads: they are ours, and belong beside their sources."""
    include = repository / "include"
    seen, left = set(), ["mylos/mylos.hpp", "mylos/base/error_ids.hpp"]
    while left:
        header = left.pop()
        if header in seen or not (include / header).exists():
            continue
        seen.add(header)
        left += [line.group(1) for line in map(INCLUDE.match, (include / header).read_text().splitlines()) if line]
    headers = {str(path.relative_to(include)) for path in include.rglob("*.hpp")}
    return [f"include/{header}: neither mylos.hpp nor error_ids.hpp leads to it" for header in sorted(headers - seen)]


def main(repository):
    problems, files = [], 0
    for top in ("include", "src", "apps"):
        for path in sorted((repository / top).rglob("*.[ch]pp")):
            files += 1
            relative = path.relative_to(repository)
            room, place = room_and_place(relative)
            if room not in FLOOR_OF:
                problems.append(f"{relative}: the room {room} is not in the floor plan")
                continue
            if top != "apps" or place.startswith("apps/mylos"):
                problems += [f"{relative}: {problem}" for problem in check_instead(path.read_text())]
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                include = INCLUDE.match(line)
                problem = include and check_include(repository, room, place, include.group(1), top == "include")
                if problem:
                    problems.append(f"{relative}:{number}: {problem}")
    for folder in filter(pathlib.Path.is_dir, (repository / "src").rglob("*")):
        count = sum(path.is_file() for path in folder.iterdir())
        if count > MOST_FILES:
            problems.append(f"{folder.relative_to(repository)}: {count} files, more than {MOST_FILES}")
    problems += unused_public_headers(repository)
    for top in ("include", "src", "apps", "tests", "perf"):
        for path in sorted((repository / top).rglob("*")):
            if path.suffix in (".cpp", ".hpp", ".py", ".cmake") and len(path.read_text().splitlines()) > LONGEST:
                problems.append(f"{path.relative_to(repository)}: longer than {LONGEST} lines")
            if path.suffix in (".cpp", ".hpp"):
                problems += [f"{path.relative_to(repository)}: {problem}" for problem in check_calls(path.read_text())]
    if files == 0:
        problems.append(f"no source file found under {repository}")
    print("\n".join(problems) or f"{files} files: every include points down the floor plan")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
