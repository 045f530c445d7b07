const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);

const compare = (x, y) => (x < y ? -1 : x > y ? 1 : 0);
const collator = new Intl.Collator("en", { numeric: true });

// A paged list; `make` builds one entry.
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

// Updates once per frame, however many events arrive.
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

// Spreadsheets run a cell as a formula if it starts with one of these and is not a plain number.
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?$/;
const escapeFormula = (text) => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text);

// Rows as CSV. Formulas are escaped by default, because downloads open in spreadsheets and texts
// come from anyone; `formulas` keeps them for programs, or if the reader wants the exact texts.
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
