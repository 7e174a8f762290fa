// Tables: each one's rows are a data file, read when it is opened; sorting and filtering take all rows.
const ROWS_AT_ONCE = 400;
const LONG = 24; // letters, from which a heading has room for more than a word a line
const MANY = 10; // columns, with more of which a table is set closer

// A number and its limits with as many decimals as each other: two, or more where the limits would be equal.
function alike([value, lower, upper]) {
  const width = upper - lower;
  const digits = width > 0 && width < 0.02 ? Math.min(5, Math.ceil(1 - Math.log10(width))) : 2;
  return [value, lower, upper].map((number) => decimal(number, digits));
}

const inOneLine = (text) => make("span", { class: "interval" }, text);
const limits = (text) => make("small", { class: "interval" }, text);

const KINDS = {
  text: ([value]) => value === null ? "" : unbroken(words(value)),
  count: ([value]) => whole(value),
  number: ([value, lower, upper]) => {
    if (value === null) return DASH;
    if (lower === undefined || lower === null) return String(Number(value.toPrecision(3))).replace("-", "−");
    const [told, ...ends] = alike([value, lower, upper]);
    return [told, limits(`[${ends.join(", ")}]`)];
  },
  interval: ([value, lower, upper]) => {
    if (value === null) return DASH;
    const [told, ...ends] = alike([value, lower ?? value, upper ?? value]);
    return [lower === null ? "no interval" : inOneLine(`[${ends.join(", ")}]`), make("small", null, `estimate ${told}`)];
  },
  "share or kappa": ([value, lower, upper, measure]) => KINDS[measure === "kappa" ? "number" : "share"]([value, lower, upper]),
  p: ([value]) => value === null ? DASH : value < 0.001 ? "<0.001" : fixed(value, 3),
  of: ([some, all]) => [whole(some), make("small", null, `of ${whole(all)}`)],
  share: ([value, lower, upper]) => [percent(value), limits(interval(lower, upper))],
  bounds: ([low, high]) => low === null ? DASH : inOneLine(`${percent(low)}, ${percent(high)}`),
  points: ([low, high]) => low === null ? DASH : inOneLine(interval(low, high)),
  change: ([value, lower, upper]) => value === null ? DASH : [signed(100 * value, 1), limits(interval(lower, upper))],
};

function inOrder(rows, column, falls) {
  if (column === null) return rows;
  return [...rows].sort((one, other) => {
    const [a, b] = [one[column][0], other[column][0]];
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    return falls ? -order : order;
  });
}

const hasWords = (sought, texts) => sought.every((word) => texts.some((text) => text.includes(word)));

function chosenRows(rows, columns, text) {
  const sought = text.toLowerCase().split(/\s+/).filter(Boolean);
  const named = columns.map(([, kind], i) => (kind === "text" ? i : -1)).filter((i) => i >= 0);
  if (!sought.length) return rows;
  return rows.filter((row) => hasWords(sought, named.map((i) => `${row[i][0] ?? ""} ${inWords(row[i][0] ?? "")}`.toLowerCase())));
}

const redrawn = new Set(); // what shows the rows of a table that was opened, again after another choice

// The unit of differences is in their heading.
const headed = (heading, kind) => (["change", "points"].includes(kind) && !heading.includes("points") ? `${heading}, points` : heading);

// What the values of a column are, beside the first: a table as CSV has a column for each, with all digits.
const LIMITED = ["", ", lower", ", upper", ", measure"];
const PARTS_OF_KIND = { of: ["", ", of"], bounds: [", lower", ", upper"], points: [", lower", ", upper"] };

function tableCsv(columns, rows) {
  const parts = columns.map(([heading, kind], i) => (PARTS_OF_KIND[kind] ?? LIMITED).slice(0, Math.max(1, ...rows.map((row) => row[i].length))).map((part) => heading + part));
  return csvOf([parts.flat(), ...rows.map((row) => parts.flatMap((names, i) => names.map((_, j) => row[i][j])))]);
}

// The columns of which any row has a value, the rows with these alone, and the headings of the others.
function filled({ columns, ...shown }, rows) {
  const has = columns.map((_, i) => rows.some((row) => row[i].some((value) => value !== null && value !== "")));
  const only = (values) => values.filter((_, i) => has[i]);
  return [{ ...shown, columns: only(columns) }, rows.map(only), columns.filter((_, i) => !has[i]).map(([heading]) => heading)];
}

function dataTable(shown, all) {
  const [{ name, title, columns }, rows, empty] = filled(shown, all);
  const state = { column: null, falls: false, sought: "", most: ROWS_AT_ONCE };
  const body = make("tbody");
  const told = make("p", { class: "soft", role: "status" });
  const more = make("button", { type: "button", click: () => { state.most += ROWS_AT_ONCE; show(); } }, `Show ${ROWS_AT_ONCE} more rows`);
  const isText = (i) => columns[i][1] === "text";
  const foundRows = () => inOrder(chosenRows(keptByBar(rows, columns), columns, state.sought), state.column, state.falls);
  function show() {
    const found = foundRows();
    body.replaceChildren(...found.slice(0, state.most).map((values) => make("tr", null, values.map((value, i) => make("td", { class: isText(i) ? "text" : "number" }, KINDS[columns[i][1]](value))))));
    const n = Math.min(state.most, found.length);
    told.textContent = n === rows.length ? "" : `${whole(n)} of ${plural(found.length, "row")}${found.length < rows.length ? ` that match, of ${whole(rows.length)}` : ""}`;
    more.hidden = n === found.length;
  }
  function sortBy(i, heading) {
    state.falls = state.column === i && !state.falls;
    state.column = i;
    for (const other of head.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", state.falls ? "descending" : "ascending");
    show();
  }
  const head = make("tr", null, columns.map(([heading], i) => make("th", { scope: "col", class: `${isText(i) ? "text" : "number"}${heading.length > LONG ? " long" : ""}` },
    make("button", { type: "button", click: (event) => sortBy(i, event.currentTarget.closest("th")) }, headed(heading, columns[i][1])))));
  const filter = make("label", { class: "choice" }, make("span", null, "Only rows with"), make("input", { type: "search", name: `filter-${name}`, placeholder: "words or a part of one", input: (event) => { state.sought = event.target.value; show(); } }));
  const save = make("button", { type: "button", click: () => download(tableCsv(columns, foundRows()), `${name}.csv`, "text/csv") }, "Save as CSV");
  show();
  redrawn.add(show);
  return [empty.length ? make("p", { class: "soft" }, `No row has a value of: ${empty.join("; ")}.`) : null,
    make("div", { class: "controls" }, rows.length > 10 ? filter : null, save, told),
    make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": title }, make("table", { class: columns.length > MANY ? "data many" : "data" }, make("thead", null, head), body)), more];
}

async function fillTable(details, shown) {
  if (details.childElementCount > 1) return;
  const place = make("div", null, make("p", { class: "state" }, "Loading"));
  details.append(make("p", { class: "soft" }, `${shown.about} `, inFolder(`tables/${shown.file}.csv`)), place, howMade(shown));
  try {
    const rows = await readFile(`table-${shown.name}`);
    place.replaceChildren(...(rows.length ? dataTable(shown, rows) : [make("p", { class: "soft" }, "The table is empty.")]).filter(Boolean));
  } catch (error) {
    place.replaceChildren(noticeOf(error));
  }
}

// A link to a file of the study's folder, in which this page lies.
const inFolder = (path) => make("a", { href: `../${path}`, title: "in the folder of the study, beside that of this page" }, make("code", null, `results/${path}`));

const FORMULAS = "docs/methods.md has the formulas.";

// How the numbers of a table were made, and the command that tells all of it.
function howMade({ file, rule, row, madeOf }) {
  return folded("How it was made", () => [make("p", null, `The rule ${rule} made it from ${madeOf.map(inWords).join(", ")}. A row is ${row}. `, make("code", null, `userturn why results/tables/${file}.csv`), ` says with which settings and inputs, and what makes it again. ${FORMULAS}`)]);
}

function showTable(name) {
  const details = at(`table-${name}`);
  for (const outer of [details, details?.parentElement.closest("details")]) if (outer) outer.open = true;
  details?.scrollIntoView();
}

// What has nothing to show is one line, which opens.
function fold(place, nodes, titled) {
  if (nodes.length) place.append(make("details", { class: "folded" }, make("summary", null, titled(nodes.length)), nodes));
}

function showTables() {
  const empty = [];
  study.tables.forEach((shown, i) => {
    if (!shown.columns) return;
    const details = make("details", { id: `table-${shown.name}` }, make("summary", null, make("span", null, shown.title), make("span", { class: "soft" }, plural(shown.n, "row"))));
    details.addEventListener("toggle", () => { if (details.open) fillTable(details, shown); });
    details.open = i === 0 && !shown.isEmpty;
    if (shown.isEmpty) empty.push(details);
    else at("tables").append(details);
  });
  fold(at("tables"), empty, (n) => `${plural(n, "table")} without a number`);
  const missing = study.tables.filter((shown) => !shown.columns).map(({ title }) => title);
  if (missing.length) at("tables").append(make("p", { class: "soft" }, `Tables that this study does not have: ${missing.join("; ")}`));
}

showTables();
