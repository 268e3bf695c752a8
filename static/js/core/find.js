// The search box over everything: Ctrl-K opens it, arrows choose, Enter goes there.

import { become, sketch } from "./become.js";

const SETTLE_MS = 100;
const box = document.getElementById("find");
const input = box?.querySelector("input"), list = box?.querySelector("[role=listbox]");
let asking = null, soon = 0, now = 0;

document.addEventListener("keydown", (event) => {
  if (box && event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); open(); }
});
document.addEventListener("click", ({ target }) => { if (target.closest("[data-find]")) open(); });

function open() {
  if (box.open) return;
  box.showModal();
  input.select();
  ask();
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  try {
    const answer = await fetch(`${box.dataset.url}?${new URLSearchParams({ q: input.value })}`, { signal: asking.signal });
    show((await answer.json()).found);
  } catch { /* a later question took its place, or the server is away */ }
}

function show(found) {
  become(list, ...found.map(({ kind, name, about, url }, i) => sketch("a", { href: url, id: `found-${i}`, tabindex: -1, role: "option" },
    sketch("span", {}, name), sketch("span", { class: "quiet" }, about ? `${about} · ${kind}` : kind))));
  box.querySelector("[role=status]").textContent = found.length ? "" : "Nothing has this in its name.";
  mark(0);
}

function mark(number) {
  const rows = [...list.children];
  now = Math.max(0, Math.min(rows.length - 1, number));
  rows.forEach((row, i) => row.setAttribute("aria-selected", i === now));
  rows[now]?.scrollIntoView({ block: "nearest" });
  if (rows.length) input.setAttribute("aria-activedescendant", `found-${now}`);
  else input.removeAttribute("aria-activedescendant");
}

input?.addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(ask, SETTLE_MS);
});
input?.addEventListener("keydown", async (event) => {
  if (event.key === "Escape") { event.preventDefault(); box.close(); } // a search box would only be emptied
  if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); mark(now + (event.key === "ArrowDown" ? 1 : -1)); }
  if (event.key !== "Enter") return;
  event.preventDefault();
  clearTimeout(soon);
  await ask(); // for what is written now
  list.children[now]?.click();
});
