"""scripts/changed_tests.py chooses the tests nearest to what has changed, and scripts/times.py holds times to budgets.

usage: test_changed_tests.py SOURCES
"""
import importlib.util
import json
import os
import pathlib
import sys
import tempfile

SOURCES = {
    "src/mylos/a/x.hpp": "", "src/mylos/a/x.cpp": '#include "mylos/a/x.hpp"\n',
    "src/mylos/a/detail.hpp": "", "src/mylos/a/more.cpp": '#include "mylos/a/x.hpp"\n#include "mylos/a/detail.hpp"\n',
    "src/mylos/b/y.hpp": '#include "mylos/a/x.hpp"\n', "src/mylos/b/y.cpp": '#include "mylos/b/y.hpp"\n',
    "tests/a/test_x.cpp": '#include "mylos/a/x.hpp"\n', "tests/b/test_y.cpp": '#include "mylos/b/y.hpp"\n',
    "apps/mylos/commands/plan_command.cpp": '#include "mylos/b/y.hpp"\n', "apps/mylos/commands/info_command.cpp": "",
    "tests/apps/helper.py": "", "tests/apps/test_plan.py": 'import helper\nhelper.run("plan")\n', "tests/apps/test_info.py": 'run("info")\n',
}
# File -> entries that must run again, and all that must not.
EDITS = {
    "src/mylos/a/x.cpp": {"a.x"},  # b.y reaches it in two steps
    "src/mylos/a/more.cpp": {"a.x"},
    "src/mylos/a/detail.hpp": {"a.x"},
    "src/mylos/a/x.hpp": {"a.x", "b.y", "b.ranks3", "app.plan"},
    "src/mylos/b/y.cpp": {"b.y", "b.ranks3"},
    "tests/b/test_y.cpp": {"b.y", "b.ranks3"},
    "apps/mylos/commands/plan_command.cpp": {"app.plan"},
    "apps/mylos/commands/info_command.cpp": {"app.info"},
    "tests/apps/helper.py": {"app.plan"},
}


def module_of(sources, name):
    spec = importlib.util.spec_from_file_location(name, sources / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def entry(name, *command):
    return {"name": name, "command": ["program", *map(str, command)], "properties": []}


def stamps(sources, folder):
    """Of a fresh module, which has read nothing yet."""
    module = module_of(sources, "changed_tests")
    module.ROOT = folder
    module.entries = lambda _: [module.Entry(test) for test in (
        entry("a.x", "--file=test_x.cpp"), entry("b.y", "--file=test_y.cpp"), entry("b.ranks3", "--gtest_filter=Y*"),
        entry("app.plan", folder / "tests/apps/test_plan.py"), entry("app.info", folder / "tests/apps/test_info.py"))]
    return module.stamps(folder)


def check_choice(sources, folder):
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    before = stamps(sources, folder)
    for name, expected in EDITS.items():
        (folder / name).write_text(SOURCES[name] + "\n", encoding="utf-8")
        now = stamps(sources, folder)
        (folder / name).write_text(SOURCES[name], encoding="utf-8")
        assert {test for test in now if now[test] != before[test]} == expected, name
    assert stamps(sources, folder) == before


def check_budgets(sources, folder):
    times = module_of(sources, "times")
    times.ROOT = folder
    (folder / "tests/time_budgets.json").write_text(json.dumps(
        {"budgets": {"all": {"of": "compilers, build/host", "begins": ["src/"], "allowed": 10}}}), encoding="utf-8")
    for unit, load, seconds, good in ((2.0, 0.0, 19.0, True), (2.0, 0.0, 21.0, False), (2.0, os.cpu_count(), 21.0, True), (0.1, 0.0, 21.0, True)):
        os.environ["MYLOS_LOAD"] = str(load)
        assert times.judge({"compilers, build/host": {"tests/a.gch": unit, "src/a.o": seconds}}) == good, (unit, load, seconds)


with tempfile.TemporaryDirectory() as root:
    path = pathlib.Path(root).resolve()
    check_choice(pathlib.Path(sys.argv[1]), path)
    check_budgets(pathlib.Path(sys.argv[1]), path)
print("the nearest tests are chosen, and budgets hold")
