// Where the time and the memory went: breakdown of an iteration, start-up, load over time.

function thinBar(share, slot) {
  const bar = el("div", { class: `part solo s${slot}` });
  bar.style.width = `${(100 * Math.max(0, share)).toFixed(2)}%`;
  return el("div", { class: "bar" }, el("div", { class: "track thin" }, bar));
}

/** A table whose middle column is a bar of parts on one scale. rows: [{name, note, parts: [{key, value}], seconds}] */
function barTable(rows, parts, { unit, scaleTo, say }) {
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => el("span", {}, share === 0 ? "0" : say(share * scaleTo)));
  const lines = rows.map((row) => {
    const pieces = row.parts.map(({ key, value }) => {
      const index = parts.findIndex((part) => part.key === key);
      const share = value / scaleTo;
      const piece = el(
        "div",
        { class: `part s${parts[index].slot}`, title: `${parts[index].title}: ${say(value)}` },
        share > 0.2 ? say(value) : "",
      );
      piece.style.width = `${(100 * share).toFixed(3)}%`;
      return piece;
    });
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, row.name, row.note && el("span", { class: "range" }, row.note)),
      el("td", { class: "bar" }, el("div", { class: "track" }, pieces)),
      el("td", { class: "num" }, duration(row.seconds)),
    );
  });
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: "bars" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", {}, ""),
          el("th", { class: "scale" }, el("div", { class: "ticks" }, ticks)),
          el("th", { class: "num" }, "Total", el("span", { class: "unit" }, unit)),
        ),
      ),
      el("tbody", {}, lines),
    ),
  );
}

/** What the colours of the parts mean. */
function keyOf(parts, used) {
  return el(
    "div",
    { class: "key" },
    parts
      .filter(({ key }) => used.has(key))
      .map((part) => el("span", {}, el("span", { class: `swatch s${part.slot}` }), part.title)),
  );
}

function breakdownSection({ groups }, redraw) {
  const timed = groups.filter((group) => group.breakdown);
  if (!timed.length) return [el("p", { class: "empty" }, "No timed loop passes the filters.")];
  const scale = picked("time", ["share", "absolute"], "share");
  const { panels, more } = several(
    "breakdown",
    [...comparable(timed).values()],
    (members) => {
      const top = Math.max(...members.map((group) => sum(group.breakdown)));
      const rows = members.map((group) => {
        const total = sum(group.breakdown);
        const factor = scale === "share" ? 100 / total : 1;
        return {
          name: contender(group),
          parts: group.breakdown.map(([key, value]) => ({ key, value: value * factor })),
          seconds: total,
        };
      });
      const say = scale === "share" ? (value) => `${precise.format(Number(value.toPrecision(3)))} %` : duration;
      return el(
        "div",
        {},
        el("h3", {}, members[0].identity.task),
        el("p", { class: "small muted" }, subtitle(members, timed)),
        barTable(rows, DATA.parts, { unit: "per iteration", scaleTo: scale === "share" ? 100 : top, say }),
      );
    },
    redraw,
  );
  return [
    el(
      "div",
      { class: "controls" },
      choice(
        "Time as",
        [
          ["share", "share"],
          ["absolute", "duration"],
        ],
        scale,
        (value) => redraw("time", value),
      ),
    ),
    keyOf(DATA.parts, new Set(timed.flatMap((group) => group.breakdown.map(([key]) => key)))),
    el("div", { class: "grid" }, panels),
    more,
  ];
}

const sum = (parts) => parts.reduce((total, [, value]) => total + value, 0);

function startupSection({ groups }, redraw) {
  const started = groups.filter((group) => group.startup);
  if (!started.length) return [el("p", { class: "empty" }, "No start-up was measured in what passes the filters.")];
  const parts = DATA.phases.map(({ key, title }, slot) => ({ key, title, slot }));
  const { panels, more } = several(
    "startup",
    [...comparable(started).values()],
    (members) => {
      const rows = members.map((group) => ({
        name: contender(group),
        note: group.startup.note,
        parts: group.startup.phases.map(([key, value]) => ({ key, value })),
        seconds: sum(group.startup.phases),
      }));
      const profiled = members.filter((group) => group.startup.functions);
      return el(
        "div",
        { class: "panel" },
        el("h3", {}, members[0].identity.task),
        el("p", { class: "small muted" }, subtitle(members, started)),
        barTable(rows, parts, {
          unit: "to the first step",
          scaleTo: Math.max(...rows.map((row) => row.seconds)),
          say: duration,
        }),
        profiled.map(profileOf),
      );
    },
    redraw,
  );
  return [keyOf(parts, new Set(parts.map(({ key }) => key))), ...panels, more];
}

function profileOf(group) {
  const rows = group.startup.functions.map(([phase, name, own, cumulative, calls]) =>
    el(
      "tr",
      {},
      el("td", { class: "short" }, DATA.phases.find(({ key }) => key === phase)?.title ?? phase),
      el("td", { class: "text" }, el("code", {}, name)),
      [own, cumulative].map((value) => el("td", { class: "num" }, duration(value))),
      el("td", { class: "num" }, number(calls)),
    ),
  );
  const head = ["Phase", "Function", "Own time", "With its calls", "Calls"].map((title, i) =>
    el("th", { scope: "col", class: i > 1 ? "num" : null }, title),
  );
  return el(
    "details",
    {},
    el("summary", { class: "small" }, `Where ${contender(group)} spends its start (newest profile)`),
    el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows))),
  );
}

function loadSection({ groups, runs }, redraw) {
  const sampled = groups.filter((group) => runs.some((run) => run.group === group.id && run.load));
  if (!sampled.length)
    return [el("p", { class: "empty" }, "No journal with samples of memory and load stands beside these bundles.")];
  const dimensions = varying(sampled, CONTENDERS);
  const options = sampled.map((group) => String(group.id));
  const id = picked("load", options, options.at(-1));
  const members = runs.filter((run) => String(run.group) === id && run.load);
  const select = el(
    "select",
    { change: (event) => redraw("load", event.target.value) },
    sampled.map((group) =>
      el(
        "option",
        { value: String(group.id), selected: String(group.id) === id },
        [contender(group), describe(group, dimensions)].filter(Boolean).join(" · "),
      ),
    ),
  );
  const shared = family();
  const seeds = members
    .slice(0, 8)
    .map((run, i) => ({ name: `seed ${run.seed}, ${moment(run)}`, slot: i, style: 0, load: run.load }));
  const charts = DATA.loads.map(({ key, title, axis }) => {
    const series = seeds.filter((run) => run.load[key]).map((run) => ({ ...run, points: run.load[key] }));
    return series.length
      ? lineChart(
          {
            title,
            note: members.length > 8 ? `first 8 of ${members.length} runs` : null,
            x: { title: "seconds since the run's start", format: "tight", name: duration },
            y: { title: axis, zero: true },
            marks: "band",
            series,
          },
          shared,
        )
      : null;
  });
  return [
    el("div", { class: "controls" }, el("label", {}, "Runs of", select)),
    legend(seeds, shared.hidden, shared.charts),
    el("div", { class: "grid" }, charts.filter(Boolean)),
  ];
}
