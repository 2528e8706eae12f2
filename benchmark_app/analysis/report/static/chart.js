// Line charts: axes with units, bands or whiskers for intervals, a legend that toggles, a tooltip for pointer and keys.

const DASHES = ["none", "6 3", "2 2.5", "8 3 2 3"];

/**
 * Draw a chart of lines.
 *
 * spec: {title, note, x: {title, log, ticks, whole, text, name}, y: {title, log, zero}, marks: "band" | "whisker",
 *        series: [{name, slot, style, points: [[x, y, low, high, n]], faint: [[[x, y]]], flags: [index]}],
 *        tip: (point, series) => text}
 */
function lineChart(spec, shared = null) {
  const { hidden, charts } = shared ?? family();
  const plot = el("div", { class: "plot", tabindex: "0", role: "img", "aria-label": summary(spec) });
  const figure = el(
    "figure",
    { class: "chart" },
    el("figcaption", {}, spec.title, spec.note && el("span", { class: "small" }, spec.note)),
    !shared && legend(spec.series, hidden, charts),
    plot,
  );
  let width = 0;
  const draw = (again) => {
    const now = plot.clientWidth || 560;
    if (now === width && !again) return;
    width = now;
    plot.replaceChildren(
      ...plotOf(
        spec,
        spec.series.filter((series) => !hidden.has(series.name)),
        width,
        plot,
      ),
    );
  };
  figure.draw = draw;
  charts.push(draw);
  new ResizeObserver(() => draw(false)).observe(plot);
  return figure;
}

function summary(spec) {
  const names = spec.series.map((series) => series.name).join(", ");
  return `${spec.title}: ${spec.y.title} against ${spec.x.title} for ${names}. Arrow keys read the values.`;
}

/** Charts that share a legend: what is hidden in one is hidden in all. */
function family() {
  return { hidden: new Set(), charts: [] };
}

/** Buttons that hide and show series, one for each name. */
function legend(series, hidden, charts) {
  const named = [...new Map(series.map((one) => [one.name, one])).values()];
  if (named.length < 2) return null;
  const buttons = named.map((series) =>
    el(
      "button",
      {
        type: "button",
        "aria-pressed": "true",
        class: `s${series.slot}`,
        click: (event) => {
          const shown = hidden.delete(series.name);
          if (!shown) hidden.add(series.name);
          event.currentTarget.setAttribute("aria-pressed", String(shown));
          for (const draw of charts) draw(true);
        },
      },
      svg(
        "svg",
        { width: 26, height: 10, "aria-hidden": "true" },
        svg("path", { class: "curve", d: "M0 5H26", "stroke-dasharray": DASHES[series.style] }),
        marker(13, 5, series.style),
      ),
      series.name,
    ),
  );
  return el("div", { class: "legend" }, buttons);
}

/** Circle, square, diamond or triangle. */
function marker(x, y, style, size = 3.4) {
  const shapes = [
    `M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`,
    `M${x - size} ${y - size}h${2 * size}v${2 * size}h${-2 * size}z`,
    `M${x} ${y - 1.3 * size}l${1.3 * size} ${1.3 * size}l${-1.3 * size} ${1.3 * size}l${-1.3 * size} ${-1.3 * size}z`,
    `M${x} ${y - 1.2 * size}l${1.2 * size} ${2.1 * size}h${-2.4 * size}z`,
  ];
  return svg("path", { class: "marker", d: shapes[style] });
}

function plotOf(spec, series, width, host) {
  const all = series.flatMap((one) => one.points.concat(...(one.faint || [])));
  if (!all.length) return [el("p", { class: "empty" }, "Nothing selected.")];
  const height = Math.round(Math.min(320, Math.max(210, width * 0.5)));
  const ys = all.flatMap((point) => point.slice(1, 4).filter(isNumber));
  const y = scale(ys, spec.y, [height - 38, 22], 5);
  const left = 14 + 6.3 * Math.max(...y.ticks.map((tick) => short(tick).length));
  const x = scale(
    all.map((point) => point[0]),
    spec.x,
    [left, width - 14],
    Math.max(3, Math.floor(width / 95)),
  );
  const frame = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  for (const tick of y.ticks) {
    frame.append(
      svg("path", { class: "gridline", d: `M${left} ${y.at(tick)}H${width - 14}` }),
      svg("text", { x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, short(tick)),
    );
  }
  for (const tick of x.ticks) {
    const near = width - 14 - x.at(tick) < 16 ? "end" : "middle";
    frame.append(
      svg("path", { class: "axis", d: `M${x.at(tick)} ${height - 38}v4` }),
      svg("text", { x: x.at(tick), y: height - 21, "text-anchor": near }, (spec.x.text ?? short)(tick)),
    );
  }
  frame.append(
    svg("path", { class: "axis", d: `M${left} ${height - 38}H${width - 14}` }),
    svg("text", { x: 0, y: 11 }, spec.y.title),
    svg("text", { x: width - 14, y: height - 5, "text-anchor": "end" }, spec.x.title),
  );
  for (const one of series) frame.append(curveOf(one, x, y, spec.marks));
  return [frame, ...tooltip(spec, series, x, y, frame, host, height)];
}

function curveOf(series, x, y, marks) {
  const layer = svg("g", { class: `s${series.slot}` });
  const path = (points) =>
    points.map(([a, b], i) => `${i ? "L" : "M"}${x.at(a).toFixed(1)} ${y.at(b).toFixed(1)}`).join("");
  const bounded = series.points.filter((point) => isNumber(point[2]) && isNumber(point[3]));
  if (marks === "whisker") {
    for (const point of bounded)
      layer.append(svg("path", { class: "whisker", d: `M${x.at(point[0])} ${y.at(point[2])}V${y.at(point[3])}` }));
  } else if (bounded.length > 1) {
    const back = bounded.map((point) => [point[0], point[2]]).reverse();
    layer.append(
      svg("path", {
        class: "band",
        d: `${path(bounded.map((point) => [point[0], point[3]]))}L${path(back).slice(1)}Z`,
      }),
    );
  }
  for (const line of series.faint || []) layer.append(svg("path", { class: "curve faint", d: path(line) }));
  layer.append(svg("path", { class: "curve", d: path(series.points), "stroke-dasharray": DASHES[series.style] }));
  if (marks === "whisker" || series.points.length < 3) {
    for (const point of series.points) layer.append(marker(x.at(point[0]), y.at(point[1]), series.style));
  }
  for (const index of series.flags || []) {
    const [a, b] = series.points[index];
    layer.append(svg("circle", { class: "flag", cx: x.at(a), cy: y.at(b), r: 7 }));
  }
  return layer;
}

/** Map values to pixels and choose round ticks. */
function scale(values, { log, zero, ticks, format, whole }, [from, to], wanted) {
  let [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  const logarithmic = log && low > 0;
  if (zero && !logarithmic) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high)
    [low, high] = logarithmic
      ? [low / 1.5, high * 1.5]
      : [low - (Math.abs(low) || 1) * 0.1, high + (Math.abs(high) || 1) * 0.1];
  const marks = ticks
    ? thin(ticks, wanted)
    : logarithmic
      ? logTicks(low, high)
      : linearTicks(low, high, wanted, whole ? 1 : 0);
  if (!ticks && !logarithmic && format !== "tight")
    [low, high] = [low - (low === 0 ? 0 : 0.04 * (high - low)), high + 0.04 * (high - low)];
  if (logarithmic) [low, high] = [low / 1.08, high * 1.08];
  const position = logarithmic ? Math.log : (value) => value;
  const [a, b] = [position(low), position(high)];
  return {
    at: (value) => from + ((position(value) - a) / (b - a)) * (to - from),
    ticks: marks.filter((tick) => tick >= low && tick <= high),
  };
}

function thin(ticks, wanted) {
  const every = Math.ceil(ticks.length / Math.max(2, wanted));
  return ticks.filter((_, i) => i % every === 0);
}

function linearTicks(low, high, wanted, least) {
  const rough = Math.max(least, (high - low) / wanted);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough * 0.999);
  const first = Math.floor(low / step + 1e-9);
  return Array.from({ length: Math.ceil(high / step - 1e-9) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}

function logTicks(low, high) {
  const factors = high / low > 1000 ? [1] : high / low > 30 ? [1, 3] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)) - 1; power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) ticks.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  const inside = ticks.filter((tick) => tick >= low && tick <= high);
  return inside.length > 1 ? inside : [low, high];
}

function tooltip(spec, series, x, y, frame, host, height) {
  const guide = svg("path", { class: "guide", visibility: "hidden" });
  frame.append(guide);
  const box = el("div", { class: "tooltip", hidden: true });
  const stops = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  let at = -1;
  const hide = () => {
    box.hidden = true;
    guide.setAttribute("visibility", "hidden");
    at = -1;
  };
  const show = (index) => {
    at = Math.max(0, Math.min(stops.length - 1, index));
    const px = x.at(stops[at]);
    guide.setAttribute("d", `M${px} 18V${height - 38}`);
    guide.setAttribute("visibility", "visible");
    box.replaceChildren(...tipOf(spec, series, stops[at], x));
    box.hidden = false;
    const scaled = px * (host.clientWidth / frame.viewBox.baseVal.width);
    const right = scaled > host.clientWidth / 2;
    const left = right ? scaled - box.offsetWidth - 12 : Math.min(scaled + 12, host.clientWidth - box.offsetWidth);
    box.style.left = `${Math.max(0, left)}px`;
    box.style.top = "18px";
  };
  host.onpointermove = (event) => {
    const px = ((event.clientX - host.getBoundingClientRect().left) * frame.viewBox.baseVal.width) / host.clientWidth;
    show(stops.reduce((best, stop, i) => (Math.abs(x.at(stop) - px) < Math.abs(x.at(stops[best]) - px) ? i : best), 0));
  };
  host.onpointerleave = hide;
  host.onblur = hide;
  host.onkeydown = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") hide();
    if (!step) return;
    event.preventDefault();
    show(at + step);
  };
  return [box];
}

function tipOf(spec, series, stop, x) {
  const rows = [];
  for (const one of series) {
    if (!one.points.length) continue;
    const point = one.points.reduce((best, next) =>
      Math.abs(next[0] - stop) < Math.abs(best[0] - stop) ? next : best,
    );
    if (Math.abs(x.at(point[0]) - x.at(stop)) < 6) rows.push([one, point]);
  }
  rows.sort((a, b) => b[1][1] - a[1][1]);
  const lines = rows
    .slice(0, 10)
    .map(([one, point]) =>
      el(
        "tr",
        {},
        el("td", {}, el("span", { class: `swatch s${one.slot}` }), one.name),
        el("td", { class: "num" }, number(point[1])),
        el("td", { class: "muted" }, spec.tip ? spec.tip(point, one) : ""),
      ),
    );
  const more = rows.length > 10 ? `and ${rows.length - 10} more` : "";
  const head = spec.x.name ? spec.x.name(stop) : `${(spec.x.text ?? short)(stop)} ${spec.x.title}`;
  return [el("div", { class: "muted" }, head), el("table", {}, el("tbody", {}, lines)), more];
}
