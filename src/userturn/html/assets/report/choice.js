// The filter bar: what headline, figures and tables show. The choice lives in the address, so Back takes it back.
const FIELDS = { model: ["models", study.models], dataset: ["datasets", study.datasets], temperature: ["temperatures", study.temperatures], perturbation: ["perturbations", study.perturbations], judge: ["judges", study.judges] };
const chosen = Object.fromEntries(Object.keys(FIELDS).map((field) => [field, []])); // nothing stands for everything

const isChosen = (field, value) => !chosen[field].length || chosen[field].includes(String(value));
const chosenOr = (field, names) => (chosen[field].length ? chosen[field] : names);
const isFiltered = () => Object.values(chosen).some((names) => names.length);
// The headline is of one judge and one perturbation: the primary judge and no perturbation where they are among the chosen.
const judgeShown = () => (isChosen("judge", study.judge) ? study.judge : chosen.judge[0]);
const perturbationShown = () => chosenOr("perturbation", study.perturbations)[0];

// Rows of a table that fit the choice; what a row does not tell, it is not asked for.
function keptByBar(rows, columns) {
  const asked = Object.keys(chosen).map((field) => [field, columns.findIndex(([heading]) => heading === field)]).filter(([field, i]) => i >= 0 && chosen[field].length);
  return rows.filter((row) => asked.every(([field, i]) => row[i][0] === null || isChosen(field, row[i][0])));
}

const choiceAddress = (choice) => address([], Object.fromEntries(Object.entries(choice).map(([field, names]) => [field, names.join(",")])));

function choiceOf(query) {
  return Object.fromEntries(Object.entries(FIELDS).map(([field, [, names]]) => [field, names.filter((name) => (query.get(field) ?? "").split(",").includes(name))]));
}

// What the address tells and not `chosen`, which follows it later: a second choice may come before the first is shown.
function choose(field, names) {
  location.hash = choiceAddress({ ...choiceOf(parsed()[1]), [field]: FIELDS[field][1].filter((name) => names.includes(name)) });
}

function picker([field, [title, names]]) {
  if (names.length < 2) return null;
  const boxes = names.map((name) => make("label", { class: "check" }, make("input", { type: "checkbox", name: `only-${field}`, value: name }), words(name)));
  const options = make("div", { class: "options", role: "group", "aria-label": title, change: () => choose(field, new FormData(at("filter")).getAll(`only-${field}`)) }, boxes);
  return make("details", { class: "pick", "data-field": field }, make("summary", null, make("span", { class: "soft" }, title), " ", make("span", { class: "picked" })), options);
}

function showBar() {
  for (const details of at("filter").querySelectorAll("details")) {
    const { field } = details.dataset;
    const [, names] = FIELDS[field];
    const n = chosen[field].length;
    details.querySelector(".picked").textContent = n === 0 ? "All" : n === 1 ? words(chosen[field][0]) : `${n} of ${names.length}`;
    details.classList.toggle("some", n > 0);
    for (const box of details.querySelectorAll("input")) box.checked = chosen[field].includes(box.value);
  }
  at("clear").hidden = !isFiltered();
  at("shown").textContent = isFiltered() ? `${choiceInWords()}.` : "";
  document.body.classList.toggle("filtered", isFiltered());
}

const choiceInWords = () => `Shown: ${Object.entries(chosen).filter(([, names]) => names.length).map(([field, names]) => `${FIELDS[field][0]} ${names.map(words).join(", ")}`).join("; ")}`;

let choiceShown = null; // the address of what is shown

function showChoice(query) {
  Object.assign(chosen, choiceOf(query));
  const wanted = choiceAddress(chosen);
  if (wanted === choiceShown) return;
  const first = choiceShown === null;
  choiceShown = wanted;
  showBar();
  showHeadline();
  for (const show of redrawn) show();
  redrawCharts();
  if (!first) spoken(isFiltered() ? choiceInWords() : "Everything is shown.");
}

function closePickers(except) {
  for (const details of at("filter").querySelectorAll("details[open]")) if (details !== except) details.open = false;
}

at("filter").prepend(...Object.entries(FIELDS).map(picker).filter(Boolean));
at("filter").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("click", (event) => closePickers(event.target.closest("#filter details")));
document.addEventListener("keydown", (event) => {
  const details = event.key === "Escape" && document.activeElement.closest("#filter details[open]");
  if (!details) return;
  details.open = false;
  details.querySelector("summary").focus();
});
if (!at("filter").querySelector("details")) at("filter").hidden = true;
