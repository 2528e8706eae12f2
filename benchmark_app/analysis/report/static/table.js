// Tables that sort by a click on a column's head, and remember it in the address.

/**
 * Make a sortable table.
 *
 * columns: [{key, title, unit, help, num, short, wide, better: "higher" | "lower", value: (row) => sortable,
 *            cell: (row) => content, classOf: (row) => text}]
 * blocks: [{title, rows}]; rows are sorted inside their block.
 */
function dataTable({ id, columns, blocks, caption, otherwise, detail }) {
  const table = el("table", {}, caption && el("caption", { class: "skip" }, caption));
  const draw = () => {
    const sort = state.sorts.get(id) || otherwise || {};
    const head = el(
      "tr",
      {},
      columns.map((column) => headOf(column, sort, id, () => draw())),
    );
    const bodies = blocks.map(({ title, rows }) =>
      el(
        "tbody",
        {},
        title && el("tr", {}, el("th", { class: "set", colspan: columns.length, scope: "rowgroup" }, title)),
        sorted(rows, columns, sort).map((row) => rowOf(row, columns, detail)),
      ),
    );
    table.replaceChildren(...[...table.querySelectorAll("caption")], el("thead", {}, head), ...bodies);
  };
  draw();
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}

function headOf(column, sort, id, redraw) {
  const chosen = column.key === sort.column;
  const content = [
    el("span", { class: "name" }, column.title),
    column.unit && el("span", { class: "unit" }, column.unit),
  ];
  return el(
    "th",
    {
      scope: "col",
      class: column.num ? "num" : null,
      title: column.help,
      "aria-sort": chosen ? sort.direction : null,
      "data-column": column.key,
    },
    column.value
      ? el(
          "button",
          {
            type: "button",
            click: () => {
              state.sorts.set(id, nextSort(column, sort));
              writeAddress();
              redraw();
            },
          },
          content,
        )
      : content,
  );
}

/** The better end first, then the other way round. */
function nextSort(column, sort) {
  const first = column.better === "higher" || (column.num && column.better !== "lower") ? "descending" : "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  return { column: column.key, direction: sort.column === column.key && sort.direction === first ? second : first };
}

/** Rows by a column; what is missing comes last in either direction. */
function sorted(rows, columns, { column, direction }) {
  const by = columns.find(({ key, value }) => key === column && value);
  if (!by) return rows;
  const sign = direction === "descending" ? -1 : 1;
  const missing = (value) => value === null || value === undefined || value === "";
  return [...rows].sort((a, b) => {
    const [x, y] = [by.value(a), by.value(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    return (
      sign *
      (typeof x === "number" && typeof y === "number"
        ? x - y
        : String(x).localeCompare(String(y), "en", { numeric: true }))
    );
  });
}

function rowOf(row, columns, detail) {
  const cells = columns.map((column, i) =>
    el(
      i === 0 && !detail ? "th" : "td",
      { class: classOf(column, row), scope: i === 0 && !detail ? "row" : null },
      column.cell(row),
    ),
  );
  const line = el("tr", { class: "row" }, cells);
  return detail ? detail(line, row, columns.length) : line;
}

function classOf(column, row) {
  const names = [column.num && "num", column.short && "short", column.wide && "text", column.classOf?.(row)];
  return names.filter(Boolean).join(" ") || null;
}

/** Value of a statistic with its interval below. */
function statCell(stat, marks = true) {
  if (!stat) return "–";
  const [value, low, high, , mark] = stat;
  const range = isNumber(low) && isNumber(high) ? `${number(low)} – ${number(high)}` : null;
  return [
    marks && mark === "tie"
      ? el("span", { class: "mark", title: "not separable from the best with these samples" }, "≈ ")
      : null,
    number(value),
    range && el("span", { class: "range" }, range),
  ];
}
