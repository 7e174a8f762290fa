const reveal = () => document.documentElement.classList.remove("starting");

// The address decides what is shown: every view can be linked, and the browser's own back works.
let shown = { key: null };
const scrolled = new Map(); // address to the place where a reader left it
let latest = location.hash; // the address that is shown

function later(act) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(act, 150); };
}

function go(path, query) {
  location.replace(address(path, query));
}

function parsed() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  try {
    return [path.split("/").filter(Boolean).map(decodeURIComponent), new URLSearchParams(query)];
  } catch {
    return [["?"], new URLSearchParams()];
  }
}

function missingView(what) {
  return { title: "Not found", node: make("section", null, make("h1", { tabindex: "-1" }, "Not here"), make("p", null, `This study has no ${what}.`), make("p", null, make("a", { href: "#/grid" }, "All cells"))), update() {} };
}

function viewOf([kind, ...parts]) {
  if (kind === "grid") return gridView();
  if (kind === "search") return searchView();
  if (kind === "sides") return sidesView();
  if (kind === "differ") return pairsView();
  if (kind === "likelihood") return likelihoodView();
  const cell = cellByPath.get(parts.slice(0, 4).join("/"));
  if (kind === "cell" || kind === "turn") {
    if (!cell) return missingView(`cell ${parts.slice(0, 4).join(" · ")}`);
    return kind === "cell" ? cellView(cell) : turnView(cell, parts[4] ?? "", Number(parts[5] ?? 0));
  }
  return missingView("such part");
}

const FIRST = 1500; // milliseconds that the first screen waits for its two turns

async function showFirstScreen() {
  await Promise.race([showExamples(), new Promise((late) => setTimeout(late, FIRST))]);
  reveal();
}

function showPart(part, table, before) {
  const target = part ? at(`part-${part}`) : null;
  if (table) showTable(table);
  else if (target) target.scrollIntoView();
  else if (before !== null && before !== "") window.scrollTo(0, 0);
}

// An entry of the history that was shown before is shown again where the reader left it.
function wasShown() {
  const { seen } = history.state ?? {};
  history.replaceState({ seen: true }, "");
  return seen === true;
}

async function route() {
  const mine = latest;
  const place = wasShown() ? scrolled.get(location.hash) : undefined;
  const [parts, query] = parsed();
  const isReport = parts.length === 0 || ["main", "figures", "tables"].includes(parts[0]);
  const key = isReport ? "" : parts.join("/");
  at("report").hidden = !isReport;
  at("view").hidden = isReport;
  const current = isReport ? "report" : ["sides", "search", "differ", "likelihood"].includes(parts[0]) ? parts[0] : "grid";
  for (const link of document.querySelectorAll("nav [data-part]")) link.toggleAttribute("aria-current", link.dataset.part === current);
  if (parts[0] === "main") at("main").focus();
  if (isReport) showChoice(query);
  const before = shown.key;
  if (key !== before) {
    shown.view?.leave?.();
    const view = isReport ? null : viewOf(parts);
    shown = { key, view };
    document.title = view ? `${view.title} · userturn` : [study.about[0], "userturn report"].filter(Boolean).join(" · ");
    at("view").replaceChildren(...(view ? [view.node] : []));
    if (view) {
      reveal();
      window.scrollTo(0, 0);
      if (before !== null) view.node.querySelector("h1").focus({ preventScroll: true });
    }
  }
  await (isReport ? showFirstScreen() : shown.view.update(query));
  if (latest !== mine) return; // the reader went on
  if (isReport) showPart(parts[0], parts[1], before);
  if (place !== undefined) window.scrollTo(0, place);
}

// Views that have nothing to show are not in the menu; their addresses say so.
for (const [part, isThere] of [["sides", hasSides], ["differ", raters.length > 1], ["likelihood", followUps.length > 0 || cells.some((cell) => cell.nGains)]]) document.querySelector(`nav [data-part=${part}]`).hidden = !isThere;
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, textarea") || event.altKey || event.ctrlKey || event.metaKey) return;
  const link = document.querySelector(`#view [data-key="${CSS.escape(event.key)}"]`);
  if (link) link.click();
});
history.scrollRestoration = "manual"; // within the report the browser would scroll before a view has its rows
window.addEventListener("pagehide", () => { history.scrollRestoration = "auto"; }); // it knows best after a reload
window.addEventListener("hashchange", () => {
  scrolled.set(latest, window.scrollY);
  latest = location.hash;
  route();
});
route();
