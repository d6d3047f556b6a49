"use strict";
// Elements of the page. Content of files becomes text, never markup.

function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function shape(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

// A drawing of this size in pixels.
function drawing(width, height, ...children) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, height }, ...children);
}

// A small drawing within text, which the text describes.
function swatch(width, height, ...children) {
  return shape("svg", { width, height, "aria-hidden": "true" }, ...children);
}

// A path through [x, y] points, with a gap where y is null.
function pathOf(points) {
  return points.map(([x, y], i) => (y === null ? "" : `${i === 0 || points[i - 1][1] === null ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`)).join("");
}

// Text in which `words` between backticks are code: "switch on `health.every`".
function withCode(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}
