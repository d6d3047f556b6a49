"""Plans of memory by `mylos plan`: nothing is trained."""

import json

from .programs import finished

DOES_NOT_FIT = 3  # the exit code


def plan(mylos, *words):
    """The plan as a document, or None if it does not fit its budget."""
    done = finished([mylos, "plan", "--json", *words], codes=(0, DOES_NOT_FIT))
    return json.loads(done.stdout) if done.returncode == 0 else None


def largest(plan_of, most=None):
    """The largest number up to `most` for which plan_of(number) is not None, and its plan: (0, None) if none fits."""
    fitting, too_many, found = 0, 1, None
    while (most is None or too_many <= most) and (tried := plan_of(too_many)):
        fitting, found, too_many = too_many, tried, 2 * too_many
    if most is not None:
        too_many = min(too_many, most + 1)
    while too_many - fitting > 1:
        middle = (fitting + too_many) // 2
        tried = plan_of(middle)
        fitting, too_many, found = (middle, too_many, tried) if tried else (fitting, middle, found)
    return fitting, found
