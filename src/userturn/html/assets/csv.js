"use strict";
// CSV whose texts no spreadsheet calculates: an apostrophe stands before what begins like a formula. A number stays one.
const asCell = (value) => (typeof value !== "number" && /^'*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/.test(value) ? `'${value}` : String(value));
const quoted = (text) => `"${asCell(text).replaceAll('"', '""')}"`;
const csvOf = (rows) => rows.map((row) => row.map((value) => quoted(value ?? "")).join(",") + "\r\n").join("");

function download(text, name, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
