// Who gives a turn which label: the judges, and people by their most frequent label.
const PEOPLE = "*people";
const raters = [...study.judges, ...(cells.some((cell) => cell.nPeople) ? [PEOPLE] : [])];
const raterName = (rater) => (rater === PEOPLE ? "people" : rater);

function mostFrequent(labels) {
  const counts = study.labels.map((_, label) => labels.filter((given) => given === label).length);
  const most = Math.max(...counts);
  return most > 0 && counts.filter((n) => n === most).length === 1 ? counts.indexOf(most) : null;
}

function labelBy(turn, rater) {
  return rater === PEOPLE ? mostFrequent(turn.people.map(({ label }) => label)) : turn.verdicts[study.judges.indexOf(rater)].label;
}

// A pair of labels as the address has it: "rater|label|rater|label". `NOT` is every label but that of a genuine follow-up.
const NOT = "*not";
const GENUINE = study.labels.findIndex((_, label) => isGenuine(label));
const labelOfName = (name) => (name === NOT ? NOT : study.labels.indexOf(name));
const pairedName = (label) => (label === NOT ? NOT : study.labels[label]);
const isLabel = (found, wanted) => found !== null && (wanted === NOT ? !isGenuine(found) : found === wanted);

function pairOf(text) {
  const [first, labelFirst, second, labelSecond] = (text ?? "").split("|");
  const pair = [[first, labelOfName(labelFirst)], [second, labelOfName(labelSecond)]];
  return pair.every(([rater, label]) => raters.includes(rater) && label !== -1) ? pair : null;
}

const pairAddress = (pair, query) => address(["search"], { ...query, pair: pair.map(([rater, label]) => `${rater}|${pairedName(label)}`).join("|") });
const placeOfPair = (names) => (names.every(([rater, label]) => raters.includes(rater) && study.labels.includes(label)) ? pairAddress(names.map(([rater, label]) => [rater, study.labels.indexOf(label)])) : null);
const pairName = (pair) => pair.map(([rater, label]) => `${raterName(rater)}: ${label === NOT ? "not genuine" : words(study.labels[label])}`).join("; ");
const fitsPair = (turn, pair) => pair === null || pair.every(([rater, label]) => isLabel(labelBy(turn, rater), label));
const mayHoldPair = (cell, pair) => pair === null || pair.every(([rater, label]) => (rater === PEOPLE ? cell.nPeople : total(cell.counts[study.judges.indexOf(rater)].filter((_, given) => isLabel(given, label)))) > 0);

// The pair that is sought, as a choice that can be taken back.
function pairControl() {
  return choice("pair", "pair of labels", [["", "Any pair"]]);
}

function setPair(form, query) {
  const select = form.elements.pair;
  const pair = pairOf(query.get("pair"));
  while (select.options.length > 1) select.remove(1);
  if (pair) select.append(new Option(pairName(pair), query.get("pair")));
}

function pairCounts(byCell, first, second, places) {
  const counts = study.labels.map(() => study.labels.map(() => 0));
  const [one, other] = [first, second].map((rater) => (rater === PEOPLE ? study.judges.length : study.judges.indexOf(rater)));
  for (const cell of places) {
    for (const [i, j, a, b, n] of byCell[cell.number]) {
      if (i === one && j === other) counts[a][b] += n;
      if (i === other && j === one) counts[b][a] += n;
    }
  }
  return counts;
}

function pairTable(counts, first, second, query) {
  const all = total(counts.flat());
  const square = (a, b) => {
    const n = counts[a][b];
    if (!n) return make("td", { class: "number soft" }, "·");
    const told = `${raterName(first)} ${words(study.labels[a])}, ${raterName(second)} ${words(study.labels[b])}: ${plural(n, "turn")}`;
    return make("td", { class: a === b ? "number same" : "number" }, make("a", { href: pairAddress([[first, a], [second, b]], query), "aria-label": told }, whole(n)));
  };
  const head = make("tr", null, make("th", { scope: "col" }, `${raterName(first)} ↓ ${raterName(second)} →`), study.labels.map((_, b) => make("th", { scope: "col" }, badge(b))));
  const body = study.labels.map((_, a) => make("tr", null, make("th", { scope: "row" }, badge(a)), study.labels.map((__, b) => square(a, b))));
  const missed = [[first, second], [second, first]].map(([one, other]) => missedLink(counts, one, other, one === first, query));
  const nSame = total(study.labels.map((_, a) => counts[a][a]));
  return [make("p", { class: "state", role: "status" }, `${plural(all, "turn")} with a label by both, ${all ? percent(nSame / all) : DASH} with the same one. Turns of this study as they are, without weights. Click a number to read its turns.`),
    make("p", null, missed.flatMap((link, i) => (i ? [" · ", link] : [link]))),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Turns by both labels" }, make("table", { class: "pairs" }, make("thead", null, head), make("tbody", null, body)))];
}

// The turns that one calls genuine and the other does not: those that a judge missed, beside people.
function missedLink(counts, one, other, isFirst, query) {
  const n = total(study.labels.map((_, label) => (isGenuine(label) ? 0 : isFirst ? counts[GENUINE][label] : counts[label][GENUINE])));
  return make("a", { href: pairAddress([[one, GENUINE], [other, NOT]], query) }, `Genuine by ${raterName(one)}, not by ${raterName(other)}: ${plural(n, "turn")}`);
}

function pairsView() {
  const place = make("div");
  const form = make("form", { class: "controls", "aria-label": "Whose labels, and where", input: () => go(["differ"], formValues(form)), submit: (event) => event.preventDefault() },
    choice("first", "labels by", raters.map((r) => [r, raterName(r)])), choice("second", "beside labels by", raters.map((r) => [r, raterName(r)])), placeControls());
  return {
    title: "Who disagrees",
    node: make("section", null, make("h1", { tabindex: "-1" }, "Who disagrees about which turns"), raters.length > 1 ? form : null, place),
    async update(query) {
      if (raters.length < 2) {
        place.replaceChildren(make("p", null, "One judge labelled the turns, and no person: there is nothing to compare."));
        return;
      }
      const [first, second] = [["first", raters[0]], ["second", raters.at(-1)]].map(([name, usual]) => (raters.includes(query.get(name)) ? query.get(name) : usual));
      setForm(form, query);
      form.elements.first.value = first;
      form.elements.second.value = second;
      try {
        const counts = pairCounts(await readFile("pairs"), first, second, cells.filter((cell) => isIn(cell, query)));
        const kept = Object.fromEntries(["model", "dataset", "t", "p"].map((name) => [name, query.get(name)]));
        place.replaceChildren(...pairTable(counts, first, second, kept));
      } catch (error) {
        place.replaceChildren(noticeOf(error));
      }
    },
  };
}
