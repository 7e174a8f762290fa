// How a chart is laid out in a place of some width: panels beside or below each other, and as wide as there is room for.
const LEAST_PANEL = 110; // pixels; panels that would be narrower are put below each other
const BETWEEN = 30; // pixels between panels, with the numbers of an axis
const NARROW = 600; // pixels of a card, below which names in a legend are below each other
const LETTER = 7; // pixels of a letter on an axis
const WIDEST_SQUARE = 96; // pixels

const rowsOf = (chart) => Object.values(chart.datasets).flat();
const valuesIn = (rows, field) => [...new Set(rows.map((row) => row[field]))];

// How many panels of a chart fit beside each other.
function fitting(chart, width) {
  const labels = [chart.facet.row?.field, "people", "model"].filter(Boolean).map((field) => Math.max(0, ...valuesIn(rowsOf(chart), field).map((name) => String(name ?? "").length)));
  const beside = chart.facet.row && chart.facet.row.field !== "model" ? total(labels) : Math.max(...labels);
  return Math.max(1, Math.floor((width - LETTER * beside) / (LEAST_PANEL + BETWEEN)));
}

// A name as lines of at most so many letters, where it has spaces.
function inLines(name, letters) {
  return String(name).split(" ").reduce((lines, word) => {
    const longer = `${lines.at(-1)} ${word}`;
    return lines.length && longer.length <= letters ? [...lines.slice(0, -1), longer] : [...lines, word];
  }, []);
}

// Panels in rows and columns that do not fit become panels in reading order, each with both names.
function wrapped(chart, width) {
  const { row, column } = chart.facet;
  const rows = rowsOf(chart);
  if (row) {
    const place = (names, value) => (names?.includes(value) ? names.indexOf(value) : 1e6);
    const inOrder = [...rows].sort((a, b) => place(row.sort, a[row.field]) - place(row.sort, b[row.field]));
    const named = (one, { field }) => inLines(field === "perturbation" ? inWords(one[field]) : one[field], LEAST_PANEL / LETTER);
    for (const one of rows) one.panel = [...named(one, row), ...named(one, column)].join(" · ");
    chart.facet = { field: "panel", type: "nominal", title: null, sort: valuesIn(inOrder, "panel"), header: { labelExpr: "split(datum.label, ' · ')", labelLimit: LEAST_PANEL + BETWEEN } };
    chart.columns = Math.max(1, Math.floor(width / (LEAST_PANEL + BETWEEN + 20)));
  } else {
    chart.facet = { ...column };
    chart.columns = fitting({ ...chart, facet: {} }, width);
  }
  // No panel is far from its axis; one above the other, each has its names beside it as well.
  chart.resolve = { ...chart.resolve, axis: { ...chart.resolve?.axis, x: "independent", ...(chart.columns === 1 ? { y: "independent" } : {}) } };
  return chart.columns;
}

const panelsOf = (chart) => (chart.vconcat ?? chart.hconcat ?? []).flatMap((part) => (part.vconcat || part.hconcat ? panelsOf(part) : [part]));

const dataOf = (panel) => [panel.data?.name, ...(panel.layer ?? []).flatMap(dataOf)].filter(Boolean);
const hasModels = (chart, panel) => dataOf(panel).some((name) => chart.datasets[name].some((row) => "model" in row));

// Panels of different measures: as many beside each other as fit, all of one width; what is not chosen leaves no empty panel.
function besideEachOther({ vconcat, hconcat, ...chart }, width) {
  const all = panelsOf({ vconcat, hconcat });
  const some = all.filter((panel) => hasModels(chart, panel));
  const panels = some.length ? some : all;
  const columns = Math.min(vconcat?.[0].hconcat?.length ?? panels.length, Math.max(1, Math.floor(width / (1.5 * LEAST_PANEL))));
  for (const panel of panels) panel.width = Math.floor(width / columns) - 2 * BETWEEN;
  return { ...chart, concat: panels, columns };
}

// The chart as the page shows it: without a title, and with as many panels beside each other as fit.
function laidOut(chart, width) {
  delete chart.title;
  Object.assign(chart, { background: null, padding: 0 });
  if (panelsOf(chart).length > 1) {
    const beside = besideEachOther(chart, width);
    return [beside, beside.columns];
  }
  const column = chart.facet?.column;
  if (!column) return [chart, 1];
  const nPanels = valuesIn(rowsOf(chart), column.field).length;
  return [chart, fitting(chart, width) >= nPanels && !(chart.facet.row && width < NARROW) ? nPanels : Math.min(nPanels, wrapped(chart, width))];
}

// The least width of a panel: of one with names below it, what keeps them apart.
function leastWidth({ layer, ...panel }) {
  const x = (layer ?? [panel]).map(({ encoding }) => encoding?.x).find((found) => Array.isArray(found?.sort));
  return x ? x.sort.length * (x.axis?.labelAngle === -90 ? 12 : 24) : 60;
}

// Panels that are too wide are drawn again: a view grows by its signals, but does not shrink.
function narrowed(chart, missing) {
  for (const panel of chart.concat ?? [chart.spec ?? chart]) {
    if (typeof panel.width === "number") panel.width = Math.max(leastWidth(panel), panel.width + missing);
    else if (panel.width?.step) panel.width.step = Math.max(16, panel.width.step + missing / valuesIn(rowsOf(chart), "temperature").length);
  }
  return chart;
}

// Makes the panels as wide as the card has room for.
async function fill(view, missing) {
  const { signals } = view.getState({ signals: (name) => ["x_step", "child_width", "width"].includes(name), data: () => false });
  const panel = signals.child_width ?? signals.width;
  if (panel === undefined) return;
  if ("x_step" in signals) view.signal("x_step", Math.min(WIDEST_SQUARE, signals.x_step * Math.max(0.5, 1 + missing / panel)));
  else view.signal("child_width" in signals ? "child_width" : "width", Math.max(60, panel + missing));
  await view.resize().runAsync();
}

// All letters of a chart in one size, which is that of all charts.
const TYPE_SIZE = 12; // pixels
const inOneSize = (chart) => JSON.parse(JSON.stringify(chart, (key, value) => (/fontSize$/i.test(key) && typeof value === "number" ? TYPE_SIZE : value)));

// The names in each legend of a chart below each other.
const inOneColumn = (chart) => JSON.parse(JSON.stringify(chart, (key, value) => (key === "legend" && value ? { ...value, columns: 1 } : value)));
