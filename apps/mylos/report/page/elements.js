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

// Text in which `words` between backticks are code: "switch on `health.every`".
function withCode(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}
