// What the runs achieved: rankings, learning curves, throughput by library and engine, scaling.

function rankingSection({ groups }, redraw) {
  const ranked = groups.filter((group) => group.completed > 0);
  const tables = [...groupBy(ranked, ({ identity }) => JSON.stringify([identity.task, identity.workflow])).values()];
  if (!tables.length) return [el("p", { class: "empty" }, "No completed run passes the filters.")];
  const { panels, more } = several(
    "ranking",
    tables,
    (members) => {
      const { task, workflow } = members[0].identity;
      const names = DATA.rankings[workflow].filter((name) => members.some((group) => group.stats[name]));
      return el(
        "div",
        { class: "panel" },
        el("h3", {}, task),
        el("p", { class: "small muted" }, TITLES[workflow]),
        rankingTable(workflow, members, names),
      );
    },
    redraw,
  );
  return [...panels, more];
}

function rankingTable(workflow, members, names) {
  const among = varying(members, CONTENDERS);
  const blocks = [...comparable(members).values()].map((rows) => ({
    title: among.length ? describe(rows[0], among) : null,
    rows,
  }));
  const columns = [
    {
      key: "contender",
      title: contenderTitle(members),
      short: true,
      value: contender,
      cell: (group) => named(group, contender(group)),
    },
    {
      key: "runs",
      title: "Runs",
      unit: "completed",
      num: true,
      value: (group) => group.completed,
      cell: (group) =>
        group.completed < group.total
          ? el(
              "span",
              { title: `${group.total - group.completed} more did not complete` },
              `${group.completed} of ${group.total}`,
            )
          : number(group.completed),
    },
    ...names.map((name) => ({
      key: name,
      ...headOfMetric(name),
      num: true,
      value: (group) => group.stats[name]?.[0] ?? null,
      cell: (group) => statCell(group.stats[name]),
      classOf: (group) => (group.stats[name]?.[4] === "best" ? "best" : ""),
    })),
  ];
  const first = columns.find(({ key }) => key === names[0]);
  return dataTable({
    id: `ranking-${workflow}`,
    columns,
    blocks,
    caption: `Ranking, ${TITLES[workflow]}`,
    otherwise: { column: first.key, direction: first.better === "lower" ? "ascending" : "descending" },
  });
}

/** A name beside the colour of its library; however narrow the column, the two stay together. */
function named(group, name) {
  return el("span", { class: "named" }, el("span", { class: `swatch s${SLOTS(group).slot}` }), el("span", {}, name));
}

function curvesSection({ groups }, redraw) {
  const learned = groups.filter((group) => group.curves);
  if (!learned.length)
    return [el("p", { class: "empty" }, "No completed training with a learning curve passes the filters.")];
  const names = Object.keys(DATA.curves).filter((name) => learned.some((group) => group.curves[name]));
  const name = picked("curve", names, names[0]);
  const axis = picked("axis", ["steps", "seconds"], "steps");
  const seeds = picked("seeds", ["hide", "show"], "hide");
  const sets = [...comparable(learned.filter((group) => group.curves[name])).values()];
  const shared = family();
  const { panels, more } = several(
    "curves",
    sets,
    (members) => curveChart(members, { name, axis, withSeeds: seeds === "show", learned, shared }),
    redraw,
  );
  const series = learned.map((group) => ({ name: contender(group), ...SLOTS(group) }));
  return [
    el(
      "div",
      { class: "controls" },
      names.length > 1 &&
        choice(
          "Show",
          names.map((key) => [key, DATA.curves[key].title]),
          name,
          (value) => redraw("curve", value),
        ),
      choice(
        "against",
        [
          ["steps", "environment steps"],
          ["seconds", "seconds"],
        ],
        axis,
        (value) => redraw("axis", value),
      ),
      choice(
        "single seeds",
        [
          ["hide", "hidden"],
          ["show", "drawn"],
        ],
        seeds,
        (value) => redraw("seeds", value),
      ),
    ),
    legend(series, shared.hidden, shared.charts),
    el("div", { class: "grid" }, panels),
    more,
  ];
}

function curveChart(drawn, { name, axis, withSeeds, learned, shared }) {
  const series = drawn.map((group) => {
    const { points, lines } = group.curves[name][axis];
    return { name: contender(group), ...SLOTS(group), points, faint: withSeeds || points.length === 0 ? lines : [] };
  });
  const seeds = drawn.map((group) => group.curves[name].seeds);
  const [least, most] = [Math.min(...seeds), Math.max(...seeds)];
  const note = [subtitle(drawn, learned), least === most ? count(most, "seed") : `${least} to ${most} seeds`]
    .filter(Boolean)
    .join(" · ");
  return lineChart(
    {
      title: drawn[0].identity.task,
      note,
      x:
        axis === "steps"
          ? { title: "environment steps", format: "tight" }
          : { title: "seconds of training", format: "tight", name: (value) => duration(value) },
      y: { title: DATA.curves[name].axis },
      marks: "band",
      series,
      tip: (point) => (isNumber(point[2]) ? `${number(point[2])} – ${number(point[3])}` : "one seed"),
    },
    shared,
  );
}

function rateControl(names, name, redraw) {
  const titles = names.map((key) => [key, DATA.metrics[key].title]);
  return el("div", { class: "controls" }, choice("Rate", titles, name, (value) => redraw("rate", value)));
}

function throughputSection({ groups }, redraw) {
  const names = DATA.throughputs.filter((name) => groups.some((group) => group.stats[name]));
  if (!names.length) return [el("p", { class: "empty" }, "No throughput passes the filters.")];
  const name = picked("rate", names, names[0]);
  const measured = groups.filter((group) => group.stats[name]);
  const { panels, more } = several(
    "throughput",
    [...comparable(measured).values()],
    (members) => throughputTable(members, name, measured),
    redraw,
  );
  return [
    rateControl(names, name, redraw),
    el(
      "p",
      { class: "small muted" },
      `${DATA.metrics[name].help} Bars start at zero and share their scale within a table.`,
    ),
    el("div", { class: "grid" }, panels),
    more,
  ];
}

function throughputTable(members, name, all) {
  const engine = (group) =>
    [group.identity.physics, group.identity.rendering].filter((part) => part && part !== "none").join(" · ");
  const engines = [...new Set(members.map(engine))].sort();
  const rows = [...groupBy(members, (group) => group.identity.framework || "environment alone").entries()];
  const top = Math.max(...members.map((group) => group.stats[name][0]));
  const columns = [
    {
      key: "framework",
      title: "Library",
      short: true,
      value: ([framework]) => framework,
      cell: ([framework, list]) => named(list[0], framework),
    },
    ...engines.map((title) => {
      const at = ([, list]) => list.find((group) => engine(group) === title);
      return {
        key: title,
        title,
        unit: DATA.metrics[name].unit,
        num: true,
        better: "higher",
        value: (row) => at(row)?.stats[name][0] ?? null,
        cell: (row) =>
          at(row) ? [statCell(at(row).stats[name]), thinBar(at(row).stats[name][0] / top, SLOTS(at(row)).slot)] : "–",
        classOf: (row) => (at(row)?.stats[name][4] === "best" ? "best" : ""),
      };
    }),
  ];
  return el(
    "div",
    {},
    el("h3", {}, members[0].identity.task),
    el("p", { class: "small muted" }, subtitle(members, all)),
    dataTable({
      id: "throughput",
      columns,
      blocks: [{ rows }],
      caption: `${DATA.metrics[name].title} by library and engine`,
    }),
  );
}

function scalingSection({ groups }, redraw) {
  const names = DATA.throughputs.filter((name) => groups.some((group) => group.stats[name]));
  const name = picked("rate", names, names[0]);
  const measured = groups.filter((group) => group.stats[name] && isNumber(group.identity.num_envs));
  const sizes = (list) => [...new Set(list.map((group) => group.identity.num_envs))].sort((a, b) => a - b);
  const families = [...comparable(measured, ["num_envs"]).values()].filter((members) => sizes(members).length > 1);
  if (!families.length)
    return [el("p", { class: "empty" }, "No workload here ran with more than one number of environments.")];
  const shared = family();
  const series = families.flat().map((group) => ({ name: contender(group), ...SLOTS(group) }));
  const { panels, more } = several(
    "scaling",
    families,
    (members) =>
      lineChart(
        {
          title: members[0].identity.task,
          note: subtitle([{ ...members[0], identity: { ...members[0].identity, num_envs: null } }], families.flat()),
          x: { title: "environments", log: true, ticks: sizes(members), text: number },
          y: { title: `${DATA.metrics[name].title} [${DATA.metrics[name].unit}]`, log: true },
          marks: "whisker",
          series: [...groupBy(members, contender).entries()].map(([title, list]) => ({
            name: title,
            ...SLOTS(list[0]),
            points: list.map((group) => [group.identity.num_envs, ...group.stats[name]]).sort((a, b) => a[0] - b[0]),
          })),
          tip: (point) =>
            `${isNumber(point[2]) ? `${number(point[2])} – ${number(point[3])}, ` : ""}${count(point[4], "run")}`,
        },
        shared,
      ),
    redraw,
  );
  return [
    rateControl(names, name, redraw),
    legend(series, shared.hidden, shared.charts),
    el("div", { class: "grid" }, panels),
    more,
  ];
}
