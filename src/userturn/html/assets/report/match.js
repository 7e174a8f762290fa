// What is sought in texts: words and parts of words, taken literally, or a regular expression.
function soughtOf(text, isPattern) {
  if (!text) return null;
  if (!isPattern) return { pattern: null, text: text.toLowerCase() };
  try {
    return { pattern: new RegExp(text, "giu"), text };
  } catch (error) {
    return { pattern: null, text, wrong: `“${text}” is not a regular expression (${error.message.split(": ").at(-1)}). Correct it, or clear “Regular expression” to search for these characters.` };
  }
}

// The places of what is sought in a text, from and to.
function* placesOf(text, { pattern, text: letters }) {
  if (pattern) {
    for (const { index, 0: found } of text.matchAll(pattern)) if (found) yield [index, index + found.length];
    return;
  }
  const lower = text.toLowerCase();
  if (lower.length !== text.length) return;
  for (let place = lower.indexOf(letters); place >= 0; place = lower.indexOf(letters, place + letters.length)) yield [place, place + letters.length];
}

// The text with every place of what was sought marked.
function marked(text, sought) {
  if (!sought) return [text];
  const parts = [];
  let from = 0;
  for (const [start, end] of placesOf(text, sought)) {
    parts.push(text.slice(from, start), make("mark", null, text.slice(start, end)));
    from = end;
  }
  return [...parts, text.slice(from)];
}

// A worker tries a regular expression, which can take for ever on a text, so that the page answers meanwhile.
const TRIES = "onmessage = ({ data: [n, source, texts] }) => { const pattern = new RegExp(source, 'iu'); postMessage([n, texts.map((some) => some.some((text) => pattern.test(text)))]); };";
const PATIENCE = 2000; // milliseconds for the turns of one file
let trying = null; // the worker
let nTried = 0;

function triedOn(texts, { text }) {
  trying ??= new Worker(URL.createObjectURL(new Blob([TRIES], { type: "text/javascript" })));
  const [worker, mine] = [trying, ++nTried];
  return new Promise((resolve, reject) => {
    const end = (act, value) => { clearTimeout(timer); worker.removeEventListener("message", take); act(value); };
    const take = ({ data: [n, found] }) => { if (n === mine) end(resolve, found); };
    const timer = setTimeout(() => {
      worker.terminate();
      if (trying === worker) trying = null;
      end(reject, new Error(`“${text}” takes too long: it was stopped after ${PATIENCE / 1000} seconds on ${plural(texts.length, "turn")}. A repetition inside a repetition, such as (a+)+, does so.`));
    }, PATIENCE);
    worker.addEventListener("message", take);
    worker.postMessage([mine, text, texts]);
  });
}

// Of each list of texts, whether one of them has what is sought.
async function haveSought(texts, sought) {
  if (sought.pattern) return texts.length ? triedOn(texts, sought) : [];
  return texts.map((some) => some.some((text) => text.toLowerCase().includes(sought.text)));
}
