// What every page has: keys, copy buttons, and code samples that follow what is typed.

const typing = (target) => target.closest("input, textarea, select, [contenteditable]");
let awaiting = false; // a `g` was pressed

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus();
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
  closeMenus(event.target);
});

/** All but one that holds this; whoever was in it with the keyboard is at its name again. */
function closeMenus(inside = null) {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (inside && menu.contains(inside)) continue;
    if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
    menu.open = false;
  }
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-api]");
  if (!form) return;
  const body = JSON.stringify(values(form)).replaceAll("'", "\\u0027"); // no apostrophe ends the quotes around it
  for (const place of form.querySelectorAll("[data-body]")) place.textContent = body;
});

function values(form) {
  const found = {};
  for (const control of form.elements) {
    if (!control.name || control.name === "csrfmiddlewaretoken" || control.type === "hidden") continue;
    const [outer, inner] = control.name.split(".");
    const place = inner ? (found[outer] ??= {}) : found;
    if (control.type === "checkbox") place[inner ?? outer] = control.checked;
    else if (control.value !== "") place[inner ?? outer] = control.type === "number" ? Number(control.value) : control.value;
  }
  for (const [name, value] of Object.entries(found)) {
    if (typeof value === "object" && !Object.keys(value).length) delete found[name];
  }
  return found;
}
