// What every page has: keys, copy buttons, and code samples that follow what is typed.

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

document.addEventListener("input", ({ target }) => {
  const form = target.closest("form[method=post]");
  if (form && !form.dataset.api) fillIn(form);
});

function write(place, body) {
  const quotable = body.replaceAll("'", "\\u0027"); // no apostrophe ends the quotes around it
  for (const span of place.querySelectorAll("pre [data-body]")) span.textContent = quotable;
}

// The code of a page's buttons: about the thing that is chosen there, or whose form is being filled in.

document.addEventListener("toggle", ({ target }) => {
  if (!target.matches?.("details.verbs")) return;
  for (const select of target.querySelectorAll("select")) {
    select.hidden = select.length === 1;
    select.previousElementSibling.hidden = !select.hidden;
  }
}, true); // it does not bubble

document.addEventListener("change", ({ target }) => {
  if (target.closest("[data-verb]")) tell(target);
});

function fillIn(form) {
  const action = form.getAttribute("action");
  const option = [...document.querySelectorAll("[data-verb] option")].find((one) => one.dataset.action === action);
  if (!option?.dataset.body) return;
  const body = JSON.parse(option.dataset.body);
  for (const { name, value } of form.elements) {
    if (name in body) body[name] = typeof body[name] === "number" ? Number(value) : value;
  }
  option.dataset.body = JSON.stringify(body);
  option.selected = true;
  tell(option.parentElement);
}

function tell(select) {
  const section = select.closest("[data-verb]"), { url, body } = select.selectedOptions[0].dataset;
  for (const span of section.querySelectorAll("pre [data-url]")) span.textContent = url;
  write(section, body);
}
