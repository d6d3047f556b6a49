// The members of a sweep: their names, states, ranking and values of keys.

const memberSigns = { waiting: "\u25cb", running: "\u25b6", stopped: "\u25a0", done: "\u2713", diverged: "\u2715", failed: "\u2715", does_not_fit: "\u2715" };
const memberWords = { stopped: "stopped at a rung", does_not_fit: "does not fit the memory" };
const memberLooks = { stopped: "stopped", done: "done", running: "running", waiting: "waiting" };

function memberName(member) {
  return String(member.member).padStart(4, "0");
}

// `count`: of the members in this state. Of a sweep on which nobody works, no member is running.
function memberState(sweep, state, count) {
  const gone = state === "running" && sweep.progress !== "running";
  const look = gone ? "stopped" : memberSigns[state] ? memberLooks[state] || "unfinished" : "waiting";
  const words = gone ? "interrupted" : count === undefined ? state.replaceAll("_", " ") : memberWords[state] || state;
  return element("span", { class: `state ${look}` }, element("span", { "aria-hidden": "true" }, gone ? memberSigns.stopped : memberSigns[state] || "\u2022"),
    count === undefined ? words : `${whole(count)} ${words}`);
}

// The members by value, the best first, with their rank from 0.
function rankedMembers(sweep) {
  return sweep.ranking.map((index, rank) => ({ ...sweep.members[index], index, rank }));
}

const bestShown = 5;  // members with a colour of their own, the same in each drawing

// "0007 (0.231)": the best members are named with their values.
function memberLabel(member) {
  return member.value === null ? memberName(member) : `${memberName(member)} (${number(member.value)})`;
}

// Text of TOML without its quotes.
function plainValue(text) {
  return /^"[^"]*"$/.test(text) ? text.slice(1, -1) : text;
}

// The value of a key as a number; null for another text.
function numberOfKey(text) {
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : null;
}

function keysInWords(sweep, member) {
  return sweep.keys.map((key, i) => `${key.key} ${keyText(key, member.values[i])}`).join(", ");
}

// Values of ranges are drawn at random and have many digits.
function keyText(key, text) {
  if (text === "") return "\u2013";
  const value = key.kind === "range" ? numberOfKey(text) : null;
  return value === null ? plainValue(text) : number(value);
}

function metricName(sweep) {
  return sweep.metric || "value";
}
