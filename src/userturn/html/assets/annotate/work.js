const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const names = data.labels.map((label) => label.name);
const ids = data.items.map((item) => item.id);
const known = new Set(ids);
const place = `userturn annotation ${data.round} ${data.digest}`;
const OF_A_TURN = ["labels", "notes", "unsure", "seconds"];
const fresh = (annotator) => ({ annotator, position: 0, labels: {}, notes: {}, unsure: {}, seconds: {}, changedAt: {}, changes: [] });
let state = fresh("");
let spent = 0; // milliseconds for which the turn of now was to be seen
let unsaved = false; // whether there is work that neither the browser nor a file keeps
const NOT_KEPT = "This browser cannot keep your work: save it as a file before you close the page.";
let since = null; // since when it is to be seen; null while it is covered

// Everybody's work in this browser, by name. It is read again before each change: another tab may
// have written since.
function kept() {
  let found = null;
  try { found = JSON.parse(localStorage.getItem(place)); } catch { /* nothing readable is kept */ }
  if (found && found.labels) return { last: found.annotator, people: { [found.annotator || "?"]: found } };
  return found && found.people ? found : { last: "", people: {} };
}

function remember() {
  catchUp();
  const all = kept();
  try {
    sessionStorage.setItem(place, JSON.stringify({ annotator: state.annotator, position: state.position }));
    localStorage.setItem(place, JSON.stringify({ last: state.annotator, people: { ...all.people, [state.annotator]: state } }));
    at("notice").textContent = "";
    unsaved = false;
  } catch {
    at("notice").textContent = NOT_KEPT;
    unsaved = nDone() > 0;
  }
  tabs.postMessage({ annotator: state.annotator, work: state });
}

// Tabs also tell each other: a browser's storage may be late, or lose what it had. A tab that begins asks.
const tabs = new BroadcastChannel(place);
tabs.addEventListener("message", ({ data: { annotator, work } }) => {
  if (!annotator || annotator !== state.annotator) return;
  if (!work) tabs.postMessage({ annotator, work: state });
  else if (take(work)) remember();
  show(false);
});

// Of each turn's label, note and mark the later change counts, so that no tab takes back what another
// has done meanwhile. A tab undoes its own changes alone. Returns whether this tab has something that the given work lacks.
function take(work) {
  const mine = { ...fresh(state.annotator), ...work };
  const found = new Set([mine, state].flatMap((work) => OF_A_TURN.flatMap((kind) => Object.keys(work[kind]))));
  for (const id of found) {
    for (const kind of OF_A_TURN) {
      if (stamp(mine, id, kind) < stamp(state, id, kind)) continue;
      const at = stamp(mine, id, kind);
      if (!at && !(id in mine[kind])) continue; // a page of before this kept no times: nothing says it was taken back
      put(id, kind, mine[kind][id] ?? null);
      if (at) state.changedAt[stampName(id, kind)] = at;
    }
  }
  return Object.entries(state.changedAt).some(([name, at]) => at > (mine.changedAt[name] || 0));
}

const catchUp = () => take(kept().people[state.annotator]);

// When something of a turn was last changed; its seconds change with its label.
const stampName = (id, kind) => `${id} ${kind === "seconds" ? "labels" : kind}`;
const stamp = (work, id, kind) => work.changedAt[stampName(id, kind)] || 0;
const touch = (id, kind) => { state.changedAt[stampName(id, kind)] = Date.now(); };

function beginAs(annotator) {
  const mine = kept().people[annotator];
  state = { ...fresh(annotator), ...mine, annotator };
  const here = ofThisTab();
  if (here?.annotator === annotator) state.position = here.position;
  state.position = Math.min(Math.max(0, state.position | 0), Math.max(0, ids.length - 1));
  remember();
  tabs.postMessage({ annotator });
  show(false);
  beginTurn();
  if (nDone() === 0) cover("help");
}

// Who labels in this tab and at which turn: another tab of the same person may be elsewhere.
function ofThisTab() {
  try { return JSON.parse(sessionStorage.getItem(place)); } catch { return null; }
}

// Only the time counts in which the turn is to be seen: not under a dialog, nor in a hidden tab.
function tick() {
  const now = Date.now();
  if (since !== null) spent += now - since;
  since = document.hidden || document.querySelector("dialog[open]") ? null : now;
}

function beginTurn() {
  tick();
  spent = 0;
}

function cover(dialog) {
  if (!at(dialog).open) at(dialog).showModal();
  tick();
}

// A private window or a full disk is told before the first label.
function tellWhereKept() {
  try {
    localStorage.setItem(`${place} trial`, "");
    localStorage.removeItem(`${place} trial`);
  } catch {
    at("where-kept").textContent = NOT_KEPT;
    at("where-kept").className = "warned";
  }
}

function askWho() {
  tellWhereKept();
  const all = kept();
  at("people").replaceChildren(...Object.keys(all.people).map((name) => new Option(name)));
  at("annotator").value = state.annotator ? "" : all.last || "";
  at("file").close();
  cover("who");
}
