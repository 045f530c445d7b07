const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const FOLD = 600;

// Data reaches the document as text nodes and attributes only, never as markup.
function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Control characters have no shape; one character each keeps the offsets of words.
const visible = (text) => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "\ufffd");

const whole = (count) => count.toLocaleString("en-US");
const plural = (count, one, many) => `${whole(count)} ${count === 1 ? one : many}`;
const decimals = (value) => value.toFixed(3).replace("-", "\u2212");
const signed = (value) => (value > 0 ? "+" : "") + decimals(value);
const compare = (x, y) => (x < y ? -1 : x > y ? 1 : 0);
const collator = new Intl.Collator("en", { numeric: true });

function beginning(text, length) {
  if (text.length <= length) return text;
  const half = /[\ud800-\udbff]/.test(text[length - 1]);
  return text.slice(0, length - (half ? 1 : 0)) + "\u2026";
}

// Python counts code points, the browser UTF-16 units; they part after the first emoji.
function unitPositions(text) {
  if (!/[\ud800-\udfff]/.test(text)) return (position) => position;
  const starts = [];
  let unit = 0;
  for (const character of text) {
    starts.push(unit);
    unit += character.length;
  }
  starts.push(unit);
  return (position) => starts[position];
}

// Stretches of text that hold one token, or several where tokens overlap.
function stretches(text, offsets, hidden) {
  const position = unitPositions(text);
  const found = [];
  const tokens = offsets
    .map(([start, end], token) => ({ start: position(start), end: position(end), token }))
    .filter(({ start, end, token }) => start < end && !hidden?.[token])
    .sort((a, b) => a.start - b.start);
  for (const { start, end, token } of tokens) {
    const last = found[found.length - 1];
    if (last && start < last.end) {
      last.end = Math.max(last.end, end);
      last.tokens.push(token);
    } else {
      found.push({ start, end, tokens: [token] });
    }
  }
  return found;
}

function shade(node, weight, most) {
  if (!weight || !most) {
    node.removeAttribute("data-sign");
    return;
  }
  node.setAttribute("data-sign", weight > 0 ? "+" : "-");
  const strength = 20 + 80 * Math.min(1, Math.abs(weight) / most);
  node.style.setProperty("--strength", `${strength.toFixed(1)}%`);
}

const largest = (weights) => weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);

// Fills a block with a text of which only the beginning shows until it is asked for.
function foldable(block, text, fill) {
  const show = (length) => {
    const rest = text.length > length;
    const shown = rest ? beginning(text, length) : text;
    fill(shown, rest ? shown.length - 1 : text.length);
    if (!rest) return;
    const more = element("button", { type: "button", class: "more" });
    more.append(`Show all ${whole(text.length)} characters`);
    more.addEventListener("click", () => {
      more.remove();
      show(Infinity);
    });
    block.after(more);
  };
  show(FOLD);
}

// A list shown a page at a time; `make` builds one entry.
function pagedList(size, noun, make, nothing) {
  let items = [];
  let page = 0;
  const render = () => {
    const pages = Math.max(1, Math.ceil(items.length / size));
    page = Math.min(page, pages - 1);
    const first = page * size;
    const shown = items.slice(first, first + size);
    byId("list").replaceChildren(...shown.map(make));
    byId("range").textContent = items.length
      ? `${noun} ${whole(first + 1)} to ${whole(first + shown.length)} of ${whole(items.length)}`
      : nothing();
    byId("page").textContent = `Page ${page + 1} of ${pages}`;
    byId("pager").hidden = pages === 1;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page === pages - 1;
  };
  const turn = (by) => {
    page += by;
    render();
    byId("range").scrollIntoView({ block: "start" });
  };
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  return {
    show(list) {
      items = list;
      page = 0;
      render();
    },
    render,
  };
}

// Many events in one frame cost one update.
function coalesced(update) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  };
}

// A spreadsheet runs such a cell as a formula when it opens the file, unless it is a plain number.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$/;
const escapeFormula = (text) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

// Rows as CSV. Texts are from anyone, and a double click on a download opens a spreadsheet: so
// formulas are escaped unless the reader of the page, or a table for a program, wants them as is.
function csvTable(rows, { formulas = false } = {}) {
  const field = (value) => {
    const text = formulas ? String(value) : escapeFormula(String(value));
    return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",") + "\r\n").join("");
}

function downloadFile(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = element("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
