// The page of runs: an address without empty words, and keys.

document.addEventListener("htmx:configRequest", (event) => {
  const asked = event.detail.parameters;
  for (const name of [...new Set(Object.keys(asked))]) if (asked[name] === "") delete asked[name];
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  if (event.key === "j" || event.key === "k") step(event.key === "j" ? 1 : -1);
  else if (event.key === "[") document.querySelector("a[rel=prev]")?.click();
  else if (event.key === "]") document.querySelector("a[rel=next]")?.click();
  else if (event.key === "v") {
    const more = document.querySelector("#asked details.more");
    more.open = !more.open;
    if (more.open) more.querySelector("select, input").focus();
  }
});

function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const now = rows.indexOf(document.activeElement);
  rows[Math.min(rows.length - 1, Math.max(0, now < 0 ? (by > 0 ? 0 : rows.length - 1) : now + by))]?.focus();
}
