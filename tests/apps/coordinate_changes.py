"""Files of two arrays whose coordinates differ in one way from those of a training, and the places that must refuse each.

The numbers of the arrays are always the same: a file that is not refused has the results of one that states no coordinates.
"""
import h5py
import numpy

LEVELS, HEIGHTS, LATITUDES, LONGITUDES = 6, 3, 6, 8
TIME, HEIGHT = 6.0 * numpy.arange(LEVELS), numpy.array([850.0, 500, 250])
LAT, LON = numpy.linspace(-75, 75, LATITUDES), 45.0 * numpy.arange(LONGITUDES)
COORDINATES = {"time": TIME, "height": HEIGHT, "lat": LAT, "lon": LON}
UNITS = {"time": "hours since 2000-01-01", "height": "hPa", "lat": "degrees_north", "lon": "degrees_east"}
AXES = {"u": ("time", "height", "lat", "lon"), "v": ("time", "lat", "lon")}
DECK_AXES = {"/u": "time channel lat lon", "/v": "time lat lon"}

# Where another file meets those of the training.
TRAINING = "training", "test", "predict", "evaluation", "rollout", "truth", "climatology"
ALL = (*TRAINING, "tuned")


def all_but(*places):
    return tuple(place for place in ALL if place not in places)


# By what a file states instead, the places that refuse it.
SAME = ()
OTHER_TIMES = ("truth",)                                    # than the file that it is compared with
ELSEWHERE = all_but("tuned")                                # which may leave the region
TURNED = ALL
STEP = all_but("tuned", "climatology")                      # which is a mean over levels
IRREGULAR = all_but("rollout", "climatology")               # the former reads the levels before it
BACKWARDS = ALL
CALENDAR = all_but("tuned", "climatology")              # likewise
TORN = ALL                                                  # arrays of one file at different places
LARGER = "training", "test", "truth", "climatology"         # networks move to other grids


def days(hours, first):
    return hours / 24 + first


def since(date, shift_hours=0.0, unit="hours", per_hour=1.0, **more):
    """Times that are those of the training, stated in another way."""
    return {"values": {"time": (TIME + shift_hours) * per_hour}, "units": {"time": f"{unit} since {date}"}} | more


def at(**values):
    return {"values": values}


def packed(axis, number_type, scale, offset=0.0):
    stored = numpy.rint((COORDINATES[axis] - offset) / scale).astype(number_type)
    return at(**{axis: stored}) | {"attributes": {axis: {"scale_factor": scale, "add_offset": offset}}}


def moved(axis, place, to):
    values = COORDINATES[axis].copy()
    values[place] = to
    return at(**{axis: values})


CHANGES = {
    # names and units
    "nothing": (SAME, {}),
    "other names": (SAME, {"names": {"lat": "latitude", "lon": "longitude", "time": "valid_time"}}),
    "names in a group": (SAME, {"names": {"lat": "grid/lat", "lon": "grid/lon", "height": "grid/plev"}}),
    "other words for degrees": (SAME, {"units": {"lat": "degree_N", "lon": "degreesE"}}),
    "no units": (SAME, {"units": {"lat": None, "lon": None, "time": None, "height": None}}),
    "no units of latitudes": (SAME, {"units": {"lat": None}}),
    "no units of longitudes": (SAME, {"units": {"lon": None}}),
    "no units of times": (SAME, {"units": {"time": None}}),
    "no units of heights": (SAME, {"units": {"height": None}}),
    "units of a fixed length": (SAME, {"units": {"lat": numpy.bytes_("degrees_north"), "time": numpy.bytes_(UNITS["time"])}}),
    "no latitudes": (SAME, {"values": {"lat": None}}),
    "no longitudes": (SAME, {"values": {"lon": None}}),
    "no times": (SAME, {"values": {"time": None}}),
    "no heights": (SAME, {"values": {"height": None}}),
    "no coordinates": (SAME, {"values": dict.fromkeys(COORDINATES)}),
    "other units": (TURNED, {"units": {"lat": "m"}}),
    "longitudes as latitudes": (TURNED, {"units": {"lat": "degrees_east"}}),
    "latitudes as longitudes": (TURNED, {"units": {"lon": "degrees_north"}}),
    "plain degrees": (TURNED, {"units": {"lat": "degrees"}}),
    "in radians": (TURNED, at(lat=numpy.radians(LAT)) | {"units": {"lat": "radians"}}),
    "radians without units": (ELSEWHERE, at(lat=numpy.radians(LAT)) | {"units": {"lat": None}}),
    "heights in Pa": (TURNED, at(height=100 * HEIGHT) | {"units": {"height": "Pa"}}),
    # how numbers are stored
    "rounded": (SAME, at(lat=LAT.astype("f4") + 1e-5)),
    "float latitudes": (SAME, at(lat=LAT.astype("f4"))),
    "float longitudes": (SAME, at(lon=LON.astype("f4"))),
    "half latitudes": (SAME, at(lat=LAT.astype("f2"))),
    "bytes swapped": (SAME, at(lat=LAT.astype(">f8"), lon=LON.astype(">f4"))),
    "whole latitudes": (SAME, at(lat=LAT.astype("i2"))),
    "packed latitudes": (SAME, packed("lat", "i2", 0.01)),
    "packed longitudes": (SAME, packed("lon", "u2", 0.5, -10.0)),
    "packed heights": (SAME, packed("height", "i2", 0.1, 500.0)),
    "packed times": (SAME, packed("time", "i4", 0.25, 3.0)),
    "noise of latitudes": (SAME, at(lat=LAT * (1 + 1e-7 * numpy.array([1, -1, 1, -1, 1, -1])))),
    "noise of longitudes": (SAME, at(lon=LON * (1 + 1e-7))),
    "noise of heights": (SAME, at(height=HEIGHT * (1 - 1e-7))),
    "noise of times": (SAME, at(time=TIME * (1 + 1e-7))),
    "almost": (SAME, at(lon=LON + 0.01)),
    "whole hours": (SAME, at(time=TIME.astype("i2"))),
    "hours of 64 bits": (SAME, at(time=TIME.astype("i8"))),
    "float hours": (SAME, at(time=TIME.astype("f4"))),
    "packed at another scale": (ELSEWHERE, packed("lat", "i2", 0.01) | {"attributes": {"lat": {"scale_factor": 0.02}}}),
    # longitudes
    "centred longitudes": (SAME, at(lon=(LON + 180) % 360 - 180)),
    "another turn": (SAME, at(lon=LON + 360)),
    "a turn less": (SAME, at(lon=LON - 360)),
    "from the east": (TURNED, at(lon=LON[::-1])),
    "centred from the east": (TURNED, at(lon=((LON + 180) % 360 - 180)[::-1])),
    "half a cell further": (ELSEWHERE, at(lon=LON + 22.5)),
    "another first meridian": (ELSEWHERE, at(lon=LON - 180)),
    "rolled": (ELSEWHERE, at(lon=numpy.roll(LON, 4))),
    "rolled by one": (ELSEWHERE, at(lon=numpy.roll(LON, 1))),
    "half a circle": (ELSEWHERE, at(lon=LON / 2)),
    "two points exchanged": (ELSEWHERE, at(lon=LON[[0, 1, 2, 4, 3, 5, 6, 7]])),
    "a turn in other units": (TURNED, {**at(lon=LON + 360), "units": {"lon": "1"}}),
    # latitudes and heights
    "from the north": (TURNED, at(lat=LAT[::-1])),
    "another band": (ELSEWHERE, at(lat=numpy.linspace(0, 75, LATITUDES))),
    "shifted by a cell": (ELSEWHERE, at(lat=LAT + 30)),
    "shifted by a hundredth of a cell": (ELSEWHERE, at(lat=LAT + 0.3)),
    "one point elsewhere": (ELSEWHERE, moved("lat", 3, LAT[3] + 5)),
    "last point elsewhere": (ELSEWHERE, moved("lat", -1, 76)),
    "twice as fine": (ELSEWHERE, at(lat=LAT / 2)),
    "one percent finer": (ELSEWHERE, at(lat=LAT * 0.99)),
    "not equidistant": (ELSEWHERE, at(lat=75 * numpy.sin(numpy.linspace(-numpy.pi / 2, numpy.pi / 2, LATITUDES)))),
    "a point twice": (ELSEWHERE, moved("lat", 3, LAT[2])),
    "a point nowhere": (ELSEWHERE, moved("lat", 2, numpy.nan)),
    "levels from above": (TURNED, at(height=HEIGHT[::-1])),
    "other levels": (ELSEWHERE, at(height=HEIGHT - 50)),
    "one other level": (ELSEWHERE, moved("height", 1, 600)),
    "levels out of order": (ELSEWHERE, at(height=HEIGHT[[0, 2, 1]])),
    # orders, names of dimensions and extents
    "transposed": (TORN, {"order": {"u": ("time", "height", "lon", "lat"), "v": ("time", "lon", "lat")}}),
    "transposed alone": (TORN, {"order": {"v": ("time", "lon", "lat")}, "ids": dict.fromkeys(ALL, "bad-dataset")}),
    "names exchanged": (TORN, {"names": {"lat": "lon", "lon": "lat"}, "values": {"lat": None, "lon": None}}),
    "fewer latitudes": (LARGER, {**at(lat=LAT[:5]), "part": {"lat": slice(0, 5)}}),
    "fewer latitudes from the north": (TURNED, {**at(lat=LAT[:5][::-1]), "part": {"lat": slice(0, 5)}}),
    "fewer longitudes": (LARGER, {**at(lon=LON[:6]), "part": {"lon": slice(0, 6)}}),
    "fewer heights": (ALL, {**at(height=HEIGHT[:2]), "part": {"height": slice(0, 2)}, "ids": {"tuned": "bad-layer"}}),
    # arrays of one file, of which one lies elsewhere
    "staggered latitudes": (ELSEWHERE, {**at(lat=LAT + 15), "only": "v"}),
    "staggered longitudes": (ELSEWHERE, {**at(lon=LON + 22.5), "only": "v"}),
    "one from the north": (TORN, {**at(lat=LAT[::-1]), "only": "v"}),
    "one in other units": (TORN, {"units": {"lat": "m"}, "only": "v"}),
    "one later": (TORN, {**at(time=TIME + 6), "only": "v"}),
    "one earlier by half": (TORN, {**at(time=TIME - 3), "only": "v"}),
    "one hourly": (TORN, {**at(time=TIME / 6), "only": "v"}),
    "one backwards": (TORN, {**at(time=TIME[::-1]), "only": "v"}),
    "one in days": (SAME, {**at(time=TIME / 24), "units": {"time": "days since 2000-01-01"}, "only": "v"}),
    "one of a copy": (SAME, {"only": "v"}),
    "one without coordinates": (SAME, {"values": dict.fromkeys(COORDINATES), "only": "v"}),
    # times and their units
    "later": (OTHER_TIMES, at(time=TIME + 1000)),
    "earlier": (OTHER_TIMES, at(time=TIME - 1000)),
    "half a step later": (OTHER_TIMES, at(time=TIME + 3)),
    "of another century": (OTHER_TIMES, {"units": {"time": "hours since 1900-01-01"}}),
    "of another zone": (OTHER_TIMES, since("2000-01-01 00:00 +06:00")),
    "in minutes": (SAME, since("2000-01-01", unit="minutes", per_hour=60)),
    "in days": (SAME, since("2000-01-01", unit="days", per_hour=1 / 24)),
    "in weeks": (SAME, since("2000-01-01", unit="weeks", per_hour=1 / 168)),
    "in seconds": (SAME, since("2000-01-01T00:00:00Z", unit="seconds", per_hour=3600)),
    "in milliseconds": (SAME, since("2000-01-01", unit="milliseconds", per_hour=3.6e6)),
    "in h": (SAME, since("2000-01-01 00:00:00.0", unit="h")),
    "in a zone": (SAME, since("2000-01-01 06:00 +06:00")),
    "a short date": (SAME, since("2000-1-1")),
    "from the day before": (SAME, since("1999-12-31", 24)),
    "from noon": (SAME, since("2000-01-01 12:00:00", -12)),
    "from a century before": (SAME, {"values": {"time": days(TIME, 36524).astype("f4")}, "units": {"time": "days since 1900-01-01 00:00"}}),
    "from the year 1": (SAME, {"values": {"time": days(TIME, 730121)}, "units": {"time": "days since 0001-01-01"}}),
    "from the proleptic year 1": (SAME, {"values": {"time": days(TIME, 730119)}, "units": {"time": "days since 0001-01-01"}, "calendar": "proleptic_gregorian"}),
    "two days of calendars apart": (OTHER_TIMES, {"values": {"time": days(TIME, 730119)}, "units": {"time": "days since 0001-01-01"}}),
    "no date": (SAME, {"units": {"time": "hours"}}),
    "no known date": (SAME, {"units": {"time": "hours since the start"}}),
    "minutes": (STEP, {"units": {"time": "minutes since 2000-01-01"}}),
    "seconds": (STEP, {"units": {"time": "seconds since 2000-01-01"}}),
    "days": (STEP, {"units": {"time": "days since 2000-01-01"}}),
    "months": (STEP, {"units": {"time": "months since 2000-01-01"}}),
    "six months": (STEP, at(time=numpy.arange(LEVELS)) | {"units": {"time": "months since 2000-01-01"}}),
    "daily": (STEP, at(time=24 * numpy.arange(LEVELS))),
    "hourly": (STEP, at(time=TIME / 6)),
    "every second level": (STEP, at(time=2 * TIME)),
    "a tenth longer": (STEP, at(time=1.1 * TIME)),
    "a twentieth shorter": (STEP, at(time=0.95 * TIME)),
    # levels
    "a gap": (IRREGULAR, at(time=TIME + 6 * (numpy.arange(LEVELS) > 2))),
    "a level twice": (IRREGULAR, at(time=numpy.where(numpy.arange(LEVELS) > 2, TIME - 6, TIME))),
    "out of order": (IRREGULAR, at(time=TIME[[0, 1, 3, 2, 4, 5]])),
    "a level without time": (IRREGULAR, moved("time", 3, numpy.nan)),
    "backwards": (BACKWARDS, at(time=TIME[::-1])),
    "always the same time": (BACKWARDS, at(time=0 * TIME)),
    # calendars
    "gregorian": (SAME, {"calendar": "gregorian"}),
    "proleptic": (SAME, {"calendar": "proleptic_gregorian"}),
    "standard": (SAME, {"calendar": "Standard"}),
    "no leap years": (CALENDAR, {"calendar": "noleap"}),
    "years of 365 days": (CALENDAR, since("2000-01-01", unit="days", per_hour=1 / 24, calendar="365_day")),
    "months of 30 days": (CALENDAR, {"calendar": "360_day"}),
    "leap years only": (CALENDAR, {"calendar": "all_leap"}),
    "years of 366 days": (CALENDAR, {"calendar": "366_day"}),
    "julian": (CALENDAR, {"calendar": "julian"}),
    "before 1582": (OTHER_TIMES, since("1500-03-01")),
    "proleptic before 1582": (CALENDAR, since("1500-03-01", calendar="proleptic_gregorian")),
}


def id_of_refusal(name, place):
    """None where the file is accepted."""
    places, change = CHANGES[name]
    return change.get("ids", {}).get(place, "data-mismatch") if place in places else None


def write(path, name="nothing", twin=False):
    """The file of a change, or its twin: the same numbers without coordinates."""
    change = CHANGES[name][1]
    with h5py.File(path, "w") as file:
        random = numpy.random.default_rng(5)
        for array, axes in AXES.items():
            numbers = random.standard_normal([len(COORDINATES[axis]) for axis in axes])
            numbers = numbers[tuple(change.get("part", {}).get(axis, slice(None)) for axis in axes)]
            order = change.get("order", {}).get(array, axes)
            file[array] = numbers.transpose([axes.index(axis) for axis in order])
            is_changed = change.get("only", array) == array
            prefix = f"of_{array}/" if is_changed and "only" in change else ""
            for place, axis in enumerate(order if not twin else ()):
                attach(file, file[array], place, axis, change if is_changed else {}, prefix)


def attach(file, array, place, axis, change, prefix):
    """The scale of an axis, that of another array if there is one of its name."""
    values, name = change.get("values", {}).get(axis, COORDINATES[axis]), prefix + change.get("names", {}).get(axis, axis)
    is_dimension = values is None and axis in change.get("names", {})  # of NetCDF, without coordinates
    if values is None and not is_dimension:
        return
    if name not in file:
        file[name] = numpy.full(array.shape[place], numpy.nan, "f4") if is_dimension else values
        units = change.get("units", {}).get(axis, UNITS[axis])
        if units is not None:
            file[name].attrs["units"] = units
        if axis == "time" and "calendar" in change:
            file[name].attrs["calendar"] = change["calendar"]
        for key, value in change.get("attributes", {}).get(axis, {}).items():
            file[name].attrs[key] = value
        file[name].make_scale(name)
    array.dims[place].attach_scale(file[name])
