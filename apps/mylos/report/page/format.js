// Formats numbers for readers.

function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

function whole(value) {
  return Math.round(value).toLocaleString("en-US");
}

function plural(count, word) {
  return `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
}

function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "\u2013";
  return `${Number((100 * share).toPrecision(3))} %`;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (count >= 1024 && unit + 1 < units.length) { count /= 1024; unit += 1; }
  return `${Number(count.toPrecision(count >= 1000 ? 4 : 3))} ${units[unit]}`;
}

// With a prefix: 62929 -> "62.9 k".
function metric(value) {
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let prefix = 0;
  while (value >= 1000 && prefix + 1 < prefixes.length) { value /= 1000; prefix += 1; }
  return `${Number(value.toPrecision(3))} ${prefixes[prefix]}`.trimEnd();
}

function duration(seconds) {
  if (!Number.isFinite(seconds)) return "\u2013";
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const two = (value) => String(value).padStart(2, "0");
  const all = Math.round(seconds);
  const [hours, minutes] = [Math.floor(all / 3600), Math.floor(all / 60) % 60];
  if (hours === 0) return `${minutes} min ${two(all % 60)} s`;
  return `${whole(hours)} h ${two(minutes)} min`;
}

function steps(first, last) {
  return first === last ? `step ${whole(first)}` : `steps ${whole(first)} to ${whole(last)}`;
}
