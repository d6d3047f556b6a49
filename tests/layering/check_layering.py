"""Checks that every include points down the floor plan, that each outside library is seen only where it is wrapped,
and that no source file grew past what a reader holds in mind. Usage: check_layering.py REPOSITORY"""

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
    ["train"],
    ["interchange"],
    ["apps"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# These two read and write the options of every room, those above included; options.hpp files are plain structs.
MAY_SEE_ALL_OPTIONS = {"config", "checkpoint"}

# Outside header -> the files (paths without include/mylos/ or src/) that may include it.
WRAPPED = {
    r"hdf5(_hl)?\.h": r"io/.*hdf5.*",
    r"nccl\.h": r"comm/.*nccl.*",
    r"nvml\.h": r"io/nvml_energy\.cpp",
    r"dnnl(_.*)?\.(hpp|h)": r"kernels/.*(onednn|dnnl).*",
    r"cublasLt\.h": r"kernels/.*cublaslt.*",
    r"cudnn.*\.h": r"kernels/.*cudnn.*",
    r"nlohmann/.*": r"train/(stored_plan|plan_document|run_summary|run_events|amendments|confusion_file|target_file)\.cpp|io/safetensors.*|interchange/gpt2_config\.cpp|"
                    r"apps/mylos/(advise|precision)_json\.cpp|apps/mylos/report/.*",
    r"png\.h": r"data/image_png\.cpp",
    r"turbojpeg\.h": r"data/image_jpeg\.cpp",
    r"xxhash\.h": r"io/digest\.cpp",
    r"mpi\.h": r"(comm|io|apps)/.*|train/online_trainer\.hpp",
}

# What a file calls -> the header that it must include: other versions of a library declare it there alone.
DECLARED_IN = {
    "fmt::join(": "fmt/ranges.h",  # fmt 9 and 10 also have it in fmt/format.h
    "fmt::print(": "fmt/format.h",
}

# From a deck's shapes to its memory plan, or to the refusal: of these files each sees only those before it.
# docs/architecture.md says what each answers.
MEMORY_WAY = """
model/chain_cost model/schedule model/lifetimes model/transient_depths model/placement
planner/lists planner/rotor planner/plan
train/stored_plan train/memory_statement train/product_choice train/rehearsal train/calibration train/memory_plan train/smaller_micro_batch train/plan_document
train/shared_plan
""".split()

LONGEST = 350  # lines; few files should come near it
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def room_and_place(path):
    """(room, path inside the floor plan): include/mylos/io/x.hpp -> ("io", "io/x.hpp")."""
    parts = list(path.parts)
    if parts[0] == "include":
        parts = parts[2:]
    elif parts[0] == "src":
        parts = parts[1:]
    room = parts[0] if len(parts) > 1 else "train"  # include/mylos/mylos.hpp is the library's whole face
    return room, "/".join(parts)


def climbs(room, place, header):
    """Whether a file of the memory's way includes one that comes later on it."""
    file, _, _ = place.rpartition(".")
    header, _, _ = header.removeprefix("mylos/").rpartition(".")
    other = header if "/" in header else f"{room}/{header}"
    return file in MEMORY_WAY and other in MEMORY_WAY[MEMORY_WAY.index(file) + 1 :]


def check_include(room, place, header):
    if climbs(room, place, header):
        return f"{header} comes later on a memory problem's way"
    match = re.fullmatch(r"mylos/(\w+)/(.+)", header)
    if match:
        target, file = match.groups()
        if target not in FLOOR_OF:
            return f"includes the unknown room {target}"
        if target == room or FLOOR_OF[target] < FLOOR_OF[room]:
            return None
        if file == "options.hpp" and room in MAY_SEE_ALL_OPTIONS:
            return None
        return f"{room} may not include {header}: {target} is not below it"
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
            for number, line in enumerate(path.read_text().splitlines(), start=1):
                include = INCLUDE.match(line)
                problem = include and check_include(room, place, include.group(1))
                if problem:
                    problems.append(f"{relative}:{number}: {problem}")
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
