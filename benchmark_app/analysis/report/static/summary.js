// The first screen: what to be careful about, who leads, what was run and on what.

function warningsSection({ runs }) {
  const shown = new Set(runs.map((run) => run.id));
  const notices = DATA.notices.filter((notice) => !notice.runs.length || notice.runs.some((id) => shown.has(id)));
  if (!notices.length) return [el("p", { class: "empty" }, "Nothing in these bundles speaks against their numbers.")];
  return [
    el(
      "ul",
      { class: "notices" },
      notices.map((notice) => noticeItem(notice)),
    ),
  ];
}

function noticeItem({ level, title, detail, runs }) {
  const links = runs.slice(0, 4).map((id) => linkToRun(DATA.runs[id]));
  const more = runs.length > links.length ? ` and ${runs.length - links.length} more` : "";
  const list = links.flatMap((link, i) => (i ? ["; ", link] : [link]));
  return el(
    "li",
    { class: level },
    el("b", {}, title),
    detail && el("p", {}, detail),
    links.length > 0 && el("p", {}, "Runs: ", list, more),
  );
}

function linkToRun(run) {
  const { workflow } = DATA.groups[run.group].identity;
  return el(
    "a",
    { href: address({ section: "runs", run: run.name }) },
    `${workflow}, ${contender(DATA.groups[run.group])}, seed ${run.seed}, ${moment(run)}`,
  );
}

function leadersSection({ groups }) {
  const rows = [];
  for (const members of comparable(groups).values()) {
    const contested = DATA.headlines[members[0].identity.workflow].filter((name) =>
      members.some((group) => group.stats[name]?.[4]),
    );
    if (contested.length) rows.push({ members, contested });
  }
  if (!rows.length)
    return [
      el(
        "p",
        { class: "empty" },
        "No two libraries or engines ran the same workload here, so there is no one to lead.",
      ),
    ];
  return [...groupBy(rows, (row) => row.members[0].identity.workflow).entries()].map(([workflow, sets]) => {
    const among = varying(
      sets.map((set) => set.members[0]),
      [...CONTENDERS, "task"],
    );
    const names = DATA.headlines[workflow].filter((name) => sets.some((set) => set.contested.includes(name)));
    const columns = [
      {
        key: "task",
        title: "Task",
        wide: true,
        value: (set) => set.members[0].identity.task,
        cell: (set) => [
          set.members[0].identity.task,
          el("span", { class: "small muted" }, among.length > 0 && ` ${describe(set.members[0], among)}`),
        ],
      },
      ...names.map((name) => ({
        key: name,
        ...headOfMetric(name),
        wide: true,
        cell: (set) => leaderCell(set.members, name),
      })),
    ];
    return el(
      "div",
      { class: "panel" },
      el("h3", {}, TITLES[workflow]),
      dataTable({
        id: `leaders-${workflow}`,
        columns,
        blocks: [{ rows: sets }],
        caption: `Leaders, ${TITLES[workflow]}`,
      }),
    );
  });
}

function headOfMetric(name) {
  const { title, unit, help, better } = DATA.metrics[name];
  return { title, unit: [unit, better && `${better} is better`].filter(Boolean).join(", "), help, better };
}

function leaderCell(members, name) {
  const best = members.filter((group) => group.stats[name]?.[4] === "best");
  if (!best.length) return noLeader(members.map((group) => group.stats[name]).filter((stat) => stat?.[4]));
  const ties = members.filter((group) => group.stats[name]?.[4] === "tie");
  const rivals = members.filter((group) => group.stats[name]).length - best.length;
  const doubt =
    ties.length > 2
      ? `not separable from ${ties.length} of ${rivals} others`
      : `not separable from ${ties.map(contender).join(", ")}`;
  return [
    el("b", {}, best.map(contender).join(", ")),
    ` ${number(best[0].stats[name][0])}`,
    el("span", { class: "range", title: ties.map(contender).join("\n") }, ties.length ? doubt : "clear of the others"),
  ];
}

/** Why nobody is named: all have the same value, or whoever is ahead has too few runs. */
function noLeader(stats) {
  if (!stats.length) return el("span", { class: "muted" }, "–");
  const [first] = stats;
  const equal = stats.every((stat) => stat[0] === first[0]);
  return ["no leader", el("span", { class: "range" }, equal ? `all ${number(first[0])}` : "too few runs to name one")];
}

function setupSection({ groups, runs }) {
  const statuses = ["completed", "interrupted", "crashed"];
  const byGroup = new Map(groups.map((group) => [group.id, group]));
  const perTask = [...groupBy(runs, (run) => byGroup.get(run.group).identity.task).entries()];
  const distinct = (list, key) =>
    [...new Set(list.map((run) => byGroup.get(run.group).identity[key]))]
      .filter((value) => value !== null)
      .map(String)
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  const columns = [
    { key: "task", title: "Task", wide: true, value: ([task]) => task, cell: ([task]) => task },
    {
      key: "runs",
      title: "Runs",
      num: true,
      value: ([, list]) => list.length,
      cell: ([, list]) => number(list.length),
    },
    ...statuses.map((status) => ({
      key: status,
      title: status,
      num: true,
      value: ([, list]) => list.filter((run) => run.status === status).length,
      cell: ([, list]) => {
        const n = list.filter((run) => run.status === status).length;
        return el("span", { class: n && status !== "completed" ? `status-${status}` : "" }, number(n));
      },
    })),
    ...[
      ["workflow", "Workflows"],
      ["framework", "Libraries"],
      ["physics", "Physics"],
      ["num_envs", "Environments"],
    ].map(([key, title]) => ({ key, title, wide: true, cell: ([, list]) => distinct(list, key).join(", ") })),
    {
      key: "seeds",
      title: "Seeds",
      num: true,
      value: ([, list]) => new Set(list.map((run) => run.seed)).size,
      cell: ([, list]) => number(new Set(list.map((run) => run.seed)).size),
    },
  ];
  const machines = DATA.machines.map((machine) =>
    el(
      "div",
      {},
      el("h3", {}, machine.name),
      el(
        "dl",
        {},
        machine.facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
      ),
    ),
  );
  return [
    dataTable({ id: "setup", columns, blocks: [{ rows: perTask }], caption: "What was run" }),
    el(
      "div",
      { class: "grid panel" },
      machines,
      el(
        "div",
        {},
        el("h3", {}, "Software"),
        el(
          "dl",
          {},
          DATA.software.flatMap(([name, versions]) => [
            el("dt", {}, name),
            el("dd", { class: versions.length > 1 ? "warn" : null }, versions.join(", ")),
          ]),
        ),
      ),
    ),
  ];
}
