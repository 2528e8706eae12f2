// Sections are drawn when they come near the window, and again when a choice concerns them.

const SECTIONS = [
  ["warnings", "Conditions", "", warningsSection, DATA.notices.length > 0],
  ["summary", "At a glance", DATA.leads.summary, leadersSection, DATA.runs.length > 0],
  ["setup", "What was run", "", setupSection, DATA.runs.length > 0],
  ["ranking", "Rankings", DATA.leads.ranking, rankingSection, DATA.runs.length > 0],
  ["curves", "Learning curves", DATA.leads.curves, curvesSection, DATA.groups.some((group) => group.curves)],
  ["throughput", "Throughput", "", throughputSection, DATA.runs.length > 0],
  ["scaling", "Scaling", DATA.leads.scaling, scalingSection, DATA.runs.length > 0],
  ["breakdown", "Time breakdown", DATA.leads.breakdown, breakdownSection, DATA.runs.length > 0],
  ["startup", "Start-up", DATA.leads.startup, startupSection, DATA.runs.length > 0],
  ["load", "Memory and load", DATA.leads.load, loadSection, DATA.runs.some((run) => run.load)],
  ["equivalence", "Equivalence", DATA.leads.equivalence, equivalenceSection, DATA.equivalences.length > 0],
  ["history", "History", DATA.leads.history, historySection, DATA.history.length > 0],
  ["gallery", "Videos", "", gallerySection, DATA.runs.some((run) => run.media)],
  ["runs", "Runs", "A run opens with a click on its start time.", runsSection, DATA.runs.length > 0],
  ["broken", "About files", "", brokenSection, DATA.broken.length > 0],
  ["method", "How to read this", "", methodSection, true],
]
  .filter((entry) => entry[4])
  .map(([id, title, lead, draw]) => ({ id, title, draw, near: false, ...frameOf(id, title, lead) }));

function frameOf(id, title, lead) {
  const body = el("div", { class: "body" });
  return {
    body,
    node: el(
      "section",
      { id, "aria-label": title },
      el("h2", {}, title),
      lead && el("p", { class: "lead" }, lead),
      body,
    ),
  };
}

function render(section) {
  if (section.node.dataset.drawn) return;
  section.node.dataset.drawn = "true";
  const redraw = (pick, value) => {
    if (value !== undefined) state.picks.set(pick, value);
    const focus = pick === "find" ? document.activeElement?.selectionStart : null;
    writeAddress();
    for (const one of SECTIONS) if (one.draw === section.draw || pick === "rate") refresh(one);
    if (focus !== null) focusSearch(section.body, focus);
  };
  section.body.replaceChildren(...section.draw(visible(), redraw).filter(Boolean));
  for (const chart of section.body.querySelectorAll("figure.chart")) chart.draw(true);
}

function focusSearch(body, at) {
  const search = body.querySelector("input[type=search]");
  search.focus();
  search.setSelectionRange(at, at);
}

function refresh(section) {
  delete section.node.dataset.drawn;
  if (section.near) render(section);
}

function masthead() {
  const theme = choice(
    "Colours",
    [
      ["auto", "auto"],
      ["light", "light"],
      ["dark", "dark"],
    ],
    state.theme,
    (value) => {
      state.theme = value;
      writeAddress();
      masthead();
    },
    { silent: true },
  );
  if (state.theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = state.theme;
  const facts = DATA.facts.filter(Boolean).join(" · ");
  document
    .getElementById("masthead")
    .replaceChildren(
      el(
        "div",
        {},
        el("h1", {}, DATA.title),
        el("p", { class: "muted" }, facts),
        el("p", { class: "muted small" }, DATA.made),
      ),
      theme,
    );
}

function filters() {
  const host = document.getElementById("filters");
  const open = host.querySelector("details")?.open ?? false;
  const offered = varying(DATA.groups).filter(({ key }) => key !== "schema_major");
  if (!offered.length) return;
  const { runs } = visible();
  const chosen = [...state.filters.entries()]
    .map(([key, values]) => `${titleOf(key)}: ${[...values].join(", ")}`)
    .join("; ");
  const rows = offered.flatMap(({ key, title }) => {
    const values = [...new Set(DATA.groups.map((group) => label(group.identity[key])))].sort((a, b) =>
      a.localeCompare(b, "en", { numeric: true }),
    );
    return [
      el("span", {}, title),
      el(
        "div",
        { class: "chips" },
        values.map((value) =>
          el(
            "button",
            {
              type: "button",
              "aria-pressed": String(Boolean(state.filters.get(key)?.has(value))),
              "data-filter": key,
              click: () => toggle(key, value),
            },
            value,
          ),
        ),
      ),
    ];
  });
  const clear = el(
    "button",
    {
      type: "button",
      class: "plain",
      click: (event) => {
        event.preventDefault();
        state.filters = new Map();
        applied();
      },
    },
    "clear",
  );
  host.replaceChildren(
    el(
      "details",
      { open },
      el(
        "summary",
        {},
        el("b", {}, "Filter"),
        el(
          "span",
          { class: "muted", id: "shown" },
          runs.length === DATA.runs.length
            ? `all ${count(runs.length, "run")}`
            : `${number(runs.length)} of ${count(DATA.runs.length, "run")}`,
        ),
        chosen && el("span", { class: "small" }, chosen),
        chosen && clear,
      ),
      el("div", { class: "rows" }, rows),
    ),
  );
}

const titleOf = (key) => DATA.dimensions.find((dimension) => dimension.key === key)?.title ?? key;

function toggle(key, value) {
  const chosen = state.filters.get(key) ?? new Set();
  if (!chosen.delete(value)) chosen.add(value);
  if (chosen.size) state.filters.set(key, chosen);
  else state.filters.delete(key);
  applied([key, value]);
}

function applied(focus) {
  writeAddress();
  filters();
  SECTIONS.forEach(refresh);
  if (focus)
    [...document.querySelectorAll("[data-filter]")]
      .find((node) => node.dataset.filter === focus[0] && node.textContent === focus[1])
      ?.focus();
}

function contents() {
  const links = SECTIONS.map(({ id, title }) =>
    el(
      "a",
      {
        href: `#section=${id}`,
        "data-section": id,
        click: (event) => {
          event.preventDefault();
          history.pushState(null, "", address({ section: id }));
          follow();
        },
      },
      title,
    ),
  );
  document.getElementById("contents").replaceChildren(...links);
}

/** Show what the address says. */
function follow() {
  readAddress();
  masthead();
  filters();
  SECTIONS.forEach(refresh);
  const target = SECTIONS.find(({ id }) => id === state.section);
  if (!target) return;
  // What stands above must have its height before a place below it can be found.
  for (const section of SECTIONS.slice(0, SECTIONS.indexOf(target) + 1)) render(section);
  (target.node.querySelector("tr.detail") ?? target.node).scrollIntoView({ block: "start" });
}

function start() {
  readAddress();
  document.title = DATA.title;
  document.getElementById("main").append(...SECTIONS.map(({ node }) => node));
  contents();
  const watch = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const section = SECTIONS.find(({ node }) => node === entry.target);
        section.near = entry.isIntersecting;
        if (section.near) render(section);
      }
    },
    { rootMargin: "600px 0px" },
  );
  const follower = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) mark(entry.target.id);
    },
    { rootMargin: "-10% 0px -75% 0px" },
  );
  for (const { node } of SECTIONS) {
    watch.observe(node);
    follower.observe(node);
  }
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => SECTIONS.forEach(render));
  follow();
  performance.mark("report-ready");
  document.documentElement.dataset.ready = "true";
}

function mark(id) {
  for (const link of document.querySelectorAll("#contents a")) {
    if (link.dataset.section === id) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

start();
