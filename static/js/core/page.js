// What every page has: keys, and copy buttons.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]");
let awaiting = false; // a `g` was pressed

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (awaiting) {
    awaiting = false;
    document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  if (event.key === "g") awaiting = true;
  else if (event.key === "/") focus(event, "[data-search]");
  else if (event.key === "n") document.querySelector("[data-new]")?.click();
  else if (event.key === "?") document.getElementById("keys")?.showModal();
});

function focus(event, selector) {
  const found = document.querySelector(selector);
  if (found) { event.preventDefault(); found.focus(); found.select?.(); }
}

document.addEventListener("click", async (event) => {
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    await navigator.clipboard.writeText(copy.dataset.copy);
    copy.textContent = "Copied";
  }
  if (event.target.closest("[data-keys]")) document.getElementById("keys").showModal();
});
