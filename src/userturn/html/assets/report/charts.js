// Charts: Vega-Lite draws the figures without eval. The picture of each is for paper, and for a page without JavaScript.
// The chart of what is chosen: by the judge, with held values that are chosen, and the rows that fit.
function asChosen(original) {
  const chart = structuredClone(original.usermeta?.judges?.[judgeShown()] ?? original);
  const held = new Map((chart.params ?? []).map((param) => [param.name, param]));
  for (const [field, param] of held) if (chosen[field]?.length) param.value = typeof param.value === "number" ? Number(chosen[field][0]) : chosen[field][0];
  const asked = Object.keys(chosen).filter((field) => !held.has(field));
  for (const [name, rows] of Object.entries(chart.datasets)) chart.datasets[name] = rows.filter((row) => asked.every((field) => row[field] === null || row[field] === undefined || isChosen(field, row[field])));
  return chart;
}

// A name in a legend is a filter: of perturbations, or of the models of a family; a second click takes it back.
function chooseByLegend(value, rows) {
  const field = study.perturbations.includes(value) ? "perturbation" : "model";
  const names = field === "perturbation" ? [value] : study.models.filter((model) => rows.some((row) => row.model === model && (row.family === value || model === value)));
  if (names.length) choose(field, names.join() === chosen[field].join() ? [] : names);
}

// Where a mark leads: to its cell, to the cells of its model, or to the turns with its labels.
function placeOf({ model, dataset, temperature, perturbation, judge, people, label }) {
  if (people) return placeOfPair([[PEOPLE, people], [judge, label]]);
  const cell = cellByPath.get([model, dataset, `t${temperature}`, perturbation].join("/"));
  if (cell) return address(["cell", ...cell.path], judge && judge !== study.judge ? { judge } : {});
  return study.models.includes(model) ? address(["grid"], { model, p: perturbation, t: temperature }) : null;
}

const hoverBox = make("dl", { id: "hover", role: "tooltip", hidden: true });
document.body.append(hoverBox);

function showHover(told, x, y) {
  hoverBox.hidden = !told;
  if (!told) return;
  hoverBox.replaceChildren(...Object.entries(told).flatMap(([name, value]) => (value === null || value === "" || value === "null" ? [] : [make("dt", null, name), make("dd", null, words(value))])));
  const { width, height } = hoverBox.getBoundingClientRect();
  hoverBox.style.setProperty("left", `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`);
  hoverBox.style.setProperty("top", `${y + height + 18 > innerHeight ? y - height - 10 : y + 14}px`);
}

// One mark of a chart is a stop of the Tab key; the arrows lead to the others, Enter opens.
function walkable(place) {
  const drawnMarks = [...place.querySelectorAll(".role-mark [aria-roledescription]")].filter((node) => node.__data__?.tooltip);
  const kind = drawnMarks.some((node) => node.__data__.mark.marktype === "symbol") ? "symbol" : "rect";
  const marks = drawnMarks.filter((node) => node.__data__.mark.marktype === kind);
  for (const group of place.querySelectorAll("g.role-mark")) for (const name of ["role", "aria-roledescription"]) group.removeAttribute(name);
  for (const node of drawnMarks) if (placeOf(node.__data__.datum)) node.classList.add("opens");
  marks.forEach((node, i) => {
    const { tooltip, datum } = node.__data__;
    node.setAttribute("role", placeOf(datum) ? "link" : "img");
    node.removeAttribute("aria-roledescription");
    node.setAttribute("aria-label", Object.entries(tooltip).map(([name, value]) => `${name}: ${words(value)}`).join("; "));
    node.setAttribute("tabindex", i ? "-1" : "0");
    node.addEventListener("focus", () => { const box = node.getBoundingClientRect(); showHover(tooltip, box.right, box.bottom); });
    node.addEventListener("blur", () => showHover(null));
    node.addEventListener("keydown", (event) => walk(event, marks, i));
  });
}

function walk(event, marks, i) {
  const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -i, End: marks.length - 1 - i }[event.key];
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.key === "Enter") open(marks[i].__data__.datum);
  if (step === undefined) return;
  event.preventDefault();
  const next = marks[Math.min(marks.length - 1, Math.max(0, i + step))];
  marks[i].setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

function open(datum) {
  const place = placeOf(datum);
  if (!place) return;
  showHover(null);
  location.hash = place;
}

const OPTIONS = { ast: true, actions: false, renderer: "svg", defaultStyle: false, logLevel: 1 };

// Draws a chart into a place, as wide as it is.
async function drawInto(place, wanted, width) {
  const embed = await readFile("charts");
  const [chart, nPanels] = laidOut(inOneSize(width < NARROW ? inOneColumn(wanted) : wanted), width);
  const options = { ...OPTIONS, tooltip: (handler, event, item, told) => showHover(told || null, event.clientX, event.clientY) };
  const { view } = await embed(place, structuredClone(chart), options);
  const missing = () => Math.floor((width - place.querySelector("svg").width.baseVal.value) / nPanels);
  if (missing() > 0) for (let tries = 0; tries < 6 && missing() > 1; tries += 1) await fill(view, missing() - 1); // past a legend that is wider than the panels
  else for (let tries = 0; tries < 6 && missing() < 0; tries += 1) await embed(place, structuredClone(narrowed(chart, missing())), options); // past names on an axis that need more room then
}

async function drawChart(figure, name) {
  const place = figure.querySelector(".chart");
  const original = await readFile(`figure-${name}`);
  figure.classList.add("drawn");
  place.hidden = false;
  place.style.minHeight = `${place.offsetHeight}px`; // while it is drawn again, what follows stays where it is
  const wanted = asChosen(original);
  const rows = rowsOf(wanted);
  const held = (wanted.params ?? []).map(({ name, value }) => `${name} ${words(value)}`);
  const judge = [wanted.title?.subtitle].flat().some((line) => line?.startsWith("judge: ")) ? [`judge ${judgeShown()}`] : [];
  figure.querySelector("h3").replaceChildren(study.titles[name], " ", make("small", null, [...judge, ...held].join(", ")));
  if (rows.every((row) => "note" in row)) { // a sentence instead of a figure
    place.replaceChildren(make("p", { class: "soft" }, rows[0]?.note ?? "Nothing in this figure fits the filter."));
    onPaper(figure, place.firstChild.cloneNode(true));
    return;
  }
  const style = getComputedStyle(place);
  await drawInto(place, wanted, place.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
  place.onclick = ({ target }) => {
    const { datum, mark } = target.__data__ ?? {};
    if (mark?.role?.startsWith("legend")) chooseByLegend(datum.value, rowsOf(original));
    else if (datum) open(datum);
  };
  place.querySelector("svg").setAttribute("aria-label", figure.querySelector("h3").textContent);
  walkable(place);
  await drawOnPaper(figure, name, wanted);
}

async function tryToDraw(figure, name) {
  figure.querySelector(".notice")?.remove();
  try {
    await drawChart(figure, name);
  } catch (error) {
    figure.classList.remove("drawn");
    figure.querySelector(".chart").hidden = true;
    figure.append(make("p", { class: "notice" }, `The chart could not be drawn, so this is its picture: ${error.message}`));
  }
  figure.querySelector(".chart").style.minHeight = "";
  figure.classList.remove("waiting");
}

const drawn = new Map(); // name to the last drawing, done or not
let latestDrawing = Promise.resolve();
const drawing = make("p", { class: "soft drawing" }, "Drawing the figures");

async function whenShown() {
  while (at("report").hidden) await new Promise((again) => window.addEventListener("hashchange", again, { once: true }));
  await new Promise((rested) => setTimeout(rested)); // a click is answered between two figures
}

// All figures, one after the other, before a reader has scrolled to them; of a choice that is no longer shown, none.
function redrawCharts() {
  const wanted = choiceShown;
  for (const name of study.charts) {
    latestDrawing = latestDrawing.then(whenShown).then(() => (wanted === choiceShown ? tryToDraw(at(`figure-${name}`), name) : null));
    drawn.set(name, latestDrawing);
  }
  latestDrawing = latestDrawing.then(() => drawing.remove());
}

// A figure is on the page once it is drawn. What waits has no height, so that nothing moves when it is there.
function showFigures() {
  if (!study.charts.length) at("figures").append(make("p", { class: "soft" }, "This study has no figures."));
  for (const name of study.charts) {
    const figure = at(`figure-${name}`);
    figure.prepend(make("h3", null, study.titles[name]), make("div", { class: "chart", hidden: true }));
    figure.querySelector("figcaption").append(saveBar(figure, name), howDrawn(name));
    figure.classList.add("waiting");
  }
  if (study.charts.length) at("figures").append(drawing);
  fold(at("figures"), study.emptyFigures.map((name) => at(`figure-${name}`)), (n) => `${plural(n, "figure")} without data`);
}

showFigures();
