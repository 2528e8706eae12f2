// What the reader chose. All of it stands in the address, so that a link shows what its sender saw.

const DATA = JSON.parse(document.getElementById("data").textContent);

const state = {
  section: "",
  theme: "auto",
  find: "",
  run: null,
  filters: new Map(),
  sorts: new Map(),
  picks: new Map(),
};

/** Read the choices from the address. */
function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.section = given.get("section") || "";
  state.theme = ["light", "dark"].includes(given.get("theme")) ? given.get("theme") : "auto";
  state.find = given.get("find") || "";
  state.run = given.has("run") ? given.get("run") : null;
  state.filters = new Map();
  for (const { key } of DATA.dimensions) {
    const chosen = given.getAll(key);
    if (chosen.length) state.filters.set(key, new Set(chosen));
  }
  state.sorts = pairs(given.getAll("sort"), ([table, column, direction]) => [table, { column, direction }]);
  state.picks = pairs(given.getAll("pick"), ([name, value]) => [name, value]);
}

function pairs(texts, make) {
  return new Map(texts.map((text) => make(text.split("~"))));
}

/** The address that stands for the present choices, with some of them changed. */
function address(change = {}) {
  const now = { ...state, ...change };
  const parts = new URLSearchParams();
  if (now.section) parts.set("section", now.section);
  for (const [key, chosen] of now.filters) for (const value of chosen) parts.append(key, value);
  for (const [table, { column, direction }] of now.sorts) parts.append("sort", [table, column, direction].join("~"));
  for (const [name, value] of now.picks) parts.append("pick", [name, value].join("~"));
  if (now.find) parts.set("find", now.find);
  if (now.run !== null) parts.set("run", now.run);
  if (now.theme !== "auto") parts.set("theme", now.theme);
  return `#${parts}`;
}

/** Keep the choices in the address without adding to the reader's history. */
function writeAddress() {
  history.replaceState(null, "", address());
}

const label = (value) => (value === null || value === undefined || value === "" ? "none" : String(value));

/** The groups and runs that pass the filters. Filters look at identities only, so a group is in as a whole or out. */
function visible() {
  const passes = (group) => [...state.filters].every(([key, chosen]) => chosen.has(label(group.identity[key])));
  const groups = DATA.groups.filter(passes);
  const shown = new Set(groups.map((group) => group.id));
  return { groups, runs: DATA.runs.filter((run) => shown.has(run.group)) };
}

/** What the reader picked for a control, or its default where that is no longer on offer. */
function picked(name, options, otherwise) {
  const value = state.picks.get(name);
  return options.includes(value) ? value : otherwise;
}

/** Dimensions by which groups differ, less some. */
function varying(groups, except = []) {
  return DATA.dimensions.filter(
    ({ key }) => !except.includes(key) && new Set(groups.map((group) => label(group.identity[key]))).size > 1,
  );
}

/** Name of library, engine and renderer, as far as they differ in this report. */
function contender(group) {
  const { framework, physics } = group.identity;
  const parts = CONTENDERS.filter((key) => DIFFERENT.has(key)).map((key) => group.identity[key]);
  return parts.filter((part) => part && part !== "none").join(" · ") || framework || physics;
}

/** Heading of a column of contenders. */
function contenderTitle(groups) {
  const told = DATA.dimensions.filter(
    ({ key }) => CONTENDERS.includes(key) && DIFFERENT.has(key) && groups.some((group) => group.identity[key]),
  );
  return told.map(({ title }) => title).join(" · ") || "Physics";
}

/** What a group is, in the dimensions that tell it from the others. */
function describe(group, dimensions) {
  return dimensions
    .map(({ key, title }) => phrase(key, title, group.identity[key]))
    .filter(Boolean)
    .join(" · ");
}

/** What tells a set of groups from the others of its workflow, and the workflow where there are several. */
function subtitle(members, all) {
  const { workflow } = members[0].identity;
  const peers = all.filter((group) => group.identity.workflow === workflow);
  const name = peers.length < all.length ? TITLES[workflow] : "";
  return [name, describe(members[0], varying(peers, [...CONTENDERS, "task"]))].filter(Boolean).join(" · ");
}

// What goes without saying.
const USUAL = { resumed: 0, ranks: 1, execution: "local" };

function phrase(key, title, value) {
  if (value === null || value === "" || value === false || value === USUAL[key]) return "";
  if (key === "num_envs") return count(value, "environment");
  if (key === "threads") return count(value, "thread");
  if (key === "budget") return `budget ${number(value)}`;
  if (key === "workflow") return TITLES[value];
  if (["task", "physics", "framework", "device_kind", "hardware", "host", "presets"].includes(key)) return label(value);
  return `${title.toLowerCase()} ${label(value)}`;
}

const TITLES = { training: "Training", play: "Play", runtime: "Runtime, nothing learned", startup: "Start-up" };
const CONTENDERS = ["framework", "physics", "rendering"];
const DIFFERENT = new Set(varying(DATA.groups).map(({ key }) => key));

/** Split groups into sets whose members differ only in library, engine and renderer (and in `free`). */
function comparable(groups, free = []) {
  const skip = new Set([...CONTENDERS, ...free]);
  const keys = DATA.dimensions.map(({ key }) => key).filter((key) => !skip.has(key));
  return groupBy(groups, (group) => JSON.stringify(keys.map((key) => group.identity[key])));
}

/** The first few of many panels, and a button for the rest. A panel is made when it is shown. */
function several(name, items, make, redraw, most = 6) {
  const all = picked(`all-${name}`, ["yes"], "no") === "yes" || items.length <= most + 1;
  const panels = (all ? items : items.slice(0, most)).map(make).filter(Boolean);
  return {
    panels,
    more:
      !all &&
      el(
        "p",
        {},
        el("button", { type: "button", click: () => redraw(`all-${name}`, "yes") }, `Show all ${items.length}`),
      ),
  };
}

/** Colour by library, dashes and markers by engine; by engine alone where no library runs. */
const SLOTS = (() => {
  const values = (key) => [...new Set(DATA.groups.map((group) => group.identity[key]).filter(Boolean))].sort();
  const [frameworks, engines] = [values("framework"), values("physics")];
  return (group) => {
    const { framework, physics } = group.identity;
    const engine = Math.max(0, engines.indexOf(physics));
    return { slot: (framework ? frameworks.indexOf(framework) : engine + frameworks.length) % 8, style: engine % 4 };
  };
})();
