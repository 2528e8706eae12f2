// Nodes and numbers. Text is only ever set as text, so that nothing a bundle says becomes markup.

/** Make an HTML element; null and false children are left out. */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => ![null, undefined, false, ""].includes(child)));
  return node;
}

/** A link to a file beside the report, where there is a path to it. */
function fileLink(path, text) {
  if (!path) return text;
  return el("a", { href: path, rel: "noreferrer" }, text);
}

/** A set of buttons of which one is pressed. */
function choice(label, options, current, pick, { silent = false } = {}) {
  const buttons = options.map(([value, text]) =>
    el("button", { type: "button", "aria-pressed": String(value === current), click: () => pick(value) }, text),
  );
  return el(
    "div",
    {},
    !silent && el("span", {}, label),
    el("div", { class: "switch", role: "group", "aria-label": label }, buttons),
  );
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

/** A number for a table: four significant digits, whole ones from a thousand on. */
function number(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-3) return value.toExponential(2);
  return size >= 1000 ? grouped.format(value) : precise.format(value);
}

/** A number for an axis, with an SI prefix. */
function short(value) {
  const size = Math.abs(value);
  for (const [factor, prefix] of [
    [1e9, " G"],
    [1e6, " M"],
    [1e3, " k"],
  ]) {
    if (size >= factor) return `${precise.format(value / factor)}${prefix}`;
  }
  return size !== 0 && size < 1e-3 ? value.toExponential(0) : precise.format(value);
}

/** Seconds as a person says them. */
function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 1) return `${precise.format(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(1)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Start of a run, to the minute. */
function moment(run) {
  return run.start.slice(0, 16).replace("T", " ");
}

/** `3 runs`, `1 run`. */
function count(n, what) {
  return `${grouped.format(n)} ${what}${n === 1 ? "" : "s"}`;
}

/** Split into lists by a key, in order of first appearance. */
function groupBy(items, key) {
  const groups = new Map();
  for (const item of items) {
    const value = key(item);
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(item);
  }
  return groups;
}
