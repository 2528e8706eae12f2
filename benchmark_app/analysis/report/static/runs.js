// Every run with its files, what could not be read, and the history.

function runsSection({ groups, runs }, redraw) {
  const byId = new Map(groups.map((group) => [group.id, group]));
  const identity = (run, key) => byId.get(run.group).identity[key];
  const wanted = state.find.toLowerCase();
  const found = wanted
    ? runs.filter((run) =>
        [
          run.name,
          run.file,
          run.command,
          run.reason,
          run.commit,
          run.status,
          ...Object.values(byId.get(run.group).identity),
        ].some((value) =>
          String(value ?? "")
            .toLowerCase()
            .includes(wanted),
        ),
      )
    : runs;
  const text = (key, title, extra = {}) => ({
    key,
    title,
    value: (run) => label(identity(run, key)),
    cell: (run) => label(identity(run, key)),
    ...extra,
  });
  const columns = [
    {
      key: "start",
      title: "Started",
      unit: "UTC",
      short: true,
      value: (run) => run.start,
      cell: (run) =>
        el(
          "button",
          {
            type: "button",
            class: "plain",
            "aria-expanded": String(state.run === run.name),
            click: () => {
              state.run = state.run === run.name ? null : run.name;
              redraw();
            },
          },
          moment(run),
        ),
    },
    {
      key: "status",
      title: "Status",
      short: true,
      value: (run) => run.status,
      cell: (run) => run.status,
      classOf: (run) => `status-${run.status}`,
    },
    text("workflow", "Workflow", { short: true }),
    text("task", "Task", { wide: true }),
    text("framework", "Library", { short: true }),
    text("physics", "Physics", { short: true }),
    {
      key: "num_envs",
      title: "Envs",
      num: true,
      value: (run) => identity(run, "num_envs"),
      cell: (run) => number(identity(run, "num_envs")),
    },
    { key: "seed", title: "Seed", num: true, value: (run) => run.seed, cell: (run) => String(run.seed) },
    ...DATA.columns.map((name) => ({
      key: name,
      ...headOfMetric(name),
      unit: DATA.metrics[name].unit,
      num: true,
      value: (run) => run.values[name] ?? null,
      cell: (run) => number(run.values[name]),
    })),
    {
      key: "file",
      title: "Files",
      short: true,
      value: (run) => run.file,
      cell: (run) => [fileLink(run.href, "bundle"), run.log && [", ", fileLink(run.log, "log")]],
    },
  ].filter(({ key }) => !DATA.dimensions.some((dimension) => dimension.key === key) || DIFFERENT.has(key));
  const search = el("input", {
    type: "search",
    value: state.find,
    placeholder: "Find in runs",
    "aria-label": "Find in runs",
    input: (event) => {
      state.find = event.target.value;
      redraw("find");
    },
  });
  return [
    el(
      "div",
      { class: "controls" },
      search,
      el(
        "span",
        {},
        found.length === runs.length
          ? count(runs.length, "run")
          : `${number(found.length)} of ${count(runs.length, "run")}`,
      ),
    ),
    found.length
      ? dataTable({
          id: "runs",
          columns,
          blocks: [{ rows: found }],
          caption: "Runs",
          otherwise: { column: "start", direction: "descending" },
          detail: (line, run, width) =>
            state.run === run.name
              ? [line, el("tr", { class: "detail" }, el("td", { colspan: width }, runDetail(run, byId.get(run.group))))]
              : line,
        })
      : el("p", { class: "empty" }, "No run matches."),
  ];
}

function runDetail(run, group) {
  const facts = [
    ["run", run.name],
    ["bundle", fileLink(run.href, run.file)],
    ["duration", duration(run.duration)],
    ["commit", run.commit],
    [
      "what it is",
      [
        contender(group),
        describe(
          group,
          DATA.dimensions.filter(({ key }) => group.identity[key] !== null && !CONTENDERS.includes(key)),
        ),
      ].join(" · "),
    ],
    ["ended because", run.reason],
    ["perturbed by", run.perturbed],
    ...Object.entries(run.values).map(([name, value]) => [
      DATA.metrics[name].title,
      [number(value), DATA.metrics[name].unit].filter(Boolean).join(" "),
    ]),
  ].filter(([, value]) => value);
  return [
    run.command && el("pre", { class: "command" }, run.command),
    el(
      "dl",
      {},
      facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
    ),
    run.tail && [el("p", { class: "small muted" }, "Last lines of the log"), el("pre", {}, run.tail)],
    run.media && el("div", { class: "media" }, mediaOf(run.media)),
  ];
}

/** A run's video, behind the picture that announces it; one that is too large for this file is a link. */
function mediaOf([shown, announcing]) {
  const { kind, source, href, name } = shown;
  const picture = announcing && announcing.source;
  if (source && kind === "image") return el("img", { src: source, alt: name, loading: "lazy" });
  if (source && kind === "video") {
    const behind = picture ? { poster: picture, preload: "none" } : { preload: "metadata" };
    return el("video", { src: source, controls: true, "aria-label": name, ...behind });
  }
  if (!picture) return el("p", {}, fileLink(href, name));
  return [
    fileLink(href, el("img", { src: picture, alt: `first picture of ${name}`, loading: "lazy" })),
    el("p", { class: "small" }, fileLink(href, name)),
  ];
}

function gallerySection({ runs }) {
  const filmed = runs.filter((run) => run.media);
  if (!filmed.length) return [el("p", { class: "empty" }, "No run that passes the filters has a video.")];
  return [
    el(
      "div",
      { class: "grid media" },
      filmed.map((run) => el("figure", {}, mediaOf(run.media), el("figcaption", {}, linkToRun(run)))),
    ),
  ];
}

function historySection({ groups }, redraw) {
  const shown = new Set(groups.map((group) => group.id));
  const offered = DATA.history.filter((line) => !state.filters.size || line.groups.some((id) => shown.has(id)));
  if (!offered.length) return [el("p", { class: "empty" }, "No history of what passes the filters.")];
  const names = [...new Set(offered.map((line) => line.metric))];
  const name = picked("history", names, names[0]);
  const charts = [
    ...groupBy(
      offered.filter((line) => line.metric === name),
      (line) => line.chart,
    ).values(),
  ];
  const { panels, more } = several("history", charts, (lines) => historyChart(lines, DATA.metrics[name]), redraw);
  const options = names.map((key) => [key, DATA.metrics[key].title]);
  return [
    el(
      "div",
      { class: "controls" },
      choice("Metric", options, name, (value) => redraw("history", value)),
    ),
    el("div", { class: "grid" }, panels),
    more,
  ];
}

function historyChart(lines, { title, unit }) {
  const { labels, task, note } = lines[0];
  return lineChart({
    title: task,
    note,
    x: {
      title: "commits, oldest to newest",
      format: "tight",
      whole: true,
      text: (at) => labels[at].slice(0, 7),
      name: (at) => labels[at],
    },
    y: { title: unit ? `${title} [${unit}]` : title },
    marks: "whisker",
    series: lines.map((line, i) => ({
      name: line.name,
      slot: i % 8,
      style: i % 4,
      points: line.points,
      worse: new Map(line.worse),
      flags: line.worse.map(([index]) => index),
    })),
    tip: (point, { points, worse }) => {
      const change = worse.get(points.indexOf(point));
      return [count(point[4], "run"), change && `step for the worse: ${change}`].filter(Boolean).join(", ");
    },
  });
}

/** Pairs of engines: the verdict, how long each joint stayed together, and the plot beside the result. */
function equivalenceSection() {
  const columns = [
    { key: "task", title: "Task", wide: true, value: (row) => row.task, cell: (row) => row.task },
    { key: "reference", title: "Reference", value: (row) => row.reference, cell: (row) => row.reference },
    { key: "physics", title: "Engine", value: (row) => row.physics, cell: (row) => row.physics },
    { key: "seed", title: "Seed", num: true, value: (row) => row.seed, cell: (row) => row.seed },
    {
      key: "verdict",
      title: "Verdict",
      wide: true,
      value: (row) => row.verdict,
      cell: (row) => [row.verdict, el("span", { class: "range" }, row.meaning)],
    },
    { key: "joints", title: "Joints", wide: true, cell: (row) => row.joints.map((joint) => el("div", {}, joint)) },
    {
      key: "files",
      title: "Files",
      cell: (row) => [
        fileLink(row.href, "result"),
        row.plot && [" · ", fileLink(row.plot, "plot")],
      ],
    },
  ];
  return [
    dataTable({ id: "equivalence", columns, blocks: [{ rows: DATA.equivalences }], caption: "Equivalence of engines" }),
  ];
}

function brokenSection() {
  return [
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", { scope: "col" }, "File"),
            el("th", { scope: "col" }, "Why it is not among the runs, or what to know"),
          ),
        ),
        el(
          "tbody",
          {},
          DATA.broken.map(({ path, reason }) =>
            el("tr", {}, el("td", { class: "text" }, path), el("td", { class: "text" }, reason)),
          ),
        ),
      ),
    ),
  ];
}

function methodSection() {
  const metrics = Object.values(DATA.metrics).map(({ title, unit, help }) => [
    el("dt", {}, title, unit && ` [${unit}]`),
    el("dd", {}, help),
  ]);
  return [
    el(
      "ul",
      {},
      DATA.notes.map((note) => el("li", {}, note)),
    ),
    el("details", {}, el("summary", {}, "What each number means"), el("dl", {}, metrics)),
  ];
}
