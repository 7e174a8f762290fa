// Turns whose label is known, to learn the labels by. What is chosen here is kept nowhere.
let tried = { position: 0, nRight: 0 };
let offeredTo = null; // whoever begins is led to practice once

function openPractice() {
  offeredTo = state.annotator;
  tried = { position: 0, nRight: 0 };
  at("help").close();
  cover("practice");
  showPractice();
}

function showPractice() {
  const item = data.practice.turns[tried.position];
  at("practice-heading").textContent = `Practice: turn ${tried.position + 1} of ${data.practice.turns.length}`;
  at("practice-conversation").replaceChildren(...item.conversation.map(messageNode));
  at("practice-turn").textContent = item.turn || "(the turn is empty)";
  at("feedback").textContent = "";
  at("practice-next").hidden = true;
  at("practice-labels").hidden = false;
  at("practice-about").hidden = tried.position > 0;
  at("practice").scrollTo(0, 0);
  at("practice-heading").focus({ preventScroll: true });
  tellCovered(at("practice"));
}

function tryLabel(name) {
  const { turns } = data.practice;
  const item = turns[tried.position];
  const wanted = data.labels.find((label) => label.name === item.label);
  if (name === item.label) tried.nRight += 1;
  at("practice-labels").hidden = true;
  const isLast = tried.position === turns.length - 1;
  const result = isLast ? ` You chose the known label in ${tried.nRight} of ${turns.length}. None of this is kept.` : "";
  at("feedback").textContent = `${name === item.label ? "Yes:" : `You chose “${shownName(name)}”; the known label is`} “${wanted.shown}”. ${wanted.criterion}${result}`;
  at("practice-next").textContent = isLast ? "Begin to label" : "Next";
  at("practice-next").hidden = false;
  at("practice-next").focus();
  tellCovered(at("practice"));
}

function nextPractice() {
  tried.position += 1;
  if (tried.position < data.practice.turns.length) showPractice();
  else at("practice").close();
}

function practiceKey(event) {
  const name = /^[1-9]$/.test(event.key) ? names[Number(event.key) - 1] : undefined;
  if (name !== undefined && at("practice-next").hidden) tryLabel(name);
}

function buildPractice() {
  const { turns, about } = data.practice;
  at("open-practice").hidden = turns.length === 0;
  if (turns.length === 0) return;
  at("practice-about").textContent = about;
  at("practice-labels").append(...data.labels.map((label, index) => labelButton(label, index, tryLabel)));
  at("open-practice").addEventListener("click", openPractice);
  at("practice").addEventListener("scroll", () => tellCovered(at("practice")), { passive: true });
  window.addEventListener("resize", () => tellCovered(at("practice")), { passive: true });
  at("practice-next").addEventListener("click", nextPractice);
  at("practice-end").addEventListener("click", () => at("practice").close());
  at("help").addEventListener("close", () => { if (nDone() === 0 && offeredTo !== state.annotator) openPractice(); });
}
