const nDone = () => ids.reduce((n, id) => n + (id in state.labels ? 1 : 0), 0);
const current = () => ids[state.position];
const plural = (n, one) => `${n} ${n === 1 ? one : `${one}s`}`;
const shownName = (name) => data.labels.find((label) => label.name === name).shown;
const Unit = data.unit[0].toUpperCase() + data.unit.slice(1);
const turnsOf = (item) => item.turns || [item.turn];
const say = (text) => { at("spoken").textContent = text; };

const SHOWN_AT_ONCE = 50_000; // characters: a browser takes seconds to lay out a million
const asked = new Set(); // long texts that somebody asked to see in full

// A text, of which a long one is shown in full when it is asked for.
function putText(block, text, empty) {
  const isCut = text.length > SHOWN_AT_ONCE && !asked.has(text);
  block.textContent = (isCut ? text.slice(0, SHOWN_AT_ONCE) : text) || empty;
  block.classList.toggle("nothing", !text);
  if (block.nextElementSibling?.className === "more") block.nextElementSibling.remove();
  if (!isCut) return;
  const more = document.createElement("button");
  more.type = "button";
  more.className = "more";
  more.textContent = `Show all ${text.length.toLocaleString("en")} characters`;
  more.addEventListener("click", () => { asked.add(text); putText(block, text, empty); });
  block.after(more);
}

function messageNode(message) {
  const part = document.createElement("article");
  part.className = "message";
  const heading = document.createElement("h2");
  heading.textContent = { user: "User", assistant: "Assistant", system: "System" }[message.role] || message.role;
  const block = document.createElement("div");
  block.className = "text";
  block.dir = "auto";
  part.append(heading, block);
  putText(block, message.text, "(empty)");
  return part;
}

// Whether a part of what is to be labelled is still below the labels, where these stay in view.
function tellCovered(place = document.querySelector("main")) {
  const ends = [...place.querySelectorAll(".turn")].map((part) => part.getBoundingClientRect().bottom);
  const top = place.querySelector("fieldset").getBoundingClientRect().top;
  place.querySelector(".covered").classList.toggle("seen", Math.max(...ends) <= top + 1);
}

function labelButton(label, index, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "label";
  button.value = label.name;
  button.setAttribute("aria-keyshortcuts", String(index + 1));
  const parts = [["kbd", "", String(index + 1)], ["span", "name", label.shown], ["span", "criterion", label.criterion]];
  for (const [tag, kind, text] of parts) {
    const part = document.createElement(tag);
    part.className = kind;
    part.textContent = text;
    button.append(part);
  }
  button.addEventListener("click", () => act(label.name));
  return button;
}

function show(moved) {
  const item = data.items[state.position];
  at("conversation").replaceChildren(...(item ? item.conversation : []).map(messageNode));
  document.querySelectorAll(".shown").forEach((part, place) => {
    putText(part, item ? turnsOf(item)[place] : "", item ? "(the turn is empty)" : `This round has no ${data.unit}s.`);
  });
  const chosen = state.labels[current()];
  for (const button of at("labels").children) {
    button.setAttribute("aria-pressed", String(button.value === chosen));
    button.disabled = !item;
  }
  if (document.activeElement !== at("notes")) at("notes").value = state.notes[current()] || "";
  at("unsure").checked = Boolean(state.unsure[current()]);
  at("unsure").disabled = !item;
  at("notes").disabled = !item;
  const done = nDone();
  at("number").textContent = item ? `${state.position + 1} of ${ids.length}` : "";
  at("count").textContent = `${done} of ${ids.length} labelled`;
  at("progress").max = Math.max(1, ids.length);
  at("progress").value = done;
  at("undo").disabled = state.changes.length === 0;
  at("back").disabled = state.position === 0;
  at("forward").disabled = state.position >= ids.length - 1;
  at("open").disabled = done === ids.length;
  if (moved) {
    beginTurn();
    window.scrollTo(0, 0);
    at("turn-heading").focus({ preventScroll: true });
    document.querySelector(".pair, .turn").scrollIntoView({ block: "nearest" });
  }
  tellCovered();
}

function go(position) {
  if (position < 0 || position >= ids.length) return;
  catchUp();
  state.position = position;
  remember();
  show(true);
}

function put(id, kind, value) {
  if (value === null || value === "" || value === false) delete state[kind][id];
  else state[kind][id] = value;
}

function change(id, kind, value) {
  state.changes.push([id, kind, state[kind][id] ?? null]);
  touch(id, kind);
  if (state.changes.length > 500) state.changes.shift();
  put(id, kind, value);
}

function choose(name) {
  const id = current();
  if (id === undefined) return;
  catchUp();
  change(id, "labels", name);
  tick();
  state.seconds[id] = Math.round(((state.seconds[id] || 0) + spent / 1000) * 10) / 10;
  spent = 0;
  const isLast = state.position === ids.length - 1;
  if (!isLast) state.position += 1;
  remember();
  show(!isLast);
  const done = nDone();
  say(done === ids.length ? `All ${data.unit}s are labelled. Save your work as a file.` : `${shownName(name)}. ${Unit} ${state.position + 1} of ${ids.length}.`);
  if (done === ids.length) openFile();
}

function markUnsure(isUnsure) {
  const id = current();
  if (id === undefined) return;
  catchUp();
  change(id, "unsure", isUnsure);
  remember();
  show(false);
  say(isUnsure ? "Not sure." : "Sure.");
}

function undo() {
  catchUp();
  const last = state.changes.pop();
  if (!last) return;
  const [id, kind, before] = last;
  touch(id, kind);
  put(id, kind, before);
  state.position = ids.indexOf(id);
  remember();
  show(true);
  say(`Undone. ${Unit} ${state.position + 1} of ${ids.length}.`);
}

function goToOpen() {
  for (let step = 1; step <= ids.length; step += 1) {
    const position = (state.position + step) % ids.length;
    if (!(ids[position] in state.labels)) return go(position);
  }
  return undefined;
}
