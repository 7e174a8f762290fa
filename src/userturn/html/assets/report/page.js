// The one place where elements are made: every text goes in as text, and no attribute is markup.
const study = JSON.parse(document.getElementById("study").textContent);
const at = (id) => document.getElementById(id);

function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else if (name.startsWith("--")) node.style.setProperty(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const noticeOf = (error) => make("p", { class: "notice" }, error.message);

const DASH = "–";
const configured = new Set([...study.models, ...study.datasets, ...study.perturbations, ...study.judges].map(String));
const inWords = (name) => study.labelNames[name] ?? String(name).replaceAll("_", " ");
const words = (name) => (configured.has(String(name)) ? String(name) : inWords(name)); // what one types is shown as one types it
const whole = (n) => (n === null || n === undefined ? DASH : n.toLocaleString("en"));
const plural = (n, one, many) => `${whole(n)} ${n === 1 ? one : many ?? `${one}s`}`;

// A number as Python writes it in figures and commands: a tie goes to the even digit, 12.5 to 12 and 13.5 to 14.
function fixed(value, digits) {
  const [rounded, exact] = [value.toFixed(digits), value.toFixed(100)];
  const end = exact.indexOf(".") + (digits ? digits + 1 : 0);
  const isTie = /^\.?50*$/.test(exact.slice(end));
  return isTie && Number(rounded.at(-1)) % 2 ? exact.slice(0, end) : rounded;
}

const decimal = (value, digits = 2) => fixed(value, digits).replace(/^-(?=.*[1-9])/, "−").replace("-", ""); // no minus zero
const signed = (value, digits = 2) => `${value < 0 ? "−" : "+"}${fixed(Math.abs(value), digits)}`;
const spoken = (text) => { at("spoken").textContent = text; };
const isGenuine = (label) => study.labels[label] === "genuine_followup";

function percent(share, digits = 1) {
  return share === null || share === undefined ? DASH : `${fixed(100 * share, digits)}%`;
}

const inPoints = (share) => decimal(100 * share, 1);

function interval(lower, upper) {
  return lower === null || lower === undefined ? "" : `[${inPoints(lower)}, ${inPoints(upper)}]`;
}

// A text whose estimates stay on one line with their intervals: 0.76 [0.68, 0.81].
function unbroken(text) {
  return text.split(/((?:[^\s[]+ )?\[[^\s[\]]+, [^\s[\]]+\])/).map((part, i) => (i % 2 ? make("span", { class: "interval" }, part) : part));
}

// The address of a view: path and query behind the hash, so that links can be shared.
function address(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  const text = new URLSearchParams(kept.map(([name, value]) => [name, value === true ? "1" : value])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

// What a label is drawn in; null stands for a turn without a verdict.
const hueNumber = (label) => (label === null ? "none" : Math.min(label, 7));

function patterned(label, attributes) {
  return make("i", { class: `pattern pattern-${hueNumber(label)}`, "--hue": `var(--label-${hueNumber(label)})`, ...attributes });
}

function badge(label, attributes) {
  const text = label === null ? "Unscored" : words(study.labels[label]);
  return make("span", { class: "badge", title: study.criteria[study.labels[label]], "--hue": `var(--label-${hueNumber(label)})`, ...attributes }, text);
}

function choice(name, title, options, chosen) {
  const select = make("select", { name, id: `choose-${name}` });
  for (const [value, text] of options) select.append(new Option(text, value, false, value === chosen));
  return make("label", { class: "choice" }, make("span", null, title), select);
}
