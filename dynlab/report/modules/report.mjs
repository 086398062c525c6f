// The report's page: tables that sort, a theme, and proofs that are checked in a worker.

import { outcome } from "./outcome.mjs";
import { unpacked } from "./packed_proofs.mjs";
import { MOST_BYTES } from "./strict_json.mjs";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const SOURCE = document.getElementById("worker").textContent;

/** Check texts, or the bytes of files, one after the other; `told` hears {number, holds, sentence} of each. */
async function checkAll(contents, told) {
  const worker = new Worker(URL.createObjectURL(new Blob([SOURCE], { type: "text/javascript" })));
  try {
    for (const [number, content] of contents.entries()) {
      told(await new Promise((resolve, reject) => {
        worker.onmessage = ({ data }) => resolve(data);
        worker.onerror = (event) => reject(new Error(event.message));
        worker.postMessage({ number, content });
      }));
    }
  } finally {
    worker.terminate();
  }
}

function element(name, content, className = "") {
  const found = document.createElement(name);
  found.append(content);
  found.className = className;
  return found;
}

function prepareProofs(block) {
  const [button] = all("button.check", block);
  if (!button) return;
  const [progress] = all(".progress", block);
  const [table] = all(".results", block);
  button.addEventListener("click", async () => {
    button.disabled = true;
    table.tBodies[0].replaceChildren();
    let wrong = 0;
    try {
      const texts = await unpacked(all(".packed", block)[0].textContent.trim());
      progress.textContent = `0 of ${texts.length} checked …`;
      await checkAll(texts, ({ number, holds, sentence }) => {
        wrong += holds ? 0 : 1;
        const link = element("a", "save");
        link.href = URL.createObjectURL(new Blob([texts[number]], { type: "application/json" }));
        link.download = `${block.dataset.network}-fixed-point-${number}.json`;
        const row = table.tBodies[0].insertRow();
        row.append(element("td", String(number)), element("td", sentence, holds ? "holds" : "fails"), element("td", link));
        table.hidden = false;
        progress.textContent = `${number + 1} of ${texts.length} checked …`;
      });
      progress.textContent = outcome(wrong, texts.length);
    } catch (error) {
      progress.textContent = `This browser could not check them: ${error.message}.`;
    }
    button.disabled = false;
  });
}

async function checkFiles(files) {
  const list = document.getElementById("file-results");
  list.replaceChildren();
  const contents = [];
  for (const file of files) contents.push(await file.slice(0, MOST_BYTES + 1).arrayBuffer()); // one more is too long
  await checkAll(contents, ({ number, holds, sentence }) => list.append(element("li", `${files[number].name}: ${sentence}`, holds ? "holds" : "fails")));
}

function prepareTable(table) {
  const buttons = all("thead button", table);
  buttons.forEach((button, column) => {
    button.addEventListener("click", () => {
      const heading = button.parentElement;
      const down = heading.getAttribute("aria-sort") === "ascending";
      buttons.forEach((each) => each.parentElement.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...table.tBodies[0].rows].map((row) => [row.cells[column].dataset.key, row]);
      rows.sort(([a], [b]) => compared(a, b) * (down ? -1 : 1));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

/** Numbers by size, and what is none by its letters. */
export function compared(a, b) {
  const [p, q] = [a, b].map((each) => (each === "inf" ? Infinity : each === "-inf" ? -Infinity : each === "" ? NaN : Number(each)));
  if (p === q) return 0;
  return Number.isNaN(p) || Number.isNaN(q) ? a.localeCompare(b) : p - q;
}

function prepareTheme(button) {
  const show = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
  };
  show(matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => show(document.documentElement.dataset.theme !== "dark"));
}

prepareTheme(document.getElementById("theme"));
all(".proofs").forEach(prepareProofs);
all("table.sortable").forEach(prepareTable);
document.getElementById("file").addEventListener("change", (event) => checkFiles([...event.target.files]));
