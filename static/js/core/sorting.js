// Tables that are sorted by their heads: `table.sortable`. Each body is sorted by itself; a head across the columns stays above.
// The choice is kept, so that a table that is made anew is sorted as before.

const chosen = new Map(); // name of a table → { column, isDown }

const nameOf = (table) => table.closest("[aria-label]")?.getAttribute("aria-label") ?? "";

/** Give every sortable table buttons in its heads, and sort it as somebody chose. */
export function sortable(root = document) {
  for (const table of root.querySelectorAll("table.sortable")) {
    for (const [column, head] of [...table.tHead.rows[0].cells].entries()) button(table, head, column);
    if (chosen.has(nameOf(table))) sort(table, chosen.get(nameOf(table)));
  }
}

function button(table, head, column) {
  if (head.querySelector("button:not(.term)")) return;
  const made = document.createElement("button");
  made.type = "button";
  made.append(...[...head.childNodes].filter((node) => !node.matches?.(".term, .meaning")));
  head.prepend(made);
  head.ariaSort = "none";
  made.addEventListener("click", () => {
    const before = chosen.get(nameOf(table));
    const isDown = before?.column === column ? !before.isDown : column > 0; // the best number first, names from a
    chosen.set(nameOf(table), { column, isDown });
    sort(table, { column, isDown });
  });
}

function sort(table, { column, isDown }) {
  for (const [i, head] of [...table.tHead.rows[0].cells].entries()) head.ariaSort = i !== column ? "none" : isDown ? "descending" : "ascending";
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => row.cells.length > 1);
    rows.sort((one, other) => compare(valueOf(one.cells[column]), valueOf(other.cells[column]), isDown));
    body.append(...rows);
  }
}

/** A number where the cell begins with one, else its words; nothing where it holds no value. */
export function valueOf(cell) {
  const text = (cell?.textContent ?? "").trim();
  if (!text || text.startsWith("–")) return null;
  const number = /^[+−-]?[\d.,\u202f ]*\d/.exec(text);
  return number ? Number(number[0].replace("−", "-").replace(/[\u202f ,]/g, "")) : text.toLowerCase();
}

/** Cells without a value come last, whichever way. */
export function compare(one, other, isDown) {
  if (one === null || other === null) return (one === null) - (other === null);
  const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
  return isDown ? -order : order;
}
